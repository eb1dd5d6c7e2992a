"""Crossings of a target that later evaluations confirm: read from the measurements, since records lack the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.crossings import CrossingRule, Curves, crossings, previous_steps
from losslake.index.study_files import measurements
from losslake.lake.store.store import DataFile, Store
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search
from losslake.questions.trials.selection import Goal
from losslake_schema.reached import NEVER, Integers

DEFAULT_K = 2


@dataclass(frozen=True)
class Crossing:
    """The rule by which a hit counts as the crossing of the target.

    rule: the first hit; the first of k_consecutive hits; or the first after which all hit, sustained.
    k: for k_consecutive; None: DEFAULT_K. Raises BadParameter.
    """

    rule: CrossingRule = "first"
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.rule != "k_consecutive":
            raise BadParameter("k", f"k={self.k} is for crossing=k_consecutive: give that, or leave k out")

    @property
    def successive_hits(self) -> int | None:
        """The number of hits that confirm a crossing; None for rules without one."""
        return (self.k or DEFAULT_K) if self.rule == "k_consecutive" else None


FIRST = Crossing()


@dataclass(frozen=True)
class Confirmed:
    """The crossing of each trial, as in facts.trials, and the evaluation before it; NEVER for none."""

    steps: Integers
    previous_steps: Integers


def confirmed(view: ReleaseView, search: Search, goal: Goal, crossing: Crossing, hits: Integers) -> Confirmed:
    """Return the crossings that count, within the budgets.

    hits: what `search` has as first hits of the goal. Only trials with one are read: no other can have a crossing.
    """
    steps, previous = (np.full(len(hits), NEVER, np.int64) for _ in range(2))
    for study, study_rows, facts, stored in search.facts.parts():
        rows = study_rows.start + np.flatnonzero(hits[study_rows] != NEVER)
        if not len(rows):
            continue
        curves = _curves(search, study, rows, view.store, facts.files(stored))
        at = crossings(curves, goal.target * search.sign, goal.comparator, crossing.rule, crossing.successive_hits or 1)
        is_there = at != NEVER
        steps[rows[is_there]] = curves.steps[at[is_there]]
        previous[rows] = np.where(is_there, previous_steps(curves, at), NEVER)
    return Confirmed(steps, previous)


def _curves(search: Search, study: int, rows: Integers, store: Store, files: Sequence[DataFile]) -> Curves:
    """Return the curves of these trials of a study, within its budgets, from the files of its measurements."""
    trial_ids, names = search.facts.trials.trial_id[rows], ("trial_id", "step", "value")
    tables = list(measurements(store, files, search.metric, trial_ids.tolist(), names))
    trial_id, step, value = (np.concatenate([table[name].to_numpy() for table in tables]) for name in names)
    if search.limits is not None:
        within = step <= search.limits[study]
        trial_id, step, value = trial_id[within], step[within], value[within]
    # Each trial lies in one piece and in the order of steps, but a study's files follow each other in any order.
    order = np.argsort(trial_id, kind="stable")
    offsets = np.searchsorted(trial_id[order], trial_ids)
    return Curves(step[order], value[order].astype(np.float64) * search.sign, np.append(offsets, len(order)))
