"""The interface between log formats and storage: parts of studies, their facts and their curves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from losslake_ingest.contracts.report import Quarantined
from losslake_schema.names import Study
from losslake_schema.reached import Flags, Floats, Integers
from losslake_schema.registry import metrics

LARGEST_EXACT_INTEGER = 2**53
# Two runs with less in common could agree by chance.
LEAST_MEASUREMENTS, LEAST_TIMES = 4, 3
LEAST_EVALUATIONS, LEAST_VALUES = 4, 4


@dataclass(frozen=True)
class StudyFacts:
    """The facts of a study. parameter_configs is JSON text."""

    study: Study
    batch_unit: str
    train_steps: int
    early_stopping: bool
    parameter_configs: str

    @staticmethod
    def of(study: Study, row: Mapping[str, Any]) -> StudyFacts:
        """Return the facts in the row of a study in `studies`."""
        return StudyFacts(study, *(row[field.name] for field in fields(StudyFacts)[1:]))


@dataclass(frozen=True)
class TrialFacts:
    """The facts of a trial. attributes: the metaparameters that aren't numbers, as JSON text."""

    trial_id: int
    status: str
    steps: int
    parameters: Mapping[str, float]
    attributes: Mapping[str, str]
    source: str
    source_sha256: str

    @staticmethod
    def of(row: Mapping[str, Any]) -> TrialFacts:
        """Return the facts in a row of `trials` or `copies`."""
        facts = {field.name: row[field.name] for field in fields(TrialFacts)}
        return TrialFacts(**facts | {name: dict(row[name] or ()) for name in ("parameters", "attributes")})


@dataclass(frozen=True)
class Curves:
    """The evaluations of some trials, one trial after the other.

    offsets: (n_trials + 1,); the i-th trial has rows offsets[i]:offsets[i+1]. steps: (n_rows,), strictly ascending
    within a trial. values: (n_rows,) by metric. missing: (n_rows,) by metric, flags of rows without a value; metrics
    measured in every row are absent. elapsed_s: (n_rows,), NaN if unknown, or None.
    """

    offsets: Integers
    steps: Integers
    values: Mapping[str, Floats]
    missing: Mapping[str, Flags]
    elapsed_s: Floats | None = None

    def trial(self, index: int) -> Curves:
        """Return the evaluations of the i-th trial."""
        rows = slice(int(self.offsets[index]), int(self.offsets[index + 1]))
        return Curves(
            np.array([0, rows.stop - rows.start], np.int64),
            self.steps[rows],
            {metric: values[rows] for metric, values in self.values.items()},
            {metric: missing[rows] for metric, missing in self.missing.items()},
            self.elapsed_s[rows] if self.elapsed_s is not None else None,
        )

    def nonfinite_by_trial(self) -> Integers:
        """Return the number of NaN and infinite measurements of each trial."""
        total = np.zeros(len(self.offsets) - 1, np.int64)
        for metric, values in self.values.items():
            is_nonfinite = ~np.isfinite(values)
            if metric in self.missing:
                is_nonfinite &= ~self.missing[metric]
            if is_nonfinite.any():
                total += np.diff(offsets_of(is_nonfinite)[self.offsets])
        return total


def concatenate(curves: Sequence[Curves]) -> Curves:
    """Concatenate curves; a metric that one of them lacks is missing in all its rows."""
    values: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for metric in sorted({metric for curve in curves for metric in curve.values}):
        values[metric] = np.concatenate([_or_full(c.values.get(metric), c, np.nan) for c in curves])
        absent = np.concatenate([_or_full(c.missing.get(metric), c, metric not in c.values) for c in curves])
        if absent.any():
            missing[metric] = absent
    is_timed = any(curve.elapsed_s is not None for curve in curves)
    elapsed = np.concatenate([_or_full(c.elapsed_s, c, np.nan) for c in curves]) if is_timed else None
    steps = np.concatenate([np.empty(0, np.int64), *(curve.steps for curve in curves)])
    return Curves(offsets_of([len(curve.steps) for curve in curves]), steps, values, missing, elapsed)


def _or_full(array: npt.NDArray[Any] | None, curve: Curves, value: float) -> npt.NDArray[Any]:
    return array if array is not None else np.full(len(curve.steps), value)


def offsets_of(counts: npt.ArrayLike) -> Integers:
    """Return the offsets of consecutive groups of rows: each start and, last, the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


@dataclass(frozen=True)
class LoadedPart:
    """Trials of one study by ascending trial_id, their curves in the same order, and quarantined items."""

    facts: StudyFacts
    trials: Sequence[TrialFacts]
    curves: Curves
    quarantined: Sequence[Quarantined]


class StudyPart(Protocol):
    """Some or all trials of one study as read. file_digests and load are called in a worker thread."""

    @property
    def study(self) -> Study:
        """The study that the trials belong to."""

    @property
    def n_trials(self) -> int:
        """The number of trials."""

    @property
    def size(self) -> int:
        """The approximate memory to convert it, in bytes."""

    @property
    def format(self) -> str:
        """The name of the log format."""

    @property
    def reader_version(self) -> str:
        """The version of the reader. It changes when the same bytes may be read differently."""

    def file_digests(self) -> Mapping[str, str]:
        """Return the SHA-256 of every file of this part, by path within the study."""

    def load(self) -> LoadedPart:
        """Parse and validate the part. Raises StudyRejected if nothing of it can be stored."""


class StudyRejected(Exception):
    """No part of a study can be stored, for a reason."""

    def __init__(self, reason: Quarantined) -> None:
        super().__init__(str(reason))
        self.reason = reason


def is_exact_float(value: object) -> bool:
    """Return True for a number that float64 holds exactly."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, float) or abs(value) <= LARGEST_EXACT_INTEGER


