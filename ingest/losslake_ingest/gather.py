"""From runs, which come in any order, to parts of studies with numbered trials.

Trials whose logs give no number get one: a run keeps the number it has, a new one gets the next that is free. Several
logs of one trial become one: Keras writes what it measures on training and on validation data as two runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from losslake.lake.data_files import stored_table, studies_in
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.mapping.evaluations import Measured, on_common_steps
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.study import Curves, LoadedPart, StudyFacts, TrialFacts, concatenated
from losslake_schema.names import Study

LARGEST_PENDING = 128 * 2**20
_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class RunsPart:
    """Numbered runs of one study, in memory."""

    study: Study
    facts: StudyFacts
    format: str
    runs: Mapping[int, PlacedRun]

    @property
    def reader_version(self) -> str:
        return f"{self.format}/1"

    @property
    def n_trials(self) -> int:
        return len(self.runs)

    @property
    def size(self) -> int:
        return sum(_size_of(run.curve) for run in self.runs.values())

    def file_digests(self) -> Mapping[str, str]:
        return {path: sha256 for run in self.runs.values() for path, sha256 in run.files.items()}

    def load(self) -> LoadedPart:
        trials = []
        for number, run in self.runs.items():
            steps = int(run.curve.steps[-1])
            trials.append(TrialFacts(number, run.status, steps, run.parameters, run.attributes, run.run, run.sha256))
        return LoadedPart(self.facts, trials, concatenated([run.curve for run in self.runs.values()]), ())


class Gatherer:
    """Collects the runs that a format reads from one source and hands on parts of studies."""

    def __init__(self, source: str, name: str, stored: Stored) -> None:
        self._source = source
        self._name = name
        self._stored = stored
        self._units = dict(stored.studies("batch_unit"))
        self._pending: dict[Study, list[PlacedRun]] = {}
        self._size = 0

    def add(self, run: PlacedRun) -> Iterator[RunsPart | Quarantined]:
        """Add a run; hands on everything when too much of it waits."""
        unit = self._units.setdefault(run.study, run.facts.batch_unit)
        if unit != run.facts.batch_unit:
            message = f"its batch size counts {run.facts.batch_unit}, that of the study's other trials {unit}"
            yield self._quarantined(run, Rule.FACTS_DISAGREE, f"{message}: correct batch_unit in the mapping")
            return
        self._pending.setdefault(run.study, []).append(run)
        self._size += _size_of(run.curve)
        if self._size > LARGEST_PENDING:
            yield from self.rest()

    def rest(self) -> Iterator[RunsPart | Quarantined]:
        """Hand on everything that waits."""
        for study, runs in self._pending.items():
            numbered, twice = self._stored.number(study, runs)
            for run in twice:
                message = f"another run of this study is trial {run.trial_id} already: tell them apart in the mapping"
                yield self._quarantined(run, Rule.DUPLICATE_TRIAL, message)
            if numbered:
                yield RunsPart(study, runs[0].facts, self._name, numbered)
        self._pending, self._size = {}, 0

    def _quarantined(self, run: PlacedRun, rule: Rule, message: str) -> Quarantined:
        return Quarantined(self._source, run.run, rule, message, None, str(run.study), None, run.sha256)


def _size_of(curve: Curves) -> int:
    """Bytes of a curve in memory."""
    arrays = [curve.steps, *curve.values.values(), *curve.missing.values()]
    return sum(array.nbytes for array in arrays) + (curve.elapsed_s.nbytes if curve.elapsed_s is not None else 0)


@dataclass
class _Trials:
    """The trials of one study: those that are stored, and those that this ingest has brought so far."""

    by_run: dict[str, int] = field(default_factory=dict)
    by_sha256: dict[str, list[int]] = field(default_factory=dict)
    content: dict[int, str] = field(default_factory=dict)
    offered: set[int] = field(default_factory=set)
    highest: int = 0

    def offer(self, number: int) -> None:
        self.offered.add(number)
        self.highest = max(self.highest, number)


class Stored:
    """What a release with these files holds, as far as an ingest has to know; numbers the runs of one ingest on top.

    The same run is the one with the same path in its source, or else the one with the same bytes: a folder that was
    moved, or is offered from another level, adds nothing twice.
    """

    def __init__(self, store: Store, files: Sequence[DataFile]) -> None:
        self._store = store
        self.files = files
        self._studies = stored_table(store, files, "studies")
        self._columns: dict[str, dict[Study, Any]] = {}
        self._trials: dict[Study, _Trials] = {}

    def studies(self, column: str) -> Mapping[Study, Any]:
        """Return a column of `studies`, by study."""
        if column not in self._columns:
            self._columns[column] = studies_in(self._studies, column)
        return self._columns[column]

    def number(self, study: Study, runs: Sequence[PlacedRun]) -> tuple[dict[int, PlacedRun], list[PlacedRun]]:
        """Return the runs of a study by their numbers, ascending, and those whose number another run has already.

        Runs of one number that can be logs of one trial become one.
        """
        known = self._of(study)
        numbered: dict[int, PlacedRun] = {}
        twice: list[PlacedRun] = []
        new: list[PlacedRun] = []
        for run in sorted(runs, key=lambda run: _natural_order(run.run)):
            number = run.trial_id if run.trial_id is not None else known.by_run.get(run.run)
            if number is None:
                new.append(run)
            elif number in known.offered:
                together = _joined(numbered[number], run) if number in numbered else None
                if together is None:
                    twice.append(run)
                else:
                    numbered[number] = together
            else:
                known.offer(number)
                numbered[number] = run
        for run in new:
            same_bytes = (number for number in known.by_sha256.get(run.sha256, ()) if number not in known.offered)
            number = next(same_bytes, known.highest + 1)
            known.offer(number)
            numbered[number] = run
        return dict(sorted(numbered.items())), twice

    def content(self, study: Study) -> Mapping[int, str]:
        """Return the content digest of each stored trial of a study."""
        return self._of(study).content

    def _of(self, study: Study) -> _Trials:
        if study not in self._trials:
            condition = [pl.col(key) == value for key, value in study.key().items()]
            trials = self._trials[study] = _Trials()
            rows = self._table.filter(*condition).select("trial_id", "source", "source_sha256", "content_digest")
            for trial_id, source, sha256, content in rows.iter_rows():
                trials.by_run[source] = trial_id
                trials.by_sha256.setdefault(sha256, []).append(trial_id)
                trials.content[trial_id] = content
                trials.highest = max(trials.highest, trial_id)
        return self._trials[study]

    @cached_property
    def _table(self) -> pl.DataFrame:
        return pl.DataFrame(stored_table(self._store, self.files, "trials"))


def _natural_order(text: str) -> list[tuple[int, int | str]]:
    """A key that sorts `result_2` before `result_10`."""
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in _DIGITS.split(text)]


def _joined(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Two runs of the same trial as one, under the first one's name; None when they can't be the same.

    They can't when a metric is in both, when they end differently, or when they differ in a metaparameter that both
    name. Attributes in which they differ belong to the logs and not to the trial: they are dropped.
    """
    differ = any(second.parameters.get(name, value) != value for name, value in first.parameters.items())
    if differ or first.curve.values.keys() & second.curve.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes={name: text for name, text in attributes.items() if second.attributes.get(name, text) == text},
        curve=on_common_steps(_measured(first.curve) | _measured(second.curve)),
        files={**second.files, **first.files},
    )


def _measured(curve: Curves) -> dict[str, Measured]:
    """Each metric of a curve at the steps at which it was measured."""
    elapsed = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    measured: dict[str, Measured] = {}
    for metric, values in curve.values.items():
        missing = curve.missing.get(metric)
        rows = ~missing if missing is not None else slice(None)
        measured[metric] = (curve.steps[rows], values[rows], elapsed[rows])
    return measured
