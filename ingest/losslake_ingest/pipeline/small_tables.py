"""The small tables of a release: their rows so far, and what an ingest states in addition.

The comparator of a goal holds for every target of its metric, also for one that is no goal: goals of a workload in a
metric have one comparator, or REST, a macro and a page could answer differently. For the same reason, a metric has one
direction. Steps to target are read from records, and these are written for the direction of a metric. So when a
direction becomes known, every study that measures the metric gets its records, also one that was stored without it.

An offer that names contributors replaces those of its trials; one that names none keeps them. Those of a trial are gone
when the trial is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.pipeline.trial_rows import TRIAL_KEYS, key_of
from losslake_schema.contributors import Contributor
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.reached import Comparator
from losslake_schema.registry import CollectionMetadata, Direction, Goal, collections, goals, metric_named, metrics
from losslake_schema.tables import COLLECTIONS, CONTRIBUTORS, GOALS, METRICS, STUDY_KEYS

STATED = "Not in the registry: a mapping states the direction."


def collection_rows(stored: pa.Table, studies: pa.Table, stated: Mapping[str, CollectionMetadata]) -> pa.Table:
    """Return a row for each collection with studies: new metadata first, then stored, then built-in.

    Fields that the new metadata leaves empty keep their stored value.
    """
    built_in = {c.collection: c for c in collections()}
    rows = {row["collection"]: row for row in stored.to_pylist()}
    result = []
    for name in sorted(set(studies["collection"].to_pylist())):
        facts = built_in.get(name) or built_in.get(name.split("/")[0]) or CollectionMetadata(name, licence="not stated")
        row = rows.get(name) or vars(facts) | {"collection": name}
        new = {key: text for key, text in vars(stated.get(name, CollectionMetadata(name))).items() if text}
        result.append({**row, **new})
    return pa.Table.from_pylist(result, COLLECTIONS)


class DirectionConflict(LossLakeError):
    """Two directions are stated for one metric."""


def measured_metrics(studies: pa.Table) -> set[str]:
    """Return the names of all metrics that are measured; studies: rows of `studies`."""
    return set(pc.unique(pc.list_flatten(studies["metrics"])).to_pylist())


def stated_directions(metrics: pa.Table) -> dict[str, Direction]:
    """Return the directions that mappings stated; metrics: rows of `metrics`."""
    rows = metrics.select(["metric", "direction"]).to_pylist()
    return {
        row["metric"]: row["direction"]
        for row in rows
        if row["direction"] is not None and metric_named(row["metric"]).direction is None
    }


def merged_directions(stored: Mapping[str, Direction], stated: Iterable[tuple[str, Direction]]) -> dict[str, Direction]:
    """Return the known directions and the newly stated ones. Raises DirectionConflict."""
    merged = dict(stored)
    for metric, direction in sorted(stated):
        if merged.setdefault(metric, direction) != direction:
            who = "the lake has" if metric in stored else "another mapping or line says"
            what = f"a mapping says {direction} for {metric}, and {who} {merged[metric]}: a metric has one direction"
            raise DirectionConflict(f"{what}, so correct the mapping, or give one of them another name")
    return merged


def records_without_files(
    studies: pa.Table, directions: Mapping[str, Direction], stored: Mapping[str, Direction], changed: Collection[Study]
) -> dict[Study, dict[str, Direction]]:
    """Return by study the metrics, with their directions, whose records aren't in its files.

    These are all of `directions` for a changed study, since an ingest writes records of registered metrics only, and
    those that aren't in `known` for another.
    """
    missing: dict[Study, dict[str, Direction]] = {}
    for row in studies.select([*STUDY_KEYS, "metrics"]).to_pylist() if directions else ():
        study = Study.of(row)
        names = [name for name in row["metrics"] if name in directions and (study in changed or name not in stored)]
        if names:
            missing[study] = {name: directions[name] for name in names}
    return missing


def metric_rows(studies: pa.Table, directions: Mapping[str, Direction]) -> pa.Table:
    """Return a row for each registered metric, and for each other metric of a study."""
    rows = []
    for name in sorted(measured_metrics(studies) | set(metrics())):
        row = {"metric": name, **vars(metric_named(name))}
        if name in directions:
            row |= {"direction": directions[name], "description": STATED}
        rows.append(row)
    return pa.Table.from_pylist(rows, METRICS)


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

    Known ones that differ among themselves, as earlier versions stored them, don't matter.
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


def contributor_rows(
    stored: pa.Table, trials: pa.Table, new: Mapping[Study | Trial, Collection[Contributor]]
) -> pa.Table:
    """Return the table `contributors` of a release, in order.

    stored: rows so far. trials: those of the release. new: by trial, or by study for all of its trials.
    """
    schema = pl.DataFrame(CONTRIBUTORS.empty_table()).schema
    existing = pl.DataFrame(trials.select(TRIAL_KEYS)).cast({key: schema[key] for key in TRIAL_KEYS})
    rows = pl.DataFrame(stored)
    by_study, of_trials = (
        pl.DataFrame(
            [_row(of, each) for of, contributors in new.items() if isinstance(of, kind) for each in contributors],
            schema=schema,
        )
        for kind in (Study, Trial)
    )
    of_studies = existing.join(by_study.drop("trial_id"), on=list(STUDY_KEYS)).select(schema.names())
    for replacing in (of_studies, of_trials):
        rows = pl.concat([rows.join(replacing, on=TRIAL_KEYS, how="anti"), replacing])
    rows = rows.join(existing, on=TRIAL_KEYS, how="semi").unique().sort(schema.names())
    return rows.to_arrow().cast(CONTRIBUTORS).combine_chunks()


def _row(of: Study | Trial, contributor: Contributor) -> dict[str, object]:
    texts = {name: value or "" for name, value in vars(contributor).items()}
    return {**(of.key() if isinstance(of, Study) else key_of(of)), **texts}
