"""Rules about copies: of logs that are stored and of other runs of the submission, byte for byte or nearly.

A near-copy has the curve of another trial or run up to rounding and steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

import numpy as np

from losslake_contributions.review.checks.curve_index import CommonRun
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_contributions.review.checks.stored_curves import Curves, concatenated, stored_curves
from losslake_contributions.review.queries import query
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.batch_schedule import ATTRIBUTE
from losslake_schema.names import Trial
from losslake_schema.reached import Integers
from losslake_schema.tables import STUDY_KEYS

LEAST_DISTINCT, LEAST_OF_WHOLE = 12, 6
MOST_DISTANT = 0.1


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about copies."""
    yield from _repeated(evidence)
    yield from _of_stored(evidence)
    yield from _near(evidence)


def _of_stored(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each run whose log is that of a stored trial."""
    if evidence.stored is None:
        return
    digests, runs = {name: log_digests(spool) for name, spool in evidence.spools.items()}, evidence.draft.runs
    if evidence.after is not None:
        for row in query(evidence.after, "digests_of_trials", {"trials": [*runs]}).to_pylist():
            digests[runs[row["trial"]]].add(row["source_sha256"])
    stored: dict[str, Trial] = {}
    wanted = sorted(set().union(*digests.values()))
    for row in query(evidence.stored, "stored_copies", {"digests": wanted}).to_pylist():
        stored.setdefault(row["source_sha256"], Trial.of(row))
    for name, of_run in digests.items():
        trial = next((stored[digest] for digest in sorted(of_run) if digest in stored), None)
        if trial is not None:
            yield finding("copy_of_stored", name, "", f"its log is stored already, as trial {trial}: leave the run out")


def log_digests(spool: Spool) -> set[str]:
    """Return the SHA-256 of the logs that a run is or was converted from, each, and of all as the ingest has it."""
    origin = [*spool.origin_files.values()]
    combined = hashlib.sha256("".join(origin).encode()).hexdigest()
    return {*(segment.sha256() for segment in spool.segments), *origin, *([combined] if len(origin) > 1 else [])}


def _repeated(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each run with the measurements and the facts of one before it."""
    first: dict[tuple[str, ...], str] = {}
    for name, spool in evidence.spools.items():
        segments = tuple(segment.sha256() for segment in spool.segments)
        facts = {key: spool.facts.get(key) for key in (*STUDY_KEYS, ATTRIBUTE, "parameters", "attributes")}
        key = (json.dumps(facts, sort_keys=True, default=str), *segments)
        if segments and first.setdefault(key, name) != name:
            yield finding("repeated", name, "", f"it is the same run as {first[key]}: leave one of them out")


def _near(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about near-copies, one for each run beside stored trials, and for each pair of runs."""
    runs = {name: evidence.curves(name) for name in evidence.draft.trials}
    near_stored: set[str] = set()
    pairs: set[frozenset[str]] = set()
    for metric in sorted({metric for curves in runs.values() for metric in curves}):
        of_metric = {name: curves[metric] for name, curves in runs.items() if metric in curves}
        stored = stored_curves(evidence, metric)
        if stored is not None:
            unmatched = {name: curve for name, curve in of_metric.items() if name not in near_stored}
            for name, _, words in matches(unmatched, stored, evidence.draft.runs):
                near_stored.add(name)
                message = f"{words}: leave it out if it is the same run, or say why in the note"
                yield finding("near_copy", name, metric, message)
        for name, other, words in matches(of_metric, concatenated(of_metric), {}):
            if frozenset((name, other)) not in pairs:
                pairs.add(frozenset((name, other)))
                yield finding("near_copy_of_run", name, metric, f"{words}: if they are one run, send it once")


def matches(runs: Mapping[str, Curve], others: Curves, run_of: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each run that is a near-copy of another curve, the name of that, and what they share, in words.

    run_of: the runs by the name of their trial: these aren't others. Of several others, the one with most in common.
    """
    for name, curve in runs.items():
        copies = [
            common
            for common in others.index.common_runs(curve.values)
            if name not in (others.names[common.other], run_of.get(others.names[common.other]))
            and is_copy(common, len(curve.values), others.length(common.other))
        ]
        if copies:
            best = max(copies, key=lambda each: (each.n_distinct, each.length))
            yield name, others.names[best.other], _in_words(best, curve, others)


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
