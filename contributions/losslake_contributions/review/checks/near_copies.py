"""A rule about near-copies: curves that are those of a stored trial, or of another run, up to rounding and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from losslake_contributions.review.checks.curve_index import CommonRun
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import WARNING, Finding, Rule
from losslake_contributions.review.checks.stored_curves import Curves, concatenated, stored_curves
from losslake_schema.reached import Integers

NEAR = Rule(
    "near_copy", WARNING, "no curve is that of a stored trial up to rounding, noise or other steps", needs_base=True
)
AMONG = Rule("near_copy_of_run", WARNING, "no curve is that of another run of the submission up to rounding or noise")
RULES = (NEAR, AMONG)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about near-copies, one for each run beside stored trials, and for each pair of runs."""
    runs = {name: evidence.curves(name) for name in evidence.draft.trials}
    own = {str(trial): name for name, trial in evidence.draft.trials.items()}
    found: set[str] = set()
    pairs: set[frozenset[str]] = set()
    for metric in sorted({metric for curves in runs.values() for metric in curves}):
        of_metric = {name: curves[metric] for name, curves in runs.items() if metric in curves}
        stored = stored_curves(evidence, metric)
        if stored is not None:
            left = {name: curve for name, curve in of_metric.items() if name not in found}
            for name, _, words in matches(left, stored, own):
                found.add(name)
                yield NEAR.finding(name, metric, f"{words}: leave it out if it is the same run, or say why in the note")
        for name, other, words in matches(of_metric, concatenated(of_metric), {}):
            if frozenset((name, other)) not in pairs:
                pairs.add(frozenset((name, other)))
                yield AMONG.finding(name, metric, f"{words}: if they are one run, send it once")


def matches(runs: Mapping[str, Curve], others: Curves, own: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each run that is a near-copy of another curve, the name of that, and what they share, in words.

    own: the names of the runs as trials, which aren't others. Of several others, the one with most in common.
    """
    for name, curve in runs.items():
        copies = [
            common
            for common in others.index.common_runs(curve.values)
            if name not in (others.names[common.other], own.get(others.names[common.other]))
            and is_copy(common, len(curve.values), others.length(common.other))
        ]
        if copies:
            best = max(copies, key=lambda each: (each.n_distinct, each.length))
            yield name, others.names[best.other], _in_words(best, curve, others)


LEAST_DISTINCT, LEAST_OF_WHOLE = 12, 6
MOST_DISTANT = 0.1


def is_copy(common: CommonRun, length: int, other_length: int) -> bool:
    """Return True if two curves have so much in common that one is likely a copy of the other.

    Twelve distinct values that are half of the shorter curve, and closer to each other than runs with other seeds are.
    Of curves that are equal from their first to their last value, six are enough.
    """
    if common.length == length == other_length and common.is_exact:
        return common.n_distinct >= LEAST_OF_WHOLE
    is_long = common.length >= LEAST_DISTINCT and 2 * common.length >= min(length, other_length)
    return is_long and common.n_distinct >= LEAST_DISTINCT and common.distance <= MOST_DISTANT


def _in_words(common: CommonRun, curve: Curve, others: Curves) -> str:
    steps = curve.steps[common.start : common.start + common.length]
    other = others.steps_of(common)
    how = "equal" if common.is_exact else "equal up to rounding"
    which = f"{common.length:,} of its {len(curve.values):,} values in a row"
    return f"{which} are {how} to those of {others.names[common.other]}, {_at(steps, other)}"


def _at(steps: Integers, other: Integers) -> str:
    if (steps == other).all():
        return "at the same steps"
    later = (steps > 0) & (other > 0)
    ratios = steps[later] / other[later]
    if len(ratios) and np.allclose(ratios, ratios[0], rtol=1e-3):
        return f"at {ratios[0]:g} times their steps"
    return "at other steps"
