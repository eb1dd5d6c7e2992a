"""The registered metrics, collections and goals, read from the TOML files in `data/`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload
from losslake_schema.package_files import read_toml
from losslake_schema.reached import DEFAULT_COMPARATOR, Comparator
from losslake_schema.tables import STUDY_KEYS

Direction = Literal["minimize", "maximize"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_ROUNDING = 1e-6  # of means in float32, which can be beyond 1


@dataclass(frozen=True)
class Metric:
    """A measured quantity on one split. direction: minimize or maximize, None if unknown.

    smallest, largest: the values that it can have by its definition, and in its unit. is_largest_best: some value of a
    log is at most `largest`, others may be beyond.
    """

    split: str
    quantity: str
    direction: Direction | None
    unit: str
    description: str
    smallest: float = -math.inf
    largest: float = math.inf
    is_largest_best: bool = False

    @property
    def name(self) -> str:
        """The name of the metric, `split/quantity`."""
        return f"{self.split}/{self.quantity}"

    @property
    def range_in_words(self) -> str:
        """The values that it can have, in words."""
        what = f"the best {self.name} of a log" if self.is_largest_best else self.name
        return f"{what} lies between {self.smallest:g} and {self.largest:g}"

    @property
    def target_limits(self) -> tuple[float, float]:
        """The least and the largest value that the best of a log can be, with a tolerance for rounding errors."""
        tolerance = _ROUNDING * self.largest
        return self.smallest - tolerance, self.largest + tolerance

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value of a log, with the same tolerance."""
        lowest, highest = self.target_limits
        return lowest, math.inf if self.is_largest_best else highest

    def can_reach(self, target: float) -> bool:
        """Return True for a target that the best value of some log can have."""
        lowest, highest = self.target_limits
        return lowest <= target <= highest

    def meant_by(self, target: float) -> float | None:
        """Return the fraction that is meant by a percentage; None if the target is none, or the metric no fraction."""
        is_percentage = self.unit == "fraction" and self.largest < target <= 100 * self.largest
        return float(f"{target / 100:.6g}") if is_percentage else None


@dataclass(frozen=True)
class CollectionMetadata:
    """The facts of a release about a collection; unknown fields are empty.

    is_licence_of_run: a run states the licence, of its own measurements: it never replaces that of a stored collection.
    """

    collection: str
    title: str = ""
    licence: str = ""
    citation: str = ""
    source_url: str = ""
    is_licence_of_run: bool = False


@dataclass(frozen=True, kw_only=True)
class Collection(CollectionMetadata):
    """The source of a set of studies; root is the top folder of its published archive.

    archive_url, archive_sha256: of the archive that can be fetched; empty if there is none.
    """

    root: str
    archive_url: str = ""
    archive_sha256: str = ""


@dataclass(frozen=True)
class Goal:
    """A metric and the target that a workload has to beat, or with comparator inclusive to equal."""

    workload: Workload
    metric: str
    target: float
    source: str
    comparator: Comparator = DEFAULT_COMPARATOR

    @staticmethod
    def of(row: Mapping[str, Any]) -> Goal:
        """Return the goal in a row of the table `goals`, or of `goals.toml`."""
        workload = Workload(*(row[key] for key in STUDY_KEYS[:4]))
        return Goal(
            workload, row["metric"], float(row["target"]), row["source"], row.get("comparator", DEFAULT_COMPARATOR)
        )


@functools.cache
def metrics() -> dict[str, Metric]:
    """Return every registered metric by its name `split/quantity`."""
    document = read_toml("losslake_schema.data", "metrics.toml")
    unknown = {"direction": None, "splits": document["splits"]}
    return {
        f"{split}/{quantity}": Metric(split, quantity, **{name: known[name] for name in known if name != "splits"})
        for quantity, fields in document["quantity"].items()
        for known in [{**unknown, **fields}]
        for split in known["splits"]
    }


def metric_named(name: str) -> Metric:
    """Return the registered metric `name`, or one without direction; raise LossLakeError if it is no split/quantity."""
    split, slash, quantity = name.partition("/")
    if not (split and slash and quantity) or "/" in quantity:
        raise LossLakeError(f"'{name}' is not a metric: give split/quantity, for example val/classification_error")
    return metrics().get(name) or Metric(split, quantity, None, "", "Not in the registry: its direction is unknown.")


@functools.cache
def collections() -> tuple[Collection, ...]:
    """Return every registered collection."""
    return tuple(Collection(**fields) for fields in read_toml("losslake_schema.data", "collections.toml")["collection"])


@functools.cache
def goals() -> tuple[Goal, ...]:
    """Return every registered goal."""
    return tuple(map(Goal.of, read_toml("losslake_schema.data", "goals.toml")["goal"]))
