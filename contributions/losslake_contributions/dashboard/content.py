"""Content of the dashboard for some runs: a table, curves, groups and sentences, for its template and its script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from losslake.questions.release.view import ReleaseView
from losslake.record.numbers import json_number
from losslake_contributions.dashboard.groups import GroupMean, group_mean, groups_of
from losslake_contributions.dashboard.index import Snapshot
from losslake_contributions.dashboard.query import (
    SETTINGS,
    DashboardQuery,
    default_metric,
    facts_of,
    is_seed,
    matching,
    metrics_of,
    per_step,
    varying,
)
from losslake_contributions.dashboard.runs import LiveRun
from losslake_contributions.dashboard.stored import StoredCurves, stored_curves
from losslake_contributions.live.thinning import thinned
from losslake_ingest.contracts.run_log import Scalar
from losslake_schema.quantities import counted
from losslake_schema.reached import Floats
from losslake_service.web.page import paginate

ROWS = 100
MOST_CURVES = 500
MOST_METRICS = 1000
_MOST_COLUMNS = 12
_MOST_VALUES = 60_000
_POINTS = (400, 200, 100)
_MOST_GROUPS = 50


@dataclass(frozen=True)
class Dashboard:
    """A query of the runs as they are. metric: that is shown; None if nothing is measured. runs: that match.

    view: the release whose curves are behind them; None for none.
    """

    snapshot: Snapshot
    query: DashboardQuery
    view: ReleaseView | None = None
    runs: Sequence[LiveRun] = field(init=False)
    metrics: Sequence[str] = field(init=False)
    metric: str | None = field(init=False)

    def __post_init__(self) -> None:
        """Select what is shown."""
        runs = matching((self.snapshot.runs or {}).values(), self.query.q)
        names = metrics_of(runs)
        metric = self.query.metric if self.query.metric in names else default_metric(names)
        object.__setattr__(self, "runs", self._in_order(runs, metric))
        object.__setattr__(self, "metrics", names)
        object.__setattr__(self, "metric", metric)

    def _in_order(self, runs: Sequence[LiveRun], metric: str | None) -> Sequence[LiveRun]:
        if self.query.sort != "best" or metric is None:
            return runs
        by_value = {run.path: self._best(run, metric) for run in runs}
        sign = -1 if self.direction_of(runs, metric) == "maximize" else 1

        def key(run: LiveRun) -> tuple[bool, float]:
            best = by_value[run.path]
            return best is None, 0.0 if best is None else sign * best[1]

        return sorted(runs, key=key)

    @staticmethod
    def direction_of(runs: Sequence[LiveRun], metric: str) -> str | None:
        """Return which values are better; None if no run says so."""
        return next((each for each in (run.direction(metric) for run in runs) if each is not None), None)

    @property
    def direction(self) -> str | None:
        """The values of the metric that are better, minimize or maximize; None if nothing says so."""
        return None if self.metric is None else self.direction_of(self.runs, self.metric)

    @cached_property
    def measured(self) -> Sequence[LiveRun]:
        """The runs that have the metric."""
        return [run for run in self.runs if self.metric in run.series]

    @cached_property
    def drawn(self) -> Sequence[LiveRun]:
        """The runs whose curves are drawn: those that have a place on the axis."""
        return [run for run in self.measured if self._places(run) is not None][:MOST_CURVES]

    @cached_property
    def differing(self) -> Sequence[str]:
        """The names of the facts in which the runs differ, at most as many as the table has columns for."""
        # A single run has what tells it apart from the others.
        runs = self.runs if len(self.runs) > 1 else [*(self.snapshot.runs or {}).values()]
        return varying(runs)[:_MOST_COLUMNS]

    def _places(self, run: LiveRun) -> Floats | None:
        """Return the places of the kept values of a run on the axis; None if it has none."""
        assert self.metric is not None
        series = run.series[self.metric]
        if self.query.axis == "seconds":
            return series.elapsed if np.isfinite(series.elapsed).any() else None
        scale = per_step(run, self.query.axis)
        return None if scale is None else series.step.astype(np.float64) * scale

    def _best(self, run: LiveRun, metric: str) -> tuple[int, float] | None:
        """Return step and value of the best value of a run; None if there is none, or it isn't known what is better."""
        series, direction = run.series.get(metric), run.direction(metric)
        if series is None or direction is None or run.is_sampled:
            return None
        at = series.best(direction == "maximize")
        return None if at is None else (int(series.step[at]), float(series.value[at]))

    def columns(self) -> list[tuple[str, bool]]:
        """Return the heads of the table, and whether each is of numbers."""
        groups = [("group", False)] if any(run.group for run in self.runs) else []
        tags = [("tags", False)] if any(run.tags for run in self.runs) else []
        numbers = [(name, True) for name in ("last step", "last value", "best value", "at step")]
        return [("state", False), *groups, *tags, *((name, True) for name in self.differing), *numbers]

    def row(self, run: LiveRun) -> dict[str, Any]:
        """Return the row of a run in the table. cells: in the order of the columns, without that of its name."""
        names = [name for name, _ in self.columns()]
        series = run.series.get(self.metric or "")
        best = self._best(run, self.metric) if self.metric is not None else None
        facts: dict[str, object] = {
            "batch_size": run.batch_size,
            **run.parameters,
            "state": f"finished: {run.status}" if run.state == "finished" else run.state,
            "group": run.group,
            "tags": ", ".join(run.tags),
            "last step": None if run.last_step is None else f"{run.last_step:,}",
            "last value": None if series is None else float(series.value[-1]),
            "best value": None if best is None else best[1],
            "at step": None if best is None else f"{best[0]:,}",
        }
        cells = [_cell(facts.get(name)) for name in names]
        return {"path": run.path, "name": run.name, "state": run.state, "notes": run.notes, "cells": cells}

    def curve(self, run: LiveRun, points: int) -> dict[str, Any]:
        """Return the curve of a run, thinned to about as many points, with its best values."""
        assert self.metric is not None
        series, places = run.series[self.metric], self._places(run)
        assert places is not None
        at = np.flatnonzero(np.isfinite(places))
        kept: list[int] = []
        if "x" in self.query.log and len(at):
            # Thinning is even in steps, of which a logarithmic axis shows the first ones best.
            kept = (np.geomspace(1, len(at), points).astype(np.int64) - 1).tolist()
        shown = at[thinned(series.value[at], points + len(kept), *kept)]
        return {
            "path": run.path,
            "name": run.name,
            "places": places[shown].tolist(),
            "values": [json_number(value) for value in series.value[shown].tolist()],
        }

    @cached_property
    def points(self) -> int:
        """The points of each curve, so that all of them are sent and drawn within a second."""
        return next((each for each in _POINTS if each * len(self.drawn) <= _MOST_VALUES), _POINTS[-1])

    @cached_property
    def means(self) -> Sequence[GroupMean]:
        """The mean of each group."""
        if self.metric is None:
            return []
        groups = groups_of(self.measured, self.query.group)
        return [group_mean(name, runs, self.metric, self.query.axis) for name, runs in groups.items()][:_MOST_GROUPS]

    @property
    def stored(self) -> StoredCurves | None:
        """The stored curves behind those of the runs; None for none."""
        if self.view is None or self.metric is None or self.query.stored == "none":
            return None
        return stored_curves(self.view, self.drawn, self.metric, self.query.axis)

    def group_names(self) -> list[tuple[str, str]]:
        """Return by what runs can be grouped, and how it is called."""
        seeds = [("group", "group")] if any(run.group for run in self.runs) else []
        names = [(name, name) for name in varying(self.runs) if not is_seed(name)][:_MOST_COLUMNS]
        return [("", "nothing"), (SETTINGS, "settings (all parameters but seeds)"), *seeds, *names]

    def facts(self, run: LiveRun) -> dict[str, Scalar]:
        """Return what colours can show of a run."""
        facts = facts_of(run)
        names = ("state", "group", "workload", *self.differing)
        return {name: facts[name] for name in names if name in facts} | {"run": run.name}

    def sentences(self) -> list[str]:
        """Return what is to be said of the runs."""
        snapshot, query, said = self.snapshot, self.query, []
        every = len(snapshot.runs or {})
        if snapshot.runs is None:
            return ["The folder is being read."]
        if not every:
            said.append("No run is here so far. Record one with losslake.record, or let a tool log into this folder.")
        elif not self.runs:
            said.append(f"None of {counted(every, 'run')} matches “{query.q}”.")
        if snapshot.n_unread:
            said.append(
                f"{counted(snapshot.n_unread, 'run')} of {every:,} are being read: their curves are samples so far."
            )
        if query.metric and query.metric != self.metric and self.runs:
            said.append(f"None of these runs measures “{query.metric}”: another metric is shown.")
        if self.metric is not None:
            n_without = len(self.measured) - sum(1 for run in self.measured if self._places(run) is not None)
            if n_without:
                said.append(f"{counted(n_without, 'run')} without {query.axis}: left out of the chart.")
            if len(self.drawn) == MOST_CURVES < len(self.measured) - n_without:
                n_curves = len(self.measured) - n_without
                said.append(f"The first {MOST_CURVES:,} of {n_curves:,} curves are drawn: filter the runs.")
            if self.direction is None and self.measured:
                said.append(
                    f"It isn't known whether lower or higher values of {self.metric} are better: no best values."
                )
        said += [f"{mean.name}: {mean.why_not}." for mean in self.means if mean.why_not][:3]
        return [*said, *snapshot.notes]

    def changes(self, since: int) -> dict[str, Any]:
        """Return what the script shows, with the curves that changed since a version; all of them since 0."""
        snapshot = self.snapshot
        shown = self.drawn
        rows = self.runs[paginate(len(self.runs), ROWS, self.query.page, str).rows]
        return {
            "version": snapshot.version,
            "metric": self.metric,
            "metrics": list(self.metrics[:MOST_METRICS]),
            "direction": self.direction,
            "groups": self.group_names(),
            "columns": self.columns(),
            "sentences": self.sentences(),
            "n_runs": len(self.runs),
            "order": [run.path for run in rows],
            "rows": [self.row(run) for run in rows],
            "drawn": [run.path for run in shown],
            "curves": [self.curve(run, self.points) for run in shown if run.version > since],
            "facts": {run.path: _numbered(self.facts(run)) for run in shown},
            "best": {run.path: best[1] for run in shown if self.metric and (best := self._best(run, self.metric))},
            "stored": self.stored,
            "means": [_mean(mean) for mean in self.means if len(mean.at)],
        }


def _mean(mean: GroupMean) -> dict[str, Any]:
    deviation = np.nan_to_num(mean.deviation, nan=0.0)
    return {
        "name": mean.name,
        "runs": [run.path for run in mean.runs],
        "places": mean.at.tolist(),
        "values": [json_number(value) for value in mean.mean.tolist()],
        "low": [json_number(value) for value in (mean.mean - deviation).tolist()],
        "high": [json_number(value) for value in (mean.mean + deviation).tolist()],
    }


def _numbered(facts: Mapping[str, Scalar]) -> dict[str, Any]:
    return {name: json_number(value) if isinstance(value, float) else value for name, value in facts.items()}


def _cell(value: object) -> str:
    """Return a value as the text of a cell; a dash for none."""
    if value is None or value == "":
        return "\u2013"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
