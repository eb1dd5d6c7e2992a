"""A contest: the trials of competitors by column, with the tuning budget that a column shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake.analysis.equal_budget import BestOf, best_of, shared_budget
from losslake.analysis.permutation_test import p_values
from losslake.analysis.settings import Numbers, least_of_settings, medians_of_settings
from losslake_schema.reached import Floats, Integers


@dataclass(frozen=True)
class Entry:
    """The trials of one competitor in one column: steps (or what else is counted) to the target, inf for never.

    place: tells columns apart. settings: a number for each trial, which those of one setting share. submitters:
    likewise, 0 for unknown. trials: where steps are those of settings, the ones of their trials.
    """

    competitor: str
    place: tuple[str, int]
    steps: Floats
    settings: Integers
    submitters: Numbers
    trials: Floats | None = None

    @property
    def of_trials(self) -> Floats:
        """The steps of all trials."""
        return self.steps if self.trials is None else self.trials

    @cached_property
    def is_of_one_submitter(self) -> bool:
        """True if one submitter repeated settings, and no other has trials: these say how good their recipes are."""
        if not self.submitters.any():
            return False
        return len(np.unique(self.submitters)) == 1 and len(np.unique(self.settings)) < len(self.of_trials)

    @cached_property
    def medians(self) -> Floats:
        """The median steps of each setting, over its trials with other seeds."""
        return medians_of_settings(self.steps, self.settings)

    @cached_property
    def fewest(self) -> Floats:
        """The fewest steps of each setting."""
        return least_of_settings(self.steps, self.settings)


@dataclass(frozen=True)
class Contest:
    """Competitors, in the order given, compared in columns by ascending place.

    places: of the columns: what besides the batch size tells them apart, and the batch size. entries: of each
    competitor in each column, None where it has no trials. budgets: of each column, the number of trials, or settings,
    in a draw. best: of each entry, the best of these. medians: (competitors, columns), of these; inf for never, NaN
    where it has no trials. left_out: words.
    """

    competitors: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    entries: tuple[tuple[Entry | None, ...], ...]
    budgets: tuple[int, ...]
    best: tuple[tuple[BestOf | None, ...], ...]
    medians: Floats
    left_out: tuple[str, ...]

    def pair(self, first: int, second: int, column: int) -> tuple[Entry, Entry] | None:
        """Return the entries of two competitors in a column; None where either has no trials."""
        ours, theirs = self.entries[first][column], self.entries[second][column]
        return None if ours is None or theirs is None else (ours, theirs)

    def judged_p(self, first: int, second: int, column: int) -> float:
        """Return the p-value of a difference in a column, below 0 if the first needs more steps.

        1 where it isn't judged, since either has no trials, or trials of one submitter alone.
        """
        pair = self.pair(first, second, column)
        if pair is None or any(entry.is_of_one_submitter for entry in pair):
            return 1.0
        return signed_p(*pair)

    def halves(self, first: Entry, second: Entry, column: int) -> tuple[BestOf, BestOf] | None:
        """Return the best of half the settings of two entries, at most half the budget; None if half of it is none.

        A setting is drawn with all of its trials.
        """
        half = min(self.budgets[column], len(first.fewest), len(second.fewest)) // 2
        return (best_of(first.fewest, half), best_of(second.fewest, half)) if half else None

    def place_name(self, column: int) -> str:
        """Return the name of a column."""
        return _name(self.places[column])


def contest(competitors: tuple[str, ...], entries: Iterable[Entry], budget: int | None) -> Contest:
    """Return the contest of these entries; columns in which only one of several competitors has trials are left out.

    budget: trials that the best is taken of; a column is left out where a competitor has fewer. None: as many as every
    competitor of the column has.
    """
    columns: dict[tuple[str, int], dict[str, Entry]] = {}
    left_out = []
    for entry in entries:
        column = columns.setdefault(entry.place, {})
        if len(entry.steps):
            column[entry.competitor] = entry
        else:
            left_out.append(f"{entry.competitor} at {_name(entry.place)}: it has no admitted trials")
    kept: dict[tuple[str, int], int] = {}
    for place, column in sorted(columns.items()):
        shared = shared_budget([len(entry.steps) for entry in column.values()])
        if len(column) < min(2, len(competitors)):
            who = next(iter(column), None)
            left_out.append(f"{_name(place)}: {'no workload' if who is None else f'only {who}'} has trials there")
        elif budget is not None and shared < budget:
            left_out.append(
                f"{_name(place)}: a budget of {budget} trials is more than the {shared} that all have there"
            )
        else:
            kept[place] = shared if budget is None else budget
    entries_of = tuple(tuple(columns[place].get(name) for place in kept) for name in competitors)
    best = tuple(
        tuple(None if each is None else best_of(each.steps, n) for each, n in zip(row, kept.values(), strict=True))
        for row in entries_of
    )
    medians = [[np.nan if each is None else each.median for each in row] for row in best]
    return Contest(
        competitors=competitors,
        places=tuple(kept),
        entries=entries_of,
        budgets=tuple(kept.values()),
        best=best,
        medians=np.array(medians, np.float64).reshape(len(competitors), len(kept)),
        left_out=tuple(left_out),
    )


def signed_p(first: Entry, second: Entry) -> float:
    """Return the p-value of a difference, below 0 if the first needs more steps."""
    return float(p_values(first.medians[None], second.medians[None])[0])


def _name(place: tuple[str, int]) -> str:
    rest, batch_size = place
    return f"{rest} at batch size {batch_size}" if rest else f"batch size {batch_size}"
