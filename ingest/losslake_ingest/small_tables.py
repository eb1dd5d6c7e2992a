"""The tables that a release holds as one file each: their rows in the next release."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from losslake_schema.names import Study, Workload
from losslake_schema.registry import CollectionFacts, Goal, collections, goals, metric_named, metrics
from losslake_schema.tables import COLLECTIONS, GOALS, METRICS, STUDY_KEYS

_ORDER = [(key, "ascending") for key in STUDY_KEYS]


def without_studies(table: pa.Table, replaced: Collection[Study], new: Sequence[pa.Table]) -> pa.Table:
    """The table without the rows of the replaced studies but with the new ones, in order of study (and trial)."""
    order = [*_ORDER, ("trial_id", "ascending")] if "trial_id" in table.column_names else _ORDER
    keys = pc.binary_join_element_wise(*(table[key].cast(pa.string()) for key in STUDY_KEYS), "/")
    kept = table.filter(pc.invert(pc.is_in(keys, pa.array([str(study) for study in replaced], pa.string()))))
    combined = pa.concat_tables([kept, *new])
    return combined.take(pc.sort_indices(combined.select([name for name, _ in order]), order)).combine_chunks()


def collection_rows(stored: pa.Table, studies: pa.Table, said: Mapping[str, CollectionFacts]) -> pa.Table:
    """A row for each collection that has studies: what was said of it now, else what is stored, else what is known.

    What nobody says now stays as it was, field by field.
    """
    rows = {row["collection"]: row for row in stored.to_pylist()}
    result = []
    for name in sorted(set(studies["collection"].to_pylist())):
        row = rows.get(name) or _known_collection(name)
        new = {key: text for key, text in vars(said.get(name, CollectionFacts(name))).items() if text}
        result.append({**row, **new})
    return pa.Table.from_pylist(result, COLLECTIONS)


def _known_collection(name: str) -> dict[str, str]:
    known = {c.collection: c for c in collections()}
    parent = known.get(name) or known.get(name.split("/")[0])
    return {
        "collection": name,
        "title": parent.title if parent else "",
        "licence": parent.licence if parent else "not stated",
        "citation": parent.citation if parent else "",
        "source_url": parent.source_url if parent else "",
    }


def metric_rows(studies: pa.Table) -> pa.Table:
    """A row for each registered metric, and for each other one that a study measures."""
    measured = {name for names in studies["metrics"].to_pylist() for name in names}
    found = [metric_named(name) for name in sorted(measured | set(metrics()))]
    rows = [
        {
            "metric": metric.name,
            "split": metric.split,
            "quantity": metric.quantity,
            "direction": metric.direction,
            "unit": metric.unit,
            "description": metric.description,
        }
        for metric in found
    ]
    return pa.Table.from_pylist(rows, METRICS)


def goal_rows(stored: pa.Table, studies: pa.Table, said: Sequence[Goal]) -> pa.Table:
    """A row for each goal: those that LossLake knows, those said now, and the stored ones of workloads that are there.

    A goal is told by its workload, metric and target; said again, it takes the new source.
    """
    workloads = {Workload(*row) for row in zip(*(studies[key].to_pylist() for key in STUDY_KEYS[:4]), strict=True)}
    kept = [
        Goal(
            Workload(row["collection"], row["dataset"], row["model"], row["optimizer"]),
            row["metric"],
            row["target"],
            row["source"],
        )
        for row in stored.to_pylist()
    ]
    known = {(goal.workload, goal.metric, goal.target): goal for goal in goals()}
    for goal in kept:
        if goal.workload in workloads:
            known.setdefault((goal.workload, goal.metric, goal.target), goal)
    known |= {(goal.workload, goal.metric, goal.target): goal for goal in said if goal.workload in workloads}
    rows = [
        {
            "collection": goal.workload.collection,
            "dataset": goal.workload.dataset,
            "model": goal.workload.model,
            "optimizer": goal.workload.optimizer,
            "metric": goal.metric,
            "target": goal.target,
            "source": goal.source,
        }
        for goal in known.values()
    ]
    return pa.Table.from_pylist(rows, GOALS)
