"""Paths of workloads, studies and trials: `collection/dataset/model/optimizer[/batch_size[/trial_id]]`.

The study of the trials whose batch size changes has no batch size: `scheduled` stands in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from losslake_schema.errors import BadName

LARGEST_INTEGER = 2**63 - 1
LONGEST_NAME = 200
# The batch size of trials that change it, in Python and `base` tables; null where stored, in public SQL and in answers.
CHANGES = 0
SCHEDULED = "scheduled"
# What stands for null in the path of a partition, by the convention of Hive.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, order=True)
class Workload:
    """A training problem: collection, dataset, model, optimizer. A collection may itself contain slashes."""

    collection: str
    dataset: str
    model: str
    optimizer: str

    def __str__(self) -> str:
        return f"{self.collection}/{self.dataset}/{self.model}/{self.optimizer}"

    @staticmethod
    def parse(path: str) -> Workload:
        """Read `collection/dataset/model/optimizer`; raises BadName."""
        parts = path.strip("/").split("/")
        if len(parts) < 4 or not all(parts):
            raise BadName(f"'{path}' is not a workload: give collection/dataset/model/optimizer")
        return Workload("/".join(parts[:-3]), *parts[-3:])


@dataclass(frozen=True, order=True)
class Study:
    """A metaparameter search for one workload at one batch size, or its trials whose batch size CHANGES."""

    workload: Workload
    batch_size: int

    def __str__(self) -> str:
        return f"{self.workload}/{size_name(self.batch_size)}"

    @staticmethod
    def parse(path: str) -> Study:
        """Read `collection/dataset/model/optimizer/batch_size`; raises BadName."""
        what = "study: give collection/dataset/model/optimizer/batch_size"
        head, _, last = path.strip("/").rpartition("/")
        if last == SCHEDULED:
            return Study(Workload.parse(head), CHANGES)
        head, batch_size = _number_at_end(path, what)
        if batch_size == CHANGES:
            raise BadName(f"'{path}' is not a {what}, where {SCHEDULED} stands for sizes that change")
        return Study(Workload.parse(head), batch_size)

    @staticmethod
    def of(row: Mapping[str, Any]) -> Study:
        """Return the study of a row with the key columns; batch_size: None or CHANGES for one that changes."""
        workload = Workload(row["collection"], row["dataset"], row["model"], row["optimizer"])
        return Study(workload, row["batch_size"] or CHANGES)

    def key(self) -> dict[str, Any]:
        """Return the key columns of this study with their values."""
        return vars(self.workload) | {"batch_size": self.batch_size}

    def shown_key(self) -> dict[str, Any]:
        """Return the same as public tables have it: batch_size is None if it CHANGES."""
        return vars(self.workload) | {"batch_size": self.batch_size or None}

    def folder(self) -> str:
        """Return the Hive-style folder of this study's partition, with every part percent-encoded."""
        names = "/".join(f"{name}={_encoded(value)}" for name, value in vars(self.workload).items())
        return f"{names}/batch_size={_NULL if self.batch_size == CHANGES else self.batch_size}"


@dataclass(frozen=True, order=True)
class Trial:
    """One training run of a study."""

    study: Study
    trial_id: int

    def __str__(self) -> str:
        return f"{self.study}/{self.trial_id}"

    @staticmethod
    def parse(path: str) -> Trial:
        """Read `collection/dataset/model/optimizer/batch_size/trial_id`; raises BadName."""
        head, trial_id = _number_at_end(path, "trial: give collection/dataset/model/optimizer/batch_size/trial_id")
        return Trial(Study.parse(head), trial_id)

    @staticmethod
    def of(row: Mapping[str, Any]) -> Trial:
        """Return the trial of a row with the key columns and its trial_id."""
        return Trial(Study.of(row), row["trial_id"])


def size_name(batch_size: int | None) -> str:
    """Return a batch size as paths have it."""
    return str(batch_size) if batch_size else SCHEDULED


def _number_at_end(path: str, what: str) -> tuple[str, int]:
    head, _, last = path.strip("/").rpartition("/")
    number = natural_number(last)
    if number is None:
        raise BadName(f"'{path}' is not a {what}")
    return head, number


# Cached, since studies share most of their names.
@lru_cache(maxsize=10_000)
def _encoded(name: str) -> str:
    return quote(name, safe="")


def natural_number(text: str) -> int | None:
    """Return the integer from 0 to 2^63 - 1 that `text` spells in ASCII digits, or None."""
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        return None
    value = int(text)
    return value if value <= LARGEST_INTEGER else None


def real_number(text: str | bytes) -> float | None:
    """Return the float64 that `text` spells, which may be NaN or infinite, or None; 1_000 is one in Python only."""
    try:
        return None if ("_" in text if isinstance(text, str) else b"_" in text) else float(text)
    except ValueError:
        return None


def name_problem(name: str) -> str | None:
    """Return why `name` can't be a collection part, dataset, model or optimizer, or None if it can."""
    if not name or name in {".", ".."}:
        return "is empty, '.' or '..'"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    if not name.isprintable() or "\\" in name or "/" in name:
        return "contains a slash, a backslash or an unprintable character"
    return None
