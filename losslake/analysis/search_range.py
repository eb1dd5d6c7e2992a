"""Search ranges of metaparameters, and boundary flags: is the best trial at the edge of what was searched?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslake_schema.reached import Flags, Floats

EDGE = 0.05
TYPES = ("DOUBLE", "INTEGER", "DISCRETE")
SCALES = ("LINEAR_SCALE", "LOG_SCALE", "REVERSE_LOG_SCALE")
_MOST_INTEGERS = 100_000


@dataclass(frozen=True)
class SearchRange:
    """Where a search looked for one metaparameter.

    type: DOUBLE, INTEGER or DISCRETE. scale: in which the search was uniform; of DISCRETE ones it means nothing.
    points: of DISCRETE ones the values, ascending. Of no use, and without flags, if it has not two different ends.
    """

    type: str
    scale: str
    low: float
    high: float
    points: tuple[float, ...] = ()

    def positions(self, values: Floats) -> Floats:
        """Position of each value in the range, 0 to 1 on the range's own scale; NaN if there is none (METHODS 4).

        LINEAR (v-a)/(b-a); LOG log(v/a)/log(b/a); REVERSE_LOG log((1-v)/(1-a))/log((1-b)/(1-a)); INTEGER as DOUBLE,
        on its scale; DISCRETE: the rank among the points over their number less 1, and NaN for any other value.
        """
        if self.type == "DISCRETE":
            return self._ranks(values)
        with np.errstate(all="ignore"):
            ends, own = (self._on_scale(np.asarray(v, np.float64)) for v in ([self.low, self.high], values))
            found = (own - ends[0]) / (ends[1] - ends[0])
        return np.where(np.isfinite(found), found, np.nan)

    def at_boundary(self, values: Floats) -> tuple[Flags, Flags]:
        """Whether each value is at the low end (position below 0.05, or the first point), and at the high end."""
        u = self.positions(values)
        if self.type == "DISCRETE":
            return u == 0, u == 1
        return u < EDGE, u > 1 - EDGE

    @property
    def chance(self) -> float:
        """How probable a flag is if the optimum were flat: 0.1, but more where there are only a few values."""
        if self.type == "DISCRETE":
            return min(1.0, 2 / len(self.points)) if len(self.points) > 1 else 0.0
        if self.type == "INTEGER" and self.scale == "LINEAR_SCALE" and self.high - self.low < _MOST_INTEGERS:
            low, high = self.at_boundary(np.arange(math.ceil(self.low), math.floor(self.high) + 1, dtype=np.float64))
            return float((low | high).mean()) if len(low) else 0.0
        return 2 * EDGE

    def _on_scale(self, values: Floats) -> Floats:
        if self.scale == "LOG_SCALE":
            return np.log(values)
        if self.scale == "REVERSE_LOG_SCALE":
            return -np.log1p(-values)
        return values

    def _ranks(self, values: Floats) -> Floats:
        points = np.array(self.points)
        if len(points) < 2:
            return np.full(len(values), np.nan)
        ranks = np.minimum(np.searchsorted(points, values), len(points) - 1)
        return np.where(points[ranks] == values, ranks / (len(points) - 1), np.nan)


def search_ranges(parameter_configs: str | None) -> Mapping[str, SearchRange]:
    """The ranges of a study by metaparameter, from the JSON text of its parameter_configs (study.json).

    What is no range (a type or scale of another name, ends that are missing, equal, reversed or have no place on the
    scale, fewer than two points) is left out: nothing can be said about its boundary.
    """
    document = json.loads(parameter_configs or "{}")
    if isinstance(document, list):
        document = {str(entry.get("name")): entry for entry in document if isinstance(entry, dict)}
    if not isinstance(document, dict):
        return {}
    ranges = {name: _range(config) for name, config in document.items() if isinstance(config, dict)}
    return {name: found for name, found in ranges.items() if found is not None}


def _range(config: Mapping[str, Any]) -> SearchRange | None:
    kind, scale = config.get("type") or "DOUBLE", config.get("scale") or "LINEAR_SCALE"
    if kind not in TYPES or scale not in SCALES:
        return None
    if kind == "DISCRETE":
        given = config.get("feasible_points")
        points = sorted({p for p in map(_number, given if isinstance(given, list) else []) if p is not None})
        return SearchRange(kind, scale, points[0], points[-1], tuple(points)) if len(points) > 1 else None
    low, high = _number(config.get("min_value")), _number(config.get("max_value"))
    if low is None or high is None or not low < high:
        return None
    found = SearchRange(kind, scale, low, high)
    return found if np.isfinite(found.positions(np.array([low, high]))).all() else None


def _number(value: object) -> float | None:
    """A finite number, also written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class BoundaryFlags:
    """Of the best trials of a study.

    of_best: for the very best one, "NAME low" or "NAME high" for each metaparameter at an end of its range.
    n_best: trials looked at. n_flagged: of these, how many have any metaparameter at an end.
    chance: how probable it is that a trial anywhere in the ranges has one: what a flat optimum would show.
    """

    of_best: tuple[str, ...]
    n_best: int
    n_flagged: int
    chance: float


def boundary_flags(ranges: Mapping[str, SearchRange], names: Sequence[str], values: Floats) -> BoundaryFlags | None:
    """Which of the best trials are at the boundary of the search (METHODS 4); None if no range is known.

    Args:
        ranges: by metaparameter.
        names: of metaparameters.
        values: of the best trials, the best first, shape (trials, names); NaN, and so no flag, where missing.
    """
    searched = [(index, name, ranges[name]) for index, name in enumerate(names) if name in ranges]
    if not searched or not len(values):
        return None
    is_flagged = np.zeros(len(values), bool)
    of_best: list[str] = []
    for index, name, range_ in searched:
        low, high = range_.at_boundary(values[:, index])
        is_flagged |= low | high
        of_best += [f"{name} {end}" for end, flags in (("low", low), ("high", high)) if flags[0]]
    chance = 1 - math.prod(1 - range_.chance for _, _, range_ in searched)
    return BoundaryFlags(tuple(of_best), len(values), int(is_flagged.sum()), chance)
