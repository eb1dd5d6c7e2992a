"""Searches that compete: each competitor's trials by column, with the tuning budget that all of a column share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from losslake.analysis.equal_budget import chances, median_best, shared_budget
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Entry:
    """The trials of one competitor in one column: steps to the target, inf for never. place: tells columns apart."""

    competitor: str
    place: tuple[str, int]
    steps: Floats


@dataclass(frozen=True)
class Contest:
    """Competitors in the order they were named, against each other in columns by ascending place.

    places: of the columns: what besides the batch size tells them apart, and the batch size. steps: of each competitor
    in each column, None where it has no trials. budgets: of each column, the trials that the best is taken of.
    medians: (competitors, columns), of the best of so many; inf for never, NaN where it has no trials. left_out: words.
    """

    competitors: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Floats | None, ...], ...]
    budgets: tuple[int, ...]
    medians: Floats
    left_out: tuple[str, ...]

    def beats(self, first: int, second: int, column: int, budget: int) -> float:
        """The chance that a competitor beats another in a column with that budget; NaN where that isn't known."""
        ours, theirs = self.steps[first][column], self.steps[second][column]
        return np.nan if ours is None or theirs is None or budget < 1 else chances(ours, theirs, budget).beats

    def place_name(self, column: int) -> str:
        """A column in words."""
        return _name(self.places[column])


def contest(competitors: tuple[str, ...], entries: Iterable[Entry], budget: int | None) -> Contest:
    """The contest of these entries; a column is left out in which only one competitor has trials, of several.

    budget: trials that the best is taken of; a column is left out where a competitor has fewer. None: as many as every
    competitor of the column has.
    """
    found: dict[tuple[str, int], dict[str, Floats]] = {}
    left_out = []
    for entry in entries:
        column = found.setdefault(entry.place, {})
        if len(entry.steps):
            column[entry.competitor] = entry.steps
        else:
            left_out.append(f"{entry.competitor} at {_name(entry.place)}: it has no admitted trials")
    kept: dict[tuple[str, int], int] = {}
    for place, column in sorted(found.items()):
        shared = shared_budget([len(steps) for steps in column.values()])
        if len(column) < min(2, len(competitors)):
            who = next(iter(column), "nobody")
            left_out.append(f"{_name(place)}: only {who} has trials there")
        elif budget is not None and shared < budget:
            left_out.append(
                f"{_name(place)}: a budget of {budget} trials is more than the {shared} that all have there"
            )
        else:
            kept[place] = shared if budget is None else budget
    steps = tuple(tuple(found[place].get(name) for place in kept) for name in competitors)
    medians = [
        [np.nan if own is None else median_best(own, kept[place]) for own, place in zip(row, kept, strict=True)]
        for row in steps
    ]
    return Contest(
        competitors=competitors,
        places=tuple(kept),
        steps=steps,
        budgets=tuple(kept.values()),
        medians=np.array(medians, np.float64).reshape(len(competitors), len(kept)),
        left_out=tuple(left_out),
    )


def _name(place: tuple[str, int]) -> str:
    rest, batch_size = place
    return f"{rest} at batch size {batch_size}" if rest else f"batch size {batch_size}"
