"""A contest: the trials of competitors by column, with the tuning budget that a column shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from losslake.analysis.equal_budget import median_best, shared_budget
from losslake.analysis.permutation_test import p_values
from losslake.analysis.settings import Numbers, least_of_settings, medians_of_settings
from losslake_schema.reached import Floats, Integers


@dataclass(frozen=True)
class Entry:
    """The trials of one competitor in one column: steps (or what else is counted) to the target, inf for never.

    place: tells columns apart. settings: a number for each trial, which those of one setting share; None if no
    differences are to be told. submitters: likewise, 0 for unknown. trials: where steps are those of settings, the ones
    of their trials.
    """

    competitor: str
    place: tuple[str, int]
    steps: Floats
    settings: Integers | None = None
    submitters: Numbers | None = None
    trials: Floats | None = None

    @property
    def is_of_one_submitter(self) -> bool:
        """True if one submitter repeated settings, and no other has trials: these say how good their recipes are."""
        if self.settings is None or self.submitters is None or not self.submitters.any():
            return False
        n_trials = len(self.steps if self.trials is None else self.trials)
        return len(np.unique(self.submitters)) == 1 and len(np.unique(self.settings)) < n_trials

    @property
    def medians(self) -> Floats | None:
        """The median steps of each setting, over its trials with other seeds."""
        return None if self.settings is None else medians_of_settings(self.steps, self.settings)

    @property
    def fewest(self) -> Floats | None:
        """The fewest steps of each setting."""
        return None if self.settings is None else least_of_settings(self.steps, self.settings)


@dataclass(frozen=True)
class Contest:
    """Competitors, in the order given, compared in columns by ascending place.

    places: of the columns: what besides the batch size tells them apart, and the batch size. steps: of each competitor
    in each column, of trials or of settings, None where it has no trials; trials: likewise of all trials; settings,
    fewest: likewise the median and the fewest steps of each setting. of_one_submitter: likewise whether it is. budgets:
    of each column, the number of trials, or settings, in a draw. medians: (competitors, columns), of the best of these;
    inf for never, NaN where it has no trials. left_out: words.
    """

    competitors: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Floats | None, ...], ...]
    trials: tuple[tuple[Floats | None, ...], ...]
    settings: tuple[tuple[Floats | None, ...], ...]
    fewest: tuple[tuple[Floats | None, ...], ...]
    of_one_submitter: tuple[tuple[bool, ...], ...]
    budgets: tuple[int, ...]
    medians: Floats
    left_out: tuple[str, ...]

    def signed_p(self, first: int, second: int, column: int) -> float:
        """Return the p-value of a difference in a column, below 0 if the first needs more steps; 1 if unknown."""
        ours, theirs = self.settings[first][column], self.settings[second][column]
        return 1.0 if ours is None or theirs is None else float(p_values(ours[None], theirs[None])[0])

    def judged_p(self, first: int, second: int, column: int) -> float:
        """Return signed_p; 1 where a difference isn't judged, since either has trials of one submitter alone."""
        is_judged = not (self.of_one_submitter[first][column] or self.of_one_submitter[second][column])
        return self.signed_p(first, second, column) if is_judged else 1.0

    def halves(self, first: int, second: int, column: int) -> tuple[Floats, Floats, int] | None:
        """Return the fewest steps of each setting of two competitors, and how many settings half the budget is.

        A setting is drawn with all of its trials. None if either has no settings, or half of the budget is none.
        """
        ours, theirs = self.fewest[first][column], self.fewest[second][column]
        if ours is None or theirs is None:
            return None
        half = min(self.budgets[column], len(ours), len(theirs)) // 2
        return (ours, theirs, half) if half else None

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
    entries_of = [[columns[place].get(name) for place in kept] for name in competitors]
    steps = tuple(tuple(None if entry is None else entry.steps for entry in row) for row in entries_of)
    medians = [
        [np.nan if each is None else median_best(each, kept[place]) for each, place in zip(row, kept, strict=True)]
        for row in steps
    ]
    return Contest(
        competitors=competitors,
        places=tuple(kept),
        steps=steps,
        trials=tuple(
            tuple(None if each is None else each.steps if each.trials is None else each.trials for each in row)
            for row in entries_of
        ),
        settings=tuple(tuple(None if entry is None else entry.medians for entry in row) for row in entries_of),
        fewest=tuple(tuple(None if entry is None else entry.fewest for entry in row) for row in entries_of),
        of_one_submitter=tuple(
            tuple(entry is not None and entry.is_of_one_submitter for entry in row) for row in entries_of
        ),
        budgets=tuple(kept.values()),
        medians=np.array(medians, np.float64).reshape(len(competitors), len(kept)),
        left_out=tuple(left_out),
    )


def _name(place: tuple[str, int]) -> str:
    rest, batch_size = place
    return f"{rest} at batch size {batch_size}" if rest else f"batch size {batch_size}"
