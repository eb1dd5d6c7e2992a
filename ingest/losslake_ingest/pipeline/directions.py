"""Directions of metrics, and the table `metrics`.

A metric has one direction. Steps to target are read from records, and these are written for the direction of a metric.
So when a direction becomes known, every study that measures the metric gets its records, also one that was stored
without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study
from losslake_schema.registry import Direction, metric_named, metrics
from losslake_schema.tables import METRICS, STUDY_KEYS

STATED = "Not in the registry: a mapping states the direction."


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
    """Return the stored directions and the newly stated ones. Raises DirectionConflict."""
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
    those that aren't in `stored` for another.
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
