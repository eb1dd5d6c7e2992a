"""Submissions compared with the reference convergence points that MLPerf had in their round.

The runs of references are the collection mlperf-rcp, in which each list of runs counts once, in the first round that
has it. `replaced_references.csv` says which of these lists later rounds no longer have.
Source: mlcommons/logging at 7bbf792, mlperf_logging/rcp_checker, rcps_*.json of all rounds.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from losslake.analysis.rcp import ReferencePoint, Rules, Verdict, check, pruned, reference_point
from losslake.questions.release.view import ReleaseView
from losslake.questions.results.rules import SUITES, SubmissionRules
from losslake_schema.package_files import read_text

_ROUND = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){1,2}")
_LEAST_RUNS = 3


@dataclass(frozen=True)
class Check:
    """The check of a submission. passes, ground: as Verdict has them. by: the folder of the references; None for none.

    factor: by which MLPerf normalizes the score of a submission that passes; None without.
    """

    passes: bool | None
    ground: str
    in_words: str
    by: str | None = None
    factor: float | None = None


class References:
    """The reference runs of a release, by the folder and file that first have them."""

    def __init__(self, view: ReleaseView) -> None:
        self._lists: dict[tuple[str, str, str], tuple[int, list[float]]] = {}
        self._epochs: dict[str, float] = {}
        for folder, file, record, batch_size, examples, epoch in view.rows("reference_runs"):
            self._lists.setdefault((folder, file, record), (batch_size, []))[1].append(examples)
            self._epochs[file] = max(self._epochs.get(file, 0), epoch or 0)
        self._points: dict[tuple[str, str, str], tuple[ReferencePoint, ...]] = {}

    def points(self, suite: str, round_: str, benchmark: str, rules: SubmissionRules) -> tuple[ReferencePoint, ...]:
        """Return all points that a round has for a benchmark, by batch size; none without references."""
        key = (suite, round_, benchmark)
        if key not in self._points:
            self._points[key] = self._points_of(suite, round_, benchmark, rules)
        return self._points[key]

    def _points_of(self, suite: str, round_: str, benchmark: str, rules: SubmissionRules) -> tuple[ReferencePoint, ...]:
        wanted = folder_of(suite, round_)
        points = []
        for (folder, file, record), (batch_size, runs) in self._lists.items():
            last = _replaced().get((folder, file, record))
            if file not in (benchmark, rules.reference) or wanted is None or not _is_in(wanted, folder, last):
                continue
            try:
                points.append(reference_point(batch_size, np.array(runs), _rules(rules)))
            except ValueError:
                continue  # too few runs
        return tuple(sorted(points, key=lambda each: each.batch_size))

    def check(
        self,
        suite: str,
        round_: str,
        benchmark: str,
        rules: SubmissionRules,
        batch_size: int,
        examples: Sequence[float],
    ) -> Check:
        """Compare a submission with the points of its round, which has some.

        examples: to the target by run; inf for never.
        """
        folder = folder_of(suite, round_)
        points = self.points(suite, round_, benchmark, rules)
        kept = pruned(points)
        try:
            verdict = check(kept, batch_size, np.array(examples), _rules(rules))
        except ValueError as error:
            return Check(None, "unusable", str(error), folder)
        rounded = _rounding(batch_size, verdict, self._epochs.get(benchmark) or self._epochs.get(rules.reference or ""))
        return _in_words(verdict, batch_size, points, kept, folder, rounded)


def _in_words(
    verdict: Verdict,
    batch_size: int,
    points: Sequence[ReferencePoint],
    kept: Sequence[ReferencePoint],
    folder: str | None,
    rounding: float,
) -> Check:
    """Return the verdict, which decides only by a point at, or around, its batch size, and by more than rounding."""
    words = verdict.explanation
    least = (verdict.point.least_mean if verdict.point else None) or math.inf
    is_close = verdict.passes is False and verdict.mean is not None and verdict.mean + rounding >= least
    sizes = {point.batch_size for point in points} - {point.batch_size for point in kept}
    ground: str = verdict.ground
    if verdict.ground == "interpolated" and batch_size in sizes:
        ground, words = "pruned", f"{words}; the point of this batch size is pruned, as a larger one converges sooner"
    if is_close:
        words = f"{words}; so close that the rounding to whole batches may decide"
    decides = ground in ("found", "interpolated", "pruned") or (ground == "smallest" and bool(verdict.passes))
    return Check(verdict.passes if decides and not is_close else None, ground, words, folder, verdict.score_factor)


def _rounding(batch_size: int, verdict: Verdict, epoch: float | None) -> float:
    """Return by how many examples positions may be off: a step, and what is left of each epoch after whole batches."""
    if not epoch or verdict.mean is None or not math.isfinite(verdict.mean):
        return batch_size
    return batch_size + verdict.mean / epoch * (epoch % batch_size)


def _rules(rules: SubmissionRules) -> Rules:
    return Rules(
        max(rules.runs, _LEAST_RUNS),
        trimmed=rules.trimmed,
        tolerated_failures=min(rules.not_reached, rules.trimmed),
        allowance=rules.allowance,
    )


def folder_of(suite: str, round_: str) -> str | None:
    """Return the folder of a round in mlcommons/logging, such as training_5.1.0; None for what is no round."""
    if suite not in SUITES or not _ROUND.fullmatch(round_):
        return None
    return f"{suite.removeprefix('mlperf-')}_{round_}{'.0' if round_.count('.') == 1 else ''}"


def _is_in(folder: str, first: str, last: str | None) -> bool:
    """Return True if a list of runs from the first folder to the last one is in this folder; last: None for no end."""
    suite, version = _version(folder)
    first_suite, since = _version(first)
    return suite == first_suite and since <= version and (last is None or version <= _version(last)[1])


def _version(folder: str) -> tuple[str, tuple[float, ...]]:
    """Return the suite of a folder and its version; of a folder that is none, a version above all."""
    suite, _, number = folder.partition("_")
    return suite, tuple(map(int, number.split("."))) if _ROUND.fullmatch(number) else (math.inf,)


@cache
def _replaced() -> dict[tuple[str, str, str], str]:
    """Return the last folder with a list of runs, by the first folder with it, the file and the record."""
    lines = read_text("losslake.questions.results", "replaced_references.csv").splitlines()
    return {(row["first"], row["file"], row["record"]): row["last"] for row in csv.DictReader(lines)}
