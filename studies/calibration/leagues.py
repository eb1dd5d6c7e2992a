"""Coverage of the intervals of scores, and errors of verdicts on pairs, in simulated competitions of optimizers."""

from __future__ import annotations

from itertools import product

import numpy as np

from losslake.analysis.performance_profile import scores
from losslake.analysis.resampled_scores import compared_pairs, intervals, resampled_scores
from losslake_schema.reached import Floats
from studies.calibration.simulation import SimulatedRow, at_least, at_most

# AlgoPerf's competitions have 5 studies of each workload under external tuning, and 3 in later rounds.
STUDIES, FEW_STUDIES = 5, 3
_SUBMISSIONS, _WORKLOADS, _DRAWS = 6, 8, 1000
# Standard deviations of the logarithms of times, of submissions around each other and of studies around those: 0.38 and
# 0.12 in AlgoPerf's first competition. Where submissions differ little, the best of a workload is the luckiest.
_APART, _CLOSE = ((0.4, 0.07), (0.4, 0.12), (0.6, 0.15)), ((0.1, 0.1), (0.2, 0.2))


def leagues(n: int) -> list[SimulatedRow]:
    """Return rows of the intervals of scores, of submissions that differ much and little, and of wrong verdicts."""
    interval = at_least("league interval", f"interval of a score, {STUDIES} studies a workload")
    few = SimulatedRow("league few", f"the same, {FEW_STUDIES} studies a workload")
    close = SimulatedRow("league close", "the same, submissions that differ as little as studies")
    clear = at_most("league clear", "any verdict on a pair is wrong, by studies a workload")
    for studies, (difference, noise) in product((FEW_STUDIES, STUDIES), (*_APART, *_CLOSE)):
        rng = np.random.default_rng([studies, round(100 * difference), round(100 * noise)])
        outcomes = [_competition(rng, studies, difference, noise) for _ in range(n)]
        apart = interval if studies == STUDIES else few
        row = apart if (difference, noise) in _APART else close
        row.add(studies, np.array([covers for covers, _ in outcomes]))
        clear.add(studies, np.array([is_wrong for _, is_wrong in outcomes]))
    return [interval, few, close, clear]


def _competition(rng: np.random.Generator, studies: int, difference: float, noise: float) -> tuple[list[bool], bool]:
    """Return which submissions' intervals cover their true score, and if any clear verdict is wrong."""
    medians = np.exp(rng.normal(0, difference, (_SUBMISSIONS, _WORKLOADS)))
    truth = _scores(medians)
    times = [[median * np.exp(rng.normal(0, noise, studies)) for median in row] for row in medians]
    draws = resampled_scores(times, _scores, _DRAWS)
    lower, upper = intervals(draws)
    pairs = compared_pairs(draws)
    leader = np.sign(np.median(draws[:, pairs.first] - draws[:, pairs.second], axis=0))
    is_wrong = pairs.is_clear & (leader != np.sign(truth[pairs.first] - truth[pairs.second]))
    covers = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
    return covers.tolist(), bool(is_wrong.any())


def _scores(times: Floats) -> Floats:
    return scores(times).score