def source_digest(reader_version: str, files: Mapping[str, str]) -> str:
    """Return the SHA-256 over the reader's version and the SHA-256 of each source file, ordered by path."""
    digest = hashlib.sha256(f"{reader_version}\n".encode())
    for path, sha256 in sorted(files.items()):
        digest.update(f"{path}\0{sha256}\n".encode())
    return digest.hexdigest()


def trial_digests(trials: Sequence[TrialFacts], curves: Curves) -> list[str]:
    """Return the content digest of each trial; `curves` has the trials in the same order.

    The digest is the SHA-256 over the trial's facts (not its source) and its curve in canonical form.
    """
    return [_trial_digest(trial, curves, row) for row, trial in enumerate(trials)]


def _trial_digest(trial: TrialFacts, curves: Curves, row: int) -> str:
    start, stop = int(curves.offsets[row]), int(curves.offsets[row + 1])
    facts = [trial.trial_id, trial.status, trial.steps, dict(trial.parameters), dict(trial.attributes), stop - start]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    digest.update(curves.steps[start:stop].data)
    for metric in sorted(curves.values):
        values = curves.values[metric][start:stop]
        missing = curves.missing.get(metric)
        absent = missing[start:stop] if missing is not None else None
        if absent is not None and absent.all():
            continue
        digest.update(f"\n{metric}\n".encode())
        if absent is not None and absent.any():
            digest.update(np.packbits(absent).data)
            values = np.where(absent, 0.0, values)
        digest.update(values.data)
    if curves.elapsed_s is not None and not np.isnan(curves.elapsed_s[start:stop]).all():
        digest.update(curves.elapsed_s[start:stop].data)
    return digest.hexdigest()


class RunDigests(NamedTuple):
    """The digests by which two logs are known to be of one run; None where too little is measured to tell.

    curve: of the measurements. timed: of these and their times.
    """

    curve: bytes | None = None
    timed: bytes | None = None


def run_digests(curve: Curves) -> RunDigests:
    """Return the digests of a trial's measurements, and of these with their times in milliseconds.

    That of the measurements takes LEAST_EVALUATIONS with LEAST_VALUES different values: an error of 0.9 at every
    evaluation is that of any diverged run. Beside a metric with a known direction, others don't count, since learning
    rates have a schedule. The other digest takes LEAST_MEASUREMENTS at LEAST_TIMES different times.
    """
    times = _canonical(np.rint(curve.elapsed_s * 1000)) if curve.elapsed_s is not None else None
    measured, timed = hashlib.sha256(), hashlib.sha256()
    n_measured, different_times = 0, set[float]()
    different: dict[bool, set[float]] = {}
    for metric in sorted(curve.values):
        missing = curve.missing.get(metric)
        rows = ~missing if missing is not None else slice(None)
        steps, values = curve.steps[rows], _canonical(curve.values[metric][rows])
        if not len(steps):
            continue
        n_measured += len(steps)
        different.setdefault(_has_direction(metric), set()).update(_different(values, LEAST_VALUES))
        measured.update(f"\n{metric}\n{len(steps)}\n".encode())
        measured.update(steps.tobytes())
        measured.update(values.tobytes())
        if times is not None:
            at = times[rows]
            different_times |= _different(at, LEAST_TIMES)
            timed.update(at.tobytes())
    n_different = len(different.get(True, different.get(False, ())))
    is_curve = len(curve.steps) >= LEAST_EVALUATIONS and n_different >= LEAST_VALUES
    is_timed = n_measured >= LEAST_MEASUREMENTS and len(different_times) >= LEAST_TIMES
    digest = measured.digest() if is_curve or is_timed else None
    timed.update(digest or b"")
    return RunDigests(digest if is_curve else None, timed.digest() if is_timed else None)


def _has_direction(metric: str) -> bool:
    registered = metrics().get(metric)
    return registered is not None and registered.direction is not None


def _different(column: Floats, least: int) -> set[float]:
    """Return at least `least` different numbers of a column, or all if it has fewer."""
    first = {value for value in column[: 4 * least].tolist() if value == value}
    if len(first) >= least or len(column) <= 4 * least:
        return first
    return set(np.unique(column[~np.isnan(column)])[:least].tolist())


def _canonical(values: Floats) -> Floats:
    """Return numbers of which equal ones have equal bytes: one zero, one NaN."""
    values = values + 0.0
    values[np.isnan(values)] = np.nan
    return values


def study_digest(facts: StudyFacts, trials: Mapping[int, str]) -> str:
    """Return the content digest of a study: SHA-256 over its facts and the content digests of its trials."""
    study_facts = [str(facts.study), facts.batch_unit, facts.train_steps, facts.early_stopping, facts.parameter_configs]
    digest = hashlib.sha256(f"{json.dumps(study_facts)}\n".encode())
    for trial_id, trial_digest in sorted(trials.items()):
        digest.update(f"{trial_id} {trial_digest}\n".encode())
    return digest.hexdigest()
