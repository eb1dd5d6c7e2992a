"""The result of repeated settings: the least, over the settings of a study, of what their seeds usually take.

The least of all trials falls with their number, so of repeated settings it tells who repeated them most. The median or
the mean over the seeds of a setting doesn't fall. Source: DESIGN, steps to result of repeated settings.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.analysis.envelope import Envelope, lower_envelope
from losslake.analysis.settings import Numbers
from losslake_schema.reached import NEVER, NO_STEP, Flags, Floats, Integers

Seeds = Literal["median", "mean"]
# Of fewer seeds, neither says what a setting usually takes.
FEWEST_SEEDS = 3


def n_repeated(settings: Integers) -> int:
    """Return the number of trials whose setting has FEWEST_SEEDS or more. settings: by trial, from 0."""
    sizes = np.bincount(settings, minlength=1)
    return int(sizes[sizes >= FEWEST_SEEDS].sum())


@dataclass(frozen=True)
class BestSettings:
    """By study: the setting whose seeds take the least; arrays of shape (studies,).

    row: index of its trial at the median, or nearest to the mean; NEVER where no setting reaches. setting: its number,
    NEVER without trials. least: the median or mean. runner_up: that of the next best setting. n_settings: settings that
    count. n_seeds: trials of the chosen one, 0 for none. lower_quartile, upper_quartile: of these. Amounts are inf for
    never, and where there is none.
    """

    row: Integers
    setting: Integers
    least: Floats
    runner_up: Floats
    n_settings: Integers
    n_seeds: Integers
    lower_quartile: Floats
    upper_quartile: Floats


@dataclass(frozen=True)
class _Settings:
    """The settings of several studies: setting i has the ordered amounts starts[i]:starts[i] + size[i].

    trial: by ordered amount, its place as given. first: by setting, the least of these. counts: see FEWEST_SEEDS.
    """

    study: Integers
    starts: Integers
    size: Integers
    amounts: Floats
    trial: Integers
    first: Integers
    counts: Flags

    def at_share(self, share: float) -> Integers:
        """Return the place of the quantile of each setting: the first amount that this share of them don't exceed."""
        places: Integers = self.starts + np.maximum(np.ceil(self.size * share).astype(np.int64), 1) - 1
        return places

    def usual(self, seeds: Seeds) -> tuple[Floats, Integers]:
        """Return by setting the median or mean, and the trial at or nearest to it."""
        middle = self.at_share(0.5)
        if seeds == "median":
            return self.amounts[middle], self.trial[middle]
        means = np.add.reduceat(self.amounts, self.starts) / self.size
        setting = np.repeat(np.arange(len(self.size)), self.size)
        with np.errstate(invalid="ignore"):
            away = np.abs(self.amounts - means[setting])
        return means, self.trial[np.lexsort((self.trial, away, setting))[self.starts]]


def _settings(amounts: Floats, studies: Integers, settings: Numbers) -> _Settings:
    order = np.lexsort((amounts, settings, studies))
    starts = np.flatnonzero(np.diff(studies[order], prepend=-1) | np.diff(settings[order], prepend=-1))
    size, study = np.diff(starts, append=len(order)), studies[order][starts]
    is_large = size >= FEWEST_SEEDS
    has_large = np.bincount(study, weights=is_large) > 0
    counts = is_large | ~has_large[study]
    return _Settings(study, starts, size, amounts[order], order, np.minimum.reduceat(order, starts), counts)


def counting(studies: Integers, settings: Numbers) -> Flags:
    """Return by trial True if its setting counts: has at least 3 trials, or no setting of its study has."""
    each = _settings(np.zeros(len(studies)), studies, settings)
    counts = np.zeros(len(studies), np.bool_)
    counts[each.trial] = np.repeat(each.counts, each.size)
    return counts


def best_settings(
    amounts: Floats, studies: Integers, settings: Numbers, n_studies: int, seeds: Seeds = "median"
) -> BestSettings:
    """Return the best setting of each study.

    Of an even number of seeds the median is the lower of the two in the middle, so a setting reaches the target if at
    least half of its seeds do; the mean is infinite as soon as one seed never does. Ties go to the setting whose first
    trial comes first, and among its equal trials to the first. Settings of fewer than 3 seeds count only in a study
    without a larger one.

    Args:
        amounts: shape (trials,), in the order in which ties go; inf for never, not NaN.
        studies: shape (trials,), the index of each trial's study, below n_studies.
        settings: shape (trials,), numbers from 0 that the trials of one setting of a study share.
        n_studies: the number of studies.
        seeds: what a setting takes: the median or the mean over its trials.
    """
    infinite, none = np.full(n_studies, np.inf), np.zeros(n_studies, np.int64)
    if not len(amounts):
        return BestSettings(none + NEVER, none + NEVER, infinite, infinite, none, none, infinite, infinite)
    each = _settings(amounts, studies, settings)
    usual, trial = each.usual(seeds)
    ranked = np.lexsort((each.first, usual, ~each.counts, each.study))
    studies_of_best, place = np.unique(each.study[ranked], return_index=True)
    best, second = ranked[place], ranked[np.minimum(place + 1, len(ranked) - 1)]
    n_settings = np.bincount(each.study[each.counts], minlength=n_studies)

    def spread(values: Floats) -> Floats:
        by_study = infinite.copy()
        by_study[studies_of_best] = values
        return by_study

    row, setting, n_seeds = none + NEVER, none + NEVER, none.copy()
    setting[studies_of_best] = settings[each.first[best]]
    row[studies_of_best] = np.where(np.isfinite(usual[best]), trial[best], NEVER)
    n_seeds[studies_of_best] = each.size[best]
    return BestSettings(
        row,
        setting,
        least=spread(usual[best]),
        runner_up=spread(np.where(n_settings[studies_of_best] > 1, usual[second], np.inf)),
        n_settings=n_settings,
        n_seeds=n_seeds,
        lower_quartile=spread(each.amounts[each.at_share(0.25)[best]]),
        upper_quartile=spread(each.amounts[each.at_share(0.75)[best]]),
    )


