"""Boundary flags: is the best trial at the edge of what was searched?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from losslake.analysis.search_range import SearchRange


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


def boundary_flags(
    ranges: Mapping[str, SearchRange], names: Sequence[str], values: npt.NDArray[np.float64]
) -> BoundaryFlags | None:
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
    chance = 1 - prod(1 - range_.chance for _, _, range_ in searched)
    return BoundaryFlags(tuple(of_best), len(values), int(is_flagged.sum()), chance)
