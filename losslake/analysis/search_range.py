"""The search ranges of metaparameters, and flags of best trials at the boundary of a range.

Source: the rule of Shallue et al. 2019 (search again if the best trial is near the boundary), METHODS 1.3, 4.
"""

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
    """The range in which a metaparameter was searched.

    type: DOUBLE, INTEGER or DISCRETE. scale: the scale on which the search was uniform; ignored for DISCRETE.
    points: the values of DISCRETE, ascending. A range without two different ends has no flags.
    """

    type: str
    scale: str
    low: float
    high: float
    points: tuple[float, ...] = ()

    def positions(self, values: Floats) -> Floats:
        """Return the position of each value in the range, from 0 to 1 on its scale; NaN if undefined.

        LINEAR (v-a)/(b-a); LOG log(v/a)/log(b/a); REVERSE_LOG log((1-v)/(1-a))/log((1-b)/(1-a)); INTEGER as DOUBLE;
        DISCRETE: rank / (number of points - 1), NaN for any other value (METHODS 4).
        """
        if self.type == "DISCRETE":
            return self._ranks(values)
        with np.errstate(all="ignore"):
            ends, scaled = (self._on_scale(np.asarray(v, np.float64)) for v in ([self.low, self.high], values))
            positions = (scaled - ends[0]) / (ends[1] - ends[0])
        return np.where(np.isfinite(positions), positions, np.nan)

    def at_boundary(self, values: Floats) -> tuple[Flags, Flags]:
        """Return flags of values at the low end (position below 0.05, or the first point) and at the high end."""
        u = self.positions(values)
        if self.type == "DISCRETE":
            return u == 0, u == 1
        return u < EDGE, u > 1 - EDGE

    @property
    def chance(self) -> float:
        """The probability of a flag under a flat optimum: 0.1, or more if there are only a few values."""
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
    """Return the ranges of a study by metaparameter, from the JSON text of its parameter_configs (study.json).

    Invalid ranges are omitted: an unknown type or scale, ends that are missing, equal, reversed or not on the scale,
    and fewer than two points.
    """
    document = json.loads(parameter_configs or "{}")
    if isinstance(document, list):
        document = {str(entry.get("name")): entry for entry in document if isinstance(entry, dict)}
    if not isinstance(document, dict):
        return {}
    ranges = {name: _range(config) for name, config in document.items() if isinstance(config, dict)}
    return {name: valid for name, valid in ranges.items() if valid is not None}


def _range(config: Mapping[str, Any]) -> SearchRange | None:
    kind, scale = config.get("type") or "DOUBLE", config.get("scale") or "LINEAR_SCALE"
    if kind not in TYPES or scale not in SCALES:
        return None
    if kind == "DISCRETE":
        listed = config.get("feasible_points")
        points = sorted({p for p in map(_number, listed if isinstance(listed, list) else []) if p is not None})
        return SearchRange(kind, scale, points[0], points[-1], tuple(points)) if len(points) > 1 else None
    low, high = _number(config.get("min_value")), _number(config.get("max_value"))
    if low is None or high is None or not low < high:
        return None
    search_range = SearchRange(kind, scale, low, high)
    return search_range if np.isfinite(search_range.positions(np.array([low, high]))).all() else None


def _number(value: object) -> float | None:
    """Return a finite number, which may be given as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class BoundaryFlags:
    """The boundary flags of the best trials of a study.

    of_best: "NAME low" or "NAME high" for each metaparameter of the best trial that is at an end of its range.
    n_best: trials examined. n_flagged: those with any metaparameter at an end. chance: the probability of that for a
    trial anywhere in the ranges, as under a flat optimum.
    """

    of_best: tuple[str, ...]
    n_best: int
    n_flagged: int
    chance: float


def boundary_flags(ranges: Mapping[str, SearchRange], names: Sequence[str], values: Floats) -> BoundaryFlags | None:
    """Return the boundary flags of the best trials; None if no range is known.

    Args:
        ranges: by metaparameter.
        names: of metaparameters.
        values: of the best trials, the best first, shape (trials, names); NaN where missing, which sets no flag.
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
