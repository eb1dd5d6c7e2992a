"""Trials of one setting, as several with other seeds or logs of one submission: they are one piece of evidence.

`settings` has a number for each trial, which trials of one setting share. Values of a search are drawn by setting,
since trials of one are alike: as a cluster sample (Kish 1965, "Survey Sampling", 5.4).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Floats, Integers

Numbers = npt.NDArray[np.integer]
_ROUNDING = 1e-9


def medians_of_settings(values: Floats, settings: Numbers) -> Floats:
    """Return the median of the values of each setting, the lower one of two. values, settings: by trial."""
    ordered, starts = _by_setting(values, settings)
    medians: Floats = ordered[(starts + np.append(starts[1:], len(ordered)) - 1) // 2]
    return medians


def least_of_settings(values: Floats, settings: Numbers) -> Floats:
    """Return the least value of each setting. values, settings: by trial."""
    ordered, starts = _by_setting(values, settings)
    return ordered[starts]


def shares_of_settings(values: Floats, settings: Numbers) -> tuple[Floats, Floats]:
    """Return the values in as many equal shares as there are settings, ascending: the least and greatest of each.

    Each setting counts as one trial, whose value is that of any of its trials, so a trial of m is 1/m of it. Where
    settings aren't repeated, both are the values of the trials. values: inf for none, not NaN. settings: by trial.
    """
    ordered = np.sort(values)
    if not are_repeated(settings):
        return ordered, ordered
    groups, counts = np.unique(settings, return_inverse=True, return_counts=True)[1:]
    upto = np.cumsum(1 / counts[groups[np.argsort(values, kind="stable")]])
    share = np.arange(len(counts))
    last = np.minimum(np.searchsorted(upto, share + 1 - _ROUNDING), len(values) - 1)
    return ordered[np.searchsorted(upto, share + _ROUNDING)], ordered[last]


def are_repeated(settings: Numbers) -> bool:
    """Return True for several settings of which any has several trials: then settings are drawn, not trials.

    All trials of one setting differ in nothing that is known, so they are drawn one by one.
    """
    return 1 < len(np.unique(settings)) < len(settings)


def drawn_settings(settings: Numbers) -> Numbers:
    """Return by trial what is drawn: its setting where any is repeated, else the trial itself, by its place."""
    return settings if are_repeated(settings) else np.arange(len(settings))


def drawn_alike(values: Floats, settings: Numbers) -> Floats:
    """Return the values that are drawn alike: the least of each setting where any is repeated, else of each trial."""
    return least_of_settings(values, settings) if are_repeated(settings) else values


def evidence(settings: Numbers) -> float:
    """Return the number of independent trials that give as much evidence, as if those of one setting were all alike.

    n^2 / sum of n_i^2, where n_i of n trials are of setting i; n for a single setting. With more chance within settings
    there is more evidence, so intervals for this number hold at least as often.
    Source: Kish 1965, the design effect of clusters whose members are alike.
    """
    counts = np.unique(settings, return_counts=True)[1]
    return float(len(settings) if len(counts) < 2 else len(settings) ** 2 / (counts**2).sum())


def _by_setting(values: Floats, settings: Numbers) -> tuple[Floats, Integers]:
    """Return the values by setting, in ascending order, and where each setting starts."""
    order = np.lexsort((values, settings))
    return values[order], np.flatnonzero(np.diff(settings[order], prepend=-1))
