"""Goals of a release: registered, stored and stated ones.

The comparator of a goal holds for every target of its metric, also for one that is no goal: goals of a workload in a
metric have one comparator, or REST, a macro and a page could answer differently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pyarrow as pa

from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Workload
from losslake_schema.reached import Comparator
from losslake_schema.registry import Goal, goals
from losslake_schema.tables import GOALS


class GoalConflict(LossLakeError):
    """Goals of one workload in one metric are stated with two comparators."""


def goal_rows(
    stored: pa.Table, studies: Collection[Study], stated: Iterable[Goal], whole: Collection[Study]
) -> pa.Table:
    """Return a row for each goal: registered ones, new ones, and stored ones of existing workloads.

    A goal is identified by its workload, metric and target. A new one replaces the source of a stored one, and its
    comparator if all studies of the workload are offered as a whole. Raises GoalConflict.

    Args:
        stored: rows of `goals`.
        studies: all of the release.
        stated: goals by logs, mappings and bundles.
        whole: studies that are offered with all of their trials.
    """
    workloads = {study.workload for study in studies}
    partly = {study.workload for study in studies if study not in whole}
    new = [goal for goal in stated if goal.workload in workloads]
    merged = _by_identity(goals())
    for row in stored.to_pylist():
        goal = Goal.of(row)
        if goal.workload in workloads:
            merged.setdefault(_identity(goal), goal)
    replaced = {_identity(goal) for goal in new if goal.workload not in partly}
    _check_comparators([goal for identity, goal in merged.items() if identity not in replaced], new)
    merged |= _by_identity(new)
    return pa.Table.from_pylist([vars(goal.workload) | vars(goal) for goal in merged.values()], GOALS)


def goals_not_in(stored: pa.Table, stated: Iterable[Goal]) -> list[Goal]:
    """Return the stated goals that aren't stored, whatever their source and comparator. stored: rows of `goals`."""
    identities = {_identity(Goal.of(row)) for row in stored.to_pylist()}
    return [goal for goal in stated if _identity(goal) not in identities]


def _check_comparators(existing: Iterable[Goal], stated: Iterable[Goal]) -> None:
    """Raise GoalConflict if a stated goal has another comparator than those of its workload and metric.

    Existing ones that differ among themselves, as earlier versions stored them, don't matter.
    """
    by_metric: dict[tuple[Workload, str], dict[Comparator, tuple[str, Goal]]] = {}
    for goal in existing:
        by_metric.setdefault((goal.workload, goal.metric), {})[goal.comparator] = "the lake has", goal
    for goal in stated:
        others = by_metric.setdefault((goal.workload, goal.metric), {})
        if others and goal.comparator not in others:
            ((who, other),) = others.values()
            what = f"the goal {goal.metric} {goal.target:g} of {goal.workload} is stated as {goal.comparator}"
            raise GoalConflict(
                f"{what} ({goal.source}), and {who} {other.target:g} as {other.comparator} ({other.source}): goals of "
                "a workload in a metric have one comparator, so state the same in the mapping, and offer all logs of "
                "the workload with it at once"
            )
        others.setdefault(goal.comparator, ("another mapping or log states", goal))


def _identity(goal: Goal) -> tuple[Workload, str, float]:
    return goal.workload, goal.metric, goal.target


def _by_identity(goals: Iterable[Goal]) -> dict[tuple[Workload, str, float], Goal]:
    return {_identity(goal): goal for goal in goals}
