"""Conversion of a stored run of MLflow, of either store, to a RunLog."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar
from losslake_schema.reached import Flags, Floats

AXES = ("step", "timestamp")
DELETED = "deleted run before this one: left out"
_SYSTEM_TAG = "mlflow."
_RUN_NAME = "mlflow.runName"
_USER, _CODE, _PLACES = "user name", "code and command line", "paths of the machine"
_PRIVATE_TAGS = {
    "mlflow.user": _USER,
    **dict.fromkeys(("mlflow.source.", "mlflow.git", "mlflow.project.", "mlflow.docker.", "mlflow.databricks."), _CODE),
}
_PRIVATE_FACTS = {
    "user_id": _USER,
    **dict.fromkeys(("source_name", "entry_point_name", "source_version"), _CODE),
    "artifact_uri": _PLACES,
}
# mlflow/protos/service.proto, enum RunStatus.
_STATUSES = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_FIELD_TWICE = "param or tag that isn't a field: another value has the same name"


class Metric(NamedTuple):
    """The values of a metric in the order logged. no_step: flags of values without a step, None if all have one."""

    steps: Floats
    milliseconds: Floats
    values: Floats
    no_step: Flags | None = None


@dataclass
class StoredRun:
    """A run as stored, before interpretation.

    facts: by the names of meta.yaml. tags: the values of MLflow's system tags may be absent.
    """

    run: str
    facts: Mapping[str, str | None]
    experiment: str | None = None
    experiment_id: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    rows: list[LoggedRows] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)

    def log(self, files: Mapping[str, str]) -> RunLog:
        """Return the run's log, without personal and machine data."""
        tags = {key: value for key, value in self.tags.items() if not key.startswith(_SYSTEM_TAG)}
        params = {name: number_or_text(text) for name, text in self.params.items()}
        names: dict[str, str | None] = {
            "run_id": self.facts.get("run_id") or self.facts.get("run_uuid"),
            "run_name": self.facts.get("run_name") or self.facts.get("name") or self.tags.get(_RUN_NAME),
            "experiment": self.experiment,
            "experiment_id": self.experiment_id,
        }
        facts: dict[str, Scalar] = {name: value for name, value in names.items() if value}
        self.remarks[_FIELD_TWICE] += len(facts.keys() & (tags.keys() | params.keys())) + len(tags.keys() & params)
        status, started = self.facts.get("status"), self.facts.get("start_time")
        return RunLog(
            run=self.run,
            files=files,
            rows=self.rows,
            fields={**tags, **params, **facts},
            parameters=params,
            status=_STATUSES.get(status, status) if status else None,
            started_at=int(started) / 1000 if started and _INTEGER.fullmatch(started) else None,
            private=self._private(),
            remarks={sentence: count for sentence, count in self.remarks.items() if count},
        )

    def add(self, name: str, metric: Metric) -> None:
        """Add the values of a metric."""
        if name in AXES:
            self.remarks["metric with the name of an axis: left out"] += 1
            return
        columns = {"step": metric.steps, "timestamp": metric.milliseconds / 1000, name: metric.values}
        self.rows.append(LoggedRows(columns, {} if metric.no_step is None else {"step": metric.no_step}))

    def _private(self) -> list[str]:
        kinds = {private_kind(key) for key in self.tags}
        kinds |= {kind for name, kind in _PRIVATE_FACTS.items() if self.facts.get(name)}
        return sorted(kind for kind in kinds if kind)


def private_kind(tag: str) -> str | None:
    """Return the kind of personal or machine data in a tag; None if it has none."""
    return next((kind for prefix, kind in _PRIVATE_TAGS.items() if tag.startswith(prefix)), None)


def is_used_tag(tag: str) -> bool:
    """Return True if the tag's value is used."""
    return tag == _RUN_NAME or not tag.startswith(_SYSTEM_TAG)


def number_or_text(text: str) -> Scalar:
    """Convert a text to a number if it is one; `007` and `nan` stay text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) < 100 and _FLOAT.fullmatch(text) and not (text[0] == "0" and text.isdigit()):
        return float(text)
    return text


def as_floats(numbers: npt.ArrayLike) -> Floats:
    """Convert numbers to float64."""
    return np.asarray(numbers, np.float64)
