"""Which part of a release is wanted: some collections, datasets, models, optimizers, batch sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from losslake_schema.names import Study
from losslake_schema.tables import STUDY_KEYS, TABLES


@dataclass(frozen=True)
class Selection:
    """For each key of a study, the values that are wanted; none given means all."""

    wanted: Mapping[str, Sequence[str | int]]

    @property
    def is_everything(self) -> bool:
        return not any(self.wanted.values())

    def __str__(self) -> str:
        return "; ".join(f"{key} {', '.join(map(str, found))}" for key, found in self.wanted.items() if found)

    def holds(self, study: Study) -> bool:
        """Whether a study is wanted."""
        key = study.key()
        return all(not found or key[name] in found for name, found in self.wanted.items())

    def of(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The small tables of a release, reduced to the studies that are wanted and to what these need."""
        studies = self._rows(tables["studies"])
        collections = tables["collections"]
        metrics = tables["metrics"]
        measured = {name for names in studies["metrics"].to_pylist() for name in names}
        goals = _of_workloads(tables["goals"], studies)
        return {
            "collections": collections.filter(pc.is_in(collections["collection"], _set(studies["collection"]))),
            "studies": studies,
            "trials": self._rows(tables["trials"]),
            "metrics": metrics.filter(pc.is_in(metrics["metric"], pa.array(sorted(measured), pa.string()))),
            "goals": goals,
        }

    def _rows(self, table: pa.Table) -> pa.Table:
        for name, found in self.wanted.items():
            if found:
                table = table.filter(pc.is_in(table[name], pa.array(found, TABLES["studies"].field(name).type)))
        return table


def _of_workloads(goals: pa.Table, studies: pa.Table) -> pa.Table:
    keys = list(STUDY_KEYS[:4])
    there = set(zip(*(studies[key].to_pylist() for key in keys), strict=True))
    rows = zip(*(goals[key].to_pylist() for key in keys), strict=True)
    return goals.filter(pa.array([row in there for row in rows], pa.bool_()))


def _set(column: pa.ChunkedArray) -> pa.Array:
    return pa.array(sorted(set(column.to_pylist())), column.type)
