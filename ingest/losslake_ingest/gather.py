"""From runs, which come in any order, to parts of studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.numbers import TrialNumbers
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.study import Curves, LoadedPart, StudyFacts, TrialFacts
from losslake_schema.names import Study
from losslake_schema.reached import Flags, Floats

LARGEST_PENDING = 128 * 2**20


@dataclass(frozen=True)
class RunsPart:
    """Numbered runs of one study, in memory."""

    study: Study
    facts: StudyFacts
    format: str
    reader_version: str
    runs: Mapping[int, PlacedRun]

    @property
    def n_trials(self) -> int:
        return len(self.runs)

    @property
    def size(self) -> int:
        return sum(size_of(run.curve) for run in self.runs.values())

    def file_digests(self) -> Mapping[str, str]:
        return {path: sha256 for run in self.runs.values() for path, sha256 in run.files.items()}

    def load(self) -> LoadedPart:
        trials = [
            TrialFacts(
                trial_id,
                run.status,
                int(run.curve.steps[-1]),
                run.parameters,
                run.attributes,
                run.run,
                run.sha256,
            )
            for trial_id, run in self.runs.items()
        ]
        return LoadedPart(self.facts, trials, joined([run.curve for run in self.runs.values()]), ())


@dataclass
class _Pending:
    facts: StudyFacts
    runs: list[PlacedRun] = field(default_factory=list)


class Gatherer:
    """Collects the runs that a format reads from one source and hands on parts of studies."""

    def __init__(self, source: str, name: str, numbers: TrialNumbers, stored_units: Mapping[Study, str]) -> None:
        self._source = source
        self._name = name
        self._numbers = numbers
        self._units = dict(stored_units)
        self._pending: dict[Study, _Pending] = {}
        self._size = 0

    def add(self, run: PlacedRun) -> Iterator[RunsPart | Quarantined]:
        """Take a run in; hands on everything when too much of it waits."""
        unit = self._units.setdefault(run.study, run.facts.batch_unit)
        if unit != run.facts.batch_unit:
            message = f"its batch size counts {run.facts.batch_unit}, that of the study's other trials {unit}"
            yield self._quarantined(run, Rule.FACTS_DISAGREE, f"{message}: correct batch_unit in the mapping")
            return
        self._pending.setdefault(run.study, _Pending(run.facts)).runs.append(run)
        self._size += size_of(run.curve)
        if self._size > LARGEST_PENDING:
            yield from self.rest()

    def rest(self) -> Iterator[RunsPart | Quarantined]:
        """Everything that waits."""
        for study, pending in self._pending.items():
            numbered, twice = self._numbers.number(study, pending.runs)
            for run in twice:
                message = f"another run of this study is trial {run.trial_id} already: tell them apart in the mapping"
                yield self._quarantined(run, Rule.DUPLICATE_TRIAL, message)
            if numbered:
                yield RunsPart(study, pending.facts, self._name, f"{self._name}/1", numbered)
        self._pending, self._size = {}, 0

    def _quarantined(self, run: PlacedRun, rule: Rule, message: str) -> Quarantined:
        return Quarantined(self._source, run.run, rule, message, None, str(run.study), None, run.sha256)


def size_of(curve: Curves) -> int:
    """Bytes of a curve in memory."""
    arrays = [curve.steps, *curve.values.values(), *curve.missing.values()]
    return sum(array.nbytes for array in arrays) + (curve.elapsed_s.nbytes if curve.elapsed_s is not None else 0)


def joined(curves: Sequence[Curves]) -> Curves:
    """Curves one after the other; a metric that a curve lacks is missing in all its rows."""
    lengths = [len(curve.steps) for curve in curves]
    metrics = sorted({metric for curve in curves for metric in curve.values})
    values: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for metric in metrics:
        values[metric] = np.concatenate([_values(curve, metric) for curve in curves])
        absent = np.concatenate([_missing(curve, metric) for curve in curves])
        if absent.any():
            missing[metric] = absent
    elapsed = None
    if any(curve.elapsed_s is not None for curve in curves):
        elapsed = np.concatenate([_or_nan(curve.elapsed_s, len(curve.steps)) for curve in curves])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Curves(offsets, np.concatenate([curve.steps for curve in curves]), values, missing, elapsed)


def _values(curve: Curves, metric: str) -> Floats:
    return _or_nan(curve.values.get(metric), len(curve.steps))


def _missing(curve: Curves, metric: str) -> Flags:
    if metric not in curve.values:
        return np.ones(len(curve.steps), np.bool_)
    found = curve.missing.get(metric)
    return found if found is not None else np.zeros(len(curve.steps), np.bool_)


def _or_nan(array: Floats | None, length: int) -> Floats:
    return array if array is not None else np.full(length, np.nan)