def usual_of_settings(amounts: Floats, settings: Numbers, seeds: Seeds = "median") -> tuple[Floats, Integers]:
    """Return what each setting of one study takes that counts, and its first trial; arguments as for best_settings."""
    if not len(amounts):
        return amounts, np.zeros(0, np.int64)
    each = _settings(amounts, np.zeros(len(amounts), np.int64), settings)
    return each.usual(seeds)[0][each.counts], each.first[each.counts]


def setting_envelope(
    step: Integers, loss: Floats, previous_step: Integers, trial: Integers, settings: Numbers, seeds: Seeds
) -> Envelope:
    """Return the envelope of one study: the steps of its best setting to every target.

    Its steps are those of `best_settings` for each target. `previous_step` is that of the trial at the median, or the
    mean over the seeds: NO_STEP where any of them reaches the target at its first evaluation.

    Args:
        step, loss, previous_step: shape (records,), of each trial ascending and falling; lower is better.
        trial: shape (records,), the trial of each record, an index into settings.
        settings: shape (trials,), of all admitted trials, those without records as well.
        seeds: as for best_settings.
    """
    each, of_record = _settings(np.zeros(len(settings)), np.zeros_like(settings), settings), settings[trial]
    counted = zip(each.first[each.counts].tolist(), each.size[each.counts].tolist(), strict=True)
    by_setting = _by_median if seeds == "median" else _by_mean
    parts = [_EMPTY]
    for first, size in sorted(counted):  # in the order in which ties go
        rows = np.flatnonzero(of_record == settings[first])
        parts.append(by_setting(step[rows], loss[rows], previous_step[rows], trial[rows], size))
    envelope = lower_envelope(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return Envelope(np.rint(envelope.step).astype(np.int64), envelope.loss, envelope.previous_step)


# Of one setting: steps to ever harder targets, the losses down to which, and the steps of the evaluations before.
_Steps = tuple[Floats, Floats, Integers]
_EMPTY: _Steps = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)


def _by_median(step: Integers, loss: Floats, previous_step: Integers, trial: Integers, size: int) -> _Steps:
    """Return where the best loss of the median seed of a setting falls."""
    middle = (size - 1) // 2
    best: list[float] = []
    latest: dict[int, float] = {}
    falls: list[tuple[int, float, int]] = []
    least = np.inf
    order = np.argsort(step, kind="stable")
    columns = (each[order].tolist() for each in (step, loss, previous_step, trial))
    for at, value, previous, seed in zip(*columns, strict=True):
        if seed in latest:
            del best[bisect_left(best, latest[seed])]
        latest[seed] = value
        insort(best, value)
        if len(best) > middle and best[middle] < least:
            least = best[middle]
            falls.append((at, least, previous))
    if not falls:
        return _EMPTY
    steps, losses, previous_steps = zip(*falls, strict=True)
    return np.array(steps, np.float64), np.array(losses), np.array(previous_steps, np.int64)


def _by_mean(step: Integers, loss: Floats, previous_step: Integers, trial: Integers, size: int) -> _Steps:
    """Return the mean steps of a setting for every target that all its seeds reach.

    As a target gets harder it passes one record after the other, whose trial then takes its next one.
    """
    is_last = np.diff(trial, append=-1) != 0
    if is_last.sum() < size:
        return _EMPTY
    order = np.argsort(-loss, kind="stable")
    losses, place = np.unique(-loss[order], return_index=True)
    place = place[-losses >= loss[is_last].max()]

    def total(values: Integers) -> Integers:
        """Return the sum over the seeds by target. values: by record."""
        gains = np.where(is_last, 0, np.diff(values, append=0))
        passed = np.concatenate([[0], np.cumsum(gains[order])])[place]
        sums: Integers = values[np.roll(is_last, 1)].sum() + passed
        return sums

    is_first = total((previous_step < 0).astype(np.int64)) > 0
    previous = np.where(is_first, NO_STEP, np.rint(total(previous_step) / size)).astype(np.int64)
    return total(step) / size, loss[order][place], previous
