"""Curves of stored trials that ran to their end, as records of their best values, to compare a running trial with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from losslake.analysis.settings import Numbers
from losslake_schema.reached import Flags, Floats, Integers, best_before


@dataclass(frozen=True)
class PartialCurve:
    """A running trial: its records, as in Comparable, and the last step at which it was evaluated."""

    steps: Floats
    losses: Floats
    last_step: float

    @staticmethod
    def of(steps: Floats, values: Floats, sign: float) -> PartialCurve:
        """Return the curve of values at ascending steps; NaN and infinities are never a record.

        Raises ValueError for no steps, steps that don't ascend or are below 0, and a shape that differs.
        """
        if steps.ndim != 1 or steps.shape != values.shape or not len(steps):
            raise ValueError("give one value for each step, and at least one")
        if not (steps[0] >= 0 and (np.diff(steps) > 0).all() and np.isfinite(steps[-1])):
            raise ValueError("give steps in ascending order, each once and from 0 on")
        losses = np.where(np.isfinite(values), values * sign, np.inf)
        is_record = losses < best_before(losses)
        return PartialCurve(steps[is_record], losses[is_record], float(steps[-1]))

    def loss_at(self, step: float) -> float:
        """Return the best loss up to a step; inf for none."""
        count = int(np.searchsorted(self.steps, step, side="right"))
        return float(self.losses[count - 1]) if count else np.inf

    def first_step(self, bound: float) -> int | None:
        """Return the first step with a loss below the bound; None for none."""
        places = np.flatnonzero(self.losses < bound)
        return int(self.steps[places[0]]) if len(places) else None


@dataclass(frozen=True)
class Comparable:
    """The best values so far of trials of one workload and batch size.

    Trial i has the records offsets[i]:offsets[i + 1], at least one: steps, which ascend, and losses (value times sign),
    which descend. last_steps: of the last evaluation, by trial. settings: by trial, as `drawn_settings` gives them for
    all of these. is_stopped: True for a trial that stopped at an easier goal: its step of the target isn't known. sign:
    1 to minimize, -1 to maximize. bound: the loss to beat strictly. least_loss: the least that the metric can have,
    -inf for unknown.
    """

    offsets: Integers
    steps: Integers
    losses: Floats
    last_steps: Integers
    settings: Numbers
    is_stopped: Flags
    sign: float
    bound: float
    least_loss: float = -np.inf

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.last_steps)

    @cached_property
    def final_losses(self) -> Floats:
        """The best loss of the whole run, by trial."""
        return self.losses[self.offsets[1:] - 1]

    @cached_property
    def target_steps(self) -> Floats:
        """The first step that reaches the target, by trial; inf for never."""
        first = self.offsets[:-1] + self._counts(self.losses >= self.bound)
        is_there = first < self.offsets[1:]
        return np.where(is_there, self.steps[np.where(is_there, first, self.offsets[:-1])], np.inf)

    @cached_property
    def groups(self) -> Integers:
        """The settings, numbered from 0."""
        return np.unique(self.settings, return_inverse=True)[1].astype(np.int64)

    @property
    def n_settings(self) -> int:
        """The number of settings."""
        return int(self.groups.max(initial=-1)) + 1

    def losses_at(self, step: float) -> Floats:
        """Return the best loss up to a step, by trial; inf where there is none yet."""
        counts = self._counts(self.steps <= step)
        return np.where(counts > 0, self.losses[self.offsets[:-1] + np.maximum(counts, 1) - 1], np.inf)

    def curve_until(self, trial: int, step: float) -> PartialCurve:
        """Return the curve of a trial up to a step, as if it was still running."""
        records = slice(*self.offsets[trial : trial + 2].tolist())
        count = int(np.searchsorted(self.steps[records], step, side="right"))
        return PartialCurve(self.steps[records][:count].astype(np.float64), self.losses[records][:count], float(step))

    def where(self, is_chosen: Flags) -> Comparable:
        """Return only the flagged trials."""
        return self if is_chosen.all() else self.chosen(np.flatnonzero(is_chosen))

    def chosen(self, trials: Integers) -> Comparable:
        """Return only the trials at these indices."""
        lengths = np.diff(self.offsets)[trials]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        records = np.arange(offsets[-1]) + np.repeat(self.offsets[trials] - offsets[:-1], lengths)
        of_trials = {name: getattr(self, name)[trials] for name in ("last_steps", "settings", "is_stopped")}
        return replace(self, offsets=offsets, steps=self.steps[records], losses=self.losses[records], **of_trials)

    def at_most(self, n_trials: int) -> Comparable:
        """Return about this many trials: the first ones of each setting, equally many, whatever their curves are."""
        if len(self) <= n_trials:
            return self
        order = np.argsort(self.groups, kind="stable")
        sizes = np.bincount(self.groups)
        place = np.empty(len(self), np.int64)
        place[order] = np.arange(len(self)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        each = 1
        while np.minimum(sizes, each + 1).sum() <= n_trials:
            each += 1
        return self.chosen(np.flatnonzero(place < each)[:n_trials])

    def _counts(self, records: Flags) -> Integers:
        """Return the number of flagged records, by trial."""
        return np.add.reduceat(records, self.offsets[:-1], dtype=np.int64)


def thinned(steps: Floats, values: Floats, sign: float, most: int) -> tuple[Floats, Floats]:
    """Return at most this many points of a curve that give the same forecast: its records, and its last evaluation.

    Of too many records it keeps the last one, the last up to half of the last step, and of the others an even choice.
    So only the step at which a target was first reached can move, to a later one. most: 3 or more. Raises ValueError as
    PartialCurve.of does.
    """
    curve = PartialCurve.of(steps, values, sign)
    places = np.flatnonzero(np.isin(steps, curve.steps))
    half = int(np.searchsorted(curve.steps, curve.last_step / 2, side="right")) - 1
    if len(places) + 1 > most:
        even = np.linspace(0, len(places) - 1, most - 3).round().astype(np.int64)
        places = places[np.unique(np.concatenate([even, [len(places) - 1, max(half, 0)]]))]
    places = np.unique(np.append(places, len(steps) - 1))
    return steps[places], values[places]
