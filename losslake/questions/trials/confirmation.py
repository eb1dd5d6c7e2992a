"""Crossings that later evaluations or other seeds confirm: read from the measurements, since records lack the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.analysis.crossings import Curves, crossings, previous_steps
from losslake.analysis.mean_curve import mean_crossings
from losslake.index.measurement_files import MeasurementFile, measurements
from losslake.lake.store.store import Store
from losslake.output.columns import Nullable
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, at, column_at
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_schema.reached import NEVER, Flags, Floats, Integers

DEFAULT_K = 2
CrossingName = Literal["first", "k_consecutive", "sustained", "mean"]


@dataclass(frozen=True)
class Crossing:
    """The rule by which a hit counts as the crossing of the target.

    rule: the first hit; the first of k_consecutive hits; the first after which all hit, sustained; or the first hit of
    the mean curve of the trial's setting. k: for k_consecutive; None: DEFAULT_K. margin: for mean; None: 0.
    Raises BadParameter.
    """

    rule: CrossingName = "first"
    k: int | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.rule != "k_consecutive":
            raise BadParameter("k", f"k={self.k} is for crossing=k_consecutive: give that, or leave k out")
        if self.margin is not None and self.rule != "mean":
            raise BadParameter("margin", f"margin={self.margin:g} is for crossing=mean: give that, or leave margin out")

    @property
    def successive_hits(self) -> int | None:
        """The number of hits that confirm a crossing; None for rules without one."""
        return (self.k or DEFAULT_K) if self.rule == "k_consecutive" else None

    @property
    def facts(self) -> dict[str, float | None]:
        """The fields of a summary that say what was used of k and margin."""
        return {"k": self.successive_hits, "margin": (self.margin or 0.0) if self.rule == "mean" else None}


FIRST = Crossing()


@dataclass(frozen=True)
class SettingMeans:
    """Of the mean curve of each trial's setting, as in facts.trials.

    value: of the metric at the crossing; NaN for none. n_seeds: admitted trials of the setting; 0 where none reaches
    the target. has_ended: True if the curve ends before it crosses, since not all seeds have values at later steps.
    is_first: whether the trial is the first admitted one of its setting.
    """

    value: Floats
    n_seeds: Integers
    has_ended: Flags
    is_first: Flags

    def ended(self, workload: Workload, candidates: Flags) -> Iterator[str]:
        """Yield a warning if mean curves end before they cross. candidates: by trial, whether its setting counts."""
        n = int((self.has_ended & self.is_first & candidates).sum())
        if n:
            of = int((self.is_first & candidates & (self.n_seeds > 0)).sum())
            yield (
                f"{workload}: in {n} of {of} settings of which a trial reaches the target, the mean curve ends "
                "before it crosses: not all of their trials have values at later steps"
            )


def mean_columns(means: SettingMeans | None, rows: Integers) -> dict[str, Nullable]:
    """Return the columns about the means of settings. rows: in facts.trials, of trials that cross; NEVER for none."""
    if means is None:
        return {}
    is_known = (rows != NEVER) & np.isfinite(at(means.value, rows))
    n_seeds = Nullable(at(means.n_seeds, rows), is_known)
    return {"confirmed_mean": column_at(means.value, rows), "confirmed_n_seeds": n_seeds}


@dataclass(frozen=True)
class Confirmed:
    """The crossing of each trial, as in facts.trials, and the evaluation before it; NEVER for none.

    means: where the crossing is that of its setting.
    """

    steps: Integers
    previous_steps: Integers
    means: SettingMeans | None = None


def confirmed(view: ReleaseView, search: Search, goal: Goal, crossing: Crossing, hits: Integers) -> Confirmed:
    """Return the crossings that count, within the budgets.

    hits: what `search` has as first hits of the goal. Only trials with one are read, or those of a setting with one: no
    other can have a crossing.
    """
    steps, previous = (np.full(len(hits), NEVER, np.int64) for _ in range(2))
    is_read, means = hits != NEVER, None
    if crossing.rule == "mean":
        settings, nothing = search.rule.settings, np.zeros(len(hits), np.bool_)
        is_read = search.admitted & np.isin(settings, settings[is_read])
        admitted = np.flatnonzero(search.admitted)
        is_first = nothing.copy()
        is_first[admitted[np.unique(settings[admitted], return_index=True)[1]]] = True
        means = SettingMeans(np.full(len(hits), np.nan), np.zeros(len(hits), np.int64), nothing, is_first)
    for _, study_rows, facts, stored in search.facts.parts():
        rows = study_rows.start + np.flatnonzero(is_read[study_rows])
        if not len(rows):
            continue
        curves = _curves(search, rows, view.store, facts.files(stored))
        target = goal.target * search.sign
        if means is None:
            assert crossing.rule != "mean"
            hit = crossings(curves, target, goal.comparator, crossing.rule, crossing.successive_hits or 1)
            is_there = hit != NEVER
            steps[rows[is_there]] = curves.steps[hit[is_there]]
            previous[rows] = np.where(is_there, previous_steps(curves, hit), NEVER)
        else:
            crossed = mean_crossings(curves, search.rule.settings[rows], target, goal.comparator, crossing.margin or 0)
            steps[rows], previous[rows], means.n_seeds[rows] = crossed.step, crossed.previous_step, crossed.n_seeds
            means.value[rows], means.has_ended[rows] = crossed.mean * search.sign, crossed.has_ended
    return Confirmed(steps, previous, means)


def _curves(search: Search, rows: Integers, store: Store, files: Sequence[MeasurementFile]) -> Curves:
    """Return the curves of these trials of a study, within its budgets, from the files of its measurements."""
    trial_ids, names = search.facts.trials.trial_id[rows], ("trial_id", "step", "value")
    tables = list(measurements(store, files, search.metric, trial_ids.tolist(), names))
    trial_id, step, value = (np.concatenate([table[name].to_numpy() for table in tables]) for name in names)
    if search.limits is not None:
        within = step <= search.limits[rows][np.searchsorted(trial_ids, trial_id)]
        trial_id, step, value = trial_id[within], step[within], value[within]
    # Each trial lies in one piece and in the order of steps, but a study's files follow each other in any order.
    order = np.argsort(trial_id, kind="stable")
    offsets = np.searchsorted(trial_id[order], trial_ids)
    return Curves(step[order], value[order].astype(np.float64) * search.sign, np.append(offsets, len(order)))
