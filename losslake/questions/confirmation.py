"""Crossings of a target that later evaluations confirm, found in the measurements: records don't have what follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pyarrow as pa

from losslake.analysis.crossings import CrossingRule, Curves, crossings, previous_steps
from losslake.index.study_files import measurements
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search
from losslake.questions.selection import Goal
from losslake_schema.reached import NEVER, Integers

RULES: tuple[str, ...] = get_args(CrossingRule)
DEFAULT_K = 2


@dataclass(frozen=True)
class Crossing:
    """Which hit of a trial counts as its crossing of the target.

    rule: the first hit; the first of k_consecutive hits; or the first after which all hit, sustained.
    k: for k_consecutive; None: DEFAULT_K. Raises BadParameter.
    """

    rule: CrossingRule = "first"
    k: int | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise BadParameter("crossing", f"crossing '{self.rule}' is unknown: give one of {', '.join(RULES)}")
        if self.k is not None and self.rule != "k_consecutive":
            raise BadParameter("k", f"k={self.k} is for crossing=k_consecutive: give that, or leave k out")
        if self.k is not None and self.k < 1:
            raise BadParameter("k", f"k={self.k} is out of range: give 1 or more")

    @property
    def successive_hits(self) -> int | None:
        """How many hits confirm a crossing; None where that isn't a number."""
        return (self.k or DEFAULT_K) if self.rule == "k_consecutive" else None

    def facts(self) -> dict[str, object]:
        """What an answer says of it."""
        return {"crossing": self.rule, "k": self.successive_hits}


FIRST = Crossing()


@dataclass(frozen=True)
class Confirmed:
    """By trial, in the order of facts.trials: the crossing and the evaluation before it; NEVER for none."""

    steps: Integers
    previous_steps: Integers


def confirmed(view: ReleaseView, found: Search, goal: Goal, crossing: Crossing, hits: Integers) -> Confirmed:
    """The crossings that count, within the budgets.

    hits: what `found` has as first hits of the goal. Only trials with one are read: no other can have a crossing.
    """
    steps, previous = (np.full(len(hits), NEVER, np.int64) for _ in range(2))
    for study in np.flatnonzero(found.facts.sums_by_study(hits != NEVER)).tolist():
        own = found.facts.rows_of(study)
        rows = own.start + np.flatnonzero(hits[own] != NEVER)
        curves = _curves(view, found, study, rows)
        at = crossings(curves, goal.target * found.sign, goal.comparator, crossing.rule, crossing.successive_hits or 1)
        is_there = at != NEVER
        steps[rows[is_there]] = curves.steps[at[is_there]]
        previous[rows] = np.where(is_there, previous_steps(curves, at), NEVER)
    return Confirmed(steps, previous)


def _curves(view: ReleaseView, found: Search, study: int, rows: Integers) -> Curves:
    """The curves of these trials of a study, up to its budgets."""
    trial_ids = found.facts.trials.trial_id[rows]
    tables = list(_tables(view, found, study, trial_ids.tolist()))
    trial_id, step, value = (
        np.concatenate([table[name].to_numpy() for table in tables]) for name in ("trial_id", "step", "value")
    )
    if found.limits is not None:
        within = step <= found.limits[study]
        trial_id, step, value = trial_id[within], step[within], value[within]
    # Each trial lies in one piece and in the order of steps, but a study's files follow each other in any order.
    order = np.argsort(trial_id, kind="stable")
    offsets = np.searchsorted(trial_id[order], trial_ids)
    return Curves(step[order], value[order].astype(np.float64) * found.sign, np.append(offsets, len(order)))


def _tables(view: ReleaseView, found: Search, study: int, trial_ids: list[int]) -> Iterator[pa.Table]:
    files = view.measurement_files(found.facts, study)
    return measurements(view.store, files, found.metric, trial_ids, ("trial_id", "step", "value"))
