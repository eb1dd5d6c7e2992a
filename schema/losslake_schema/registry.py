"""The metric registry, the known collections and the goals, read from the data files beside this module."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

DIRECTIONS = ("minimize", "maximize")
_KEYS = ("collection", "dataset", "model", "optimizer")


@dataclass(frozen=True)
class Metric:
    """A measured quantity on one split; direction is None when nobody has said which way is better."""

    split: str
    quantity: str
    direction: str | None
    unit: str
    description: str

    @property
    def name(self) -> str:
        return f"{self.split}/{self.quantity}"


@dataclass(frozen=True)
class Collection:
    """Where a set of studies comes from; root is the top folder of its published archive.

    archive_url, archive_sha256: where that archive can be fetched; empty where it can't.
    """

    root: str
    collection: str
    title: str
    licence: str
    citation: str
    source_url: str
    archive_url: str = ""
    archive_sha256: str = ""


@dataclass(frozen=True)
class CollectionFacts:
    """What a release says of a collection; empty text where nothing is known."""

    collection: str
    title: str = ""
    licence: str = ""
    citation: str = ""
    source_url: str = ""


@dataclass(frozen=True)
class Goal:
    """A metric and the target that a workload has to beat."""

    workload: Workload
    metric: str
    target: float
    source: str


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("losslake_schema.data").joinpath(name).read_text("utf-8"))


@functools.cache
def metrics() -> dict[str, Metric]:
    """Every registered metric by its name `split/quantity`."""
    document = _read("metrics.toml")
    return {
        f"{split}/{quantity}": Metric(split, quantity, **facts)
        for quantity, facts in document["quantity"].items()
        for split in document["splits"]
    }


def metric_named(name: str) -> Metric:
    """The registered metric of that name, or one without direction; raises LossLakeError if it is no split/quantity."""
    split, slash, quantity = name.partition("/")
    if not (split and slash and quantity) or "/" in quantity:
        raise LossLakeError(f"'{name}' is not a metric: give split/quantity, for example val/classification_error")
    return metrics().get(name) or Metric(split, quantity, None, "", "Not in the registry: its direction is unknown.")


@functools.cache
def collections() -> tuple[Collection, ...]:
    """Every collection that LossLake knows by the root folder of its archive."""
    return tuple(Collection(**facts) for facts in _read("collections.toml")["collection"])


@functools.cache
def goals() -> tuple[Goal, ...]:
    """Every goal that is known for a workload of a known collection."""
    return tuple(
        Goal(Workload(*(facts[key] for key in _KEYS)), facts["metric"], float(facts["target"]), facts["source"])
        for facts in _read("goals.toml")["goal"]
    )
