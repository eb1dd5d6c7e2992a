"""Grouping of runs, which come in any order, into parts of studies with numbered trials.

Trials whose logs give no number get one: a stored run keeps its number, a new one gets the next free number. Several
logs of one trial are merged: Keras writes training and validation measurements as two runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from posixpath import normpath
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from losslake.lake.data_files import column_by_study, read_small_table
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.study import Curves, LoadedPart, StudyFacts, TrialFacts, concatenate
from losslake_ingest.mapping.evaluations import Measured, on_common_steps
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.pipeline.copies import BUNDLE, Copies, Known, Move, is_same_path, place_digest
from losslake_ingest.pipeline.withdrawn import Withdrawn, log_digest
from losslake_schema.names import Study, Trial
from losslake_schema.tables import STUDY_KEYS, TABLES

LARGEST_PENDING = 256 * 2**20  # of memory to convert it
_PER_RUN = 8000
EQUAL_BYTES = (
    "run with the same bytes as another, but different facts (workload, batch size or metaparameters): both are kept"
)
ELSEWHERE = (
    "log that was a trial of another study when it was read from here before: both are kept, and 'losslake withdraw' "
    "takes the former one out if its mapping was wrong"
)
LOGGED = "trial of a bundle whose log was ingested: the trial from the log is kept"
_DIGITS = re.compile(r"([0-9]+)")
_LEADING = re.compile(r"^(/+|(\.\./)+)")


@dataclass(frozen=True)
class RunsPart:
    """Numbered runs of one study, in memory; a `StudyPart`."""

    study: Study
    facts: StudyFacts
    format: str
    runs: Mapping[int, PlacedRun]

    @property
    def reader_version(self) -> str:
        """The format's version in digests; see `StudyPart`."""
        return f"{self.format}/1"

    @property
    def n_trials(self) -> int:
        """The number of trials."""
        return len(self.runs)

    @property
    def size(self) -> int:
        """The approximate memory to convert them, in bytes."""
        return sum(_size_of(run.curve) for run in self.runs.values())

    def file_digests(self) -> Mapping[str, str]:
        """Return the SHA-256 of each file by path."""
        return {path: sha256 for run in self.runs.values() for path, sha256 in run.files.items()}

    def load(self) -> LoadedPart:
        """Return the trials and their concatenated curves."""
        trials = []
        for number, run in self.runs.items():
            steps = run.steps if run.steps is not None else int(run.curve.steps[-1])
            trials.append(TrialFacts(number, run.status, steps, run.parameters, run.attributes, run.run, run.sha256))
        return LoadedPart(self.facts, trials, concatenate([run.curve for run in self.runs.values()]), ())


class Gatherer:
    """A collector of the runs that a format reads from one source; it yields parts of studies."""

    def __init__(
        self, source: str, name: str, stored: Stored, remark: Callable[[str, str], None], place: str | None = None
    ) -> None:
        """Begin a source. remark: takes a decision about a run, and the run. place: its full path, if it is local."""
        self._source = source
        self._place = place or source
        self._name = name
        self._stored = stored
        self._remark = remark
        self._units = dict(stored.studies("batch_unit"))
        self._pending: dict[Study, list[PlacedRun]] = {}
        self._size = 0

    def add(self, run: PlacedRun) -> Iterator[RunsPart | Quarantined]:
        """Add a run; yield all pending parts when they hold too much memory."""
        unit = run.facts.batch_unit
        others = self._units.setdefault(run.study, unit)
        if unit != others:
            message = f"its batch size counts {unit}, but that of the study's other trials counts {others}"
            yield self._quarantined(run, Rule.FACTS_DISAGREE, f"{message}: correct batch_unit in the mapping")
            return
        self._pending.setdefault(run.study, []).append(run)
        self._size += _size_of(run.curve)
        if self._size > LARGEST_PENDING:
            yield from self.flush()

    def flush(self) -> Iterator[RunsPart | Quarantined]:
        """Yield all pending runs as parts."""
        self._stored.look_up([run for runs in self._pending.values() for run in runs], self._source, self._place)
        for study, runs in self._pending.items():
            numbered = self._stored.number(study, runs, self._source, self._place)
            for run, other in numbered.duplicates:
                message = f"{other} is already trial {run.trial_id} of this study: map each run to its own trial_id"
                yield self._quarantined(run, Rule.DUPLICATE_TRIAL, message)
            for run, first in numbered.copies:
                copy = f"a copy of {first.run}, which is trial {first.trial}: equal bytes and facts count once"
                message = f"{copy}; if it is another run, store under [parameters] what tells them apart"
                yield self._quarantined(run, Rule.DUPLICATE_SOURCE, message, first.trial.study)
            for run in numbered.equal:
                self._remark(EQUAL_BYTES, run.run)
            for run in numbered.elsewhere:
                self._remark(ELSEWHERE, run.run)
            for run in numbered.logged:
                self._remark(LOGGED, run.run)
            if numbered.runs:
                yield RunsPart(study, runs[0].facts, self._name, numbered.runs)
        self._pending, self._size = {}, 0

    def _quarantined(self, run: PlacedRun, rule: Rule, message: str, study: Study | None = None) -> Quarantined:
        return Quarantined(self._source, run.run, rule, message, None, str(study or run.study), None, run.sha256)


def _size_of(curve: Curves) -> int:
    """Return the bytes that it takes to convert a curve."""
    arrays = [curve.steps, curve.steps, *curve.values.values(), *curve.missing.values()]
    return _PER_RUN + 80 * len(curve.steps) + 2 * sum(array.nbytes for array in arrays)


def no_sources(_: Study) -> Collection[str]:
    """Return the sources of a study where no ledger names them."""
    return ()


def no_places(_: Study) -> Mapping[str, int]:
    """Return the places of a study's runs where no ledger has them."""
    return {}


def no_others(_: PlacedRun) -> set[int]:
    """Return the other stored runs with the bytes of a run where there are none."""
    return set()


class Log(NamedTuple):
    """The bytes of a trial's log, and the path of its run within the source."""

    trial_id: int
    sha256: str
    run: str


@dataclass
class _Trials:
    """The trials of one study: the stored ones and those of the current ingest.

    sources: see `Copies`. by_run: the numbers of the trials with that path within their sources. places: numbers by
    `place_digest`; a place keeps its number while its trial is withdrawn. logs: of each stored trial. by_name: the logs
    by their bytes and the last part of their path. others: the numbers of other runs with the bytes of one.
    """

    sources: Collection[str] = ()
    by_run: dict[str, list[int]] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    logs: dict[int, Log] = field(default_factory=dict)
    by_name: dict[tuple[str, str], list[Log]] = field(default_factory=dict)
    withdrawn: Withdrawn = field(default_factory=Withdrawn)
    others: Callable[[PlacedRun], set[int]] = no_others
    content: dict[int, str] = field(default_factory=dict)
    offered: set[int] = field(default_factory=set)
    highest: int = 0

    def offer(self, number: int) -> None:
        """Record that this ingest has the trial of that number."""
        self.offered.add(number)
        self.highest = max(self.highest, number)

    def known(self, run: PlacedRun, source: str, place: str) -> int | None:
        """Return the number that a run has by its mapping or as a stored trial; None if it has none.

        A bundle numbers its trials, but never takes the number of another stored run.
        """
        if source == BUNDLE:
            number = next(iter(self.by_run.get(run.run, ())), None)
            return run.trial_id if number is None and run.trial_id not in self.content else number
        return run.trial_id if run.trial_id is not None else self.stored_as(run, source, place)

    def stored_as(self, run: PlacedRun, source: str, place: str) -> int | None:
        """Return the number of the stored trial that was read from the place of a run; None if there is none.

        A trial whose place isn't known, since a bundle or an earlier version stored it, is recognized by its path in a
        source of that name. Its log may have been reduced for the bundle: there the end of the path decides.
        """
        number = self.places.get(place_digest(place, run.run))
        if number is not None:
            return number
        offered = {_full(place, run.run), _full(source, run.run)}
        parts = _full(place, run.run).split("/")
        for end in ("/".join(parts[start:]) for start in range(len(parts))):
            numbers = [number for number in self.by_run.get(end, ()) if number not in self.offered]
            names = {_full(name, end) for name in self.sources if name != BUNDLE or "/" in end} if numbers else ()
            is_at = any(is_same_path(name, path) for name in names for path in offered)
            for number in numbers:
                if (end == run.run and self.is_same(number, run)) or (is_at and number not in self._placed):
                    return number
        return None

    @cached_property
    def _placed(self) -> set[int]:
        return set(self.places.values())

    def next_for(self, run: PlacedRun) -> int:
        """Return the number of a run that has none yet: that of its stored trial, by its bytes, or a new one."""
        for number, _, path in self.by_name.get((run.sha256, _last_part(run.run)), ()):
            if number not in self.offered and is_same_path(path, run.run) and not self._is_other(number, run):
                return number
        withdrawn = self.withdrawn.by_digest.get(log_digest(run.sha256, run.run))
        if withdrawn is not None and withdrawn.trial.trial_id not in self.offered | self.content.keys():
            return withdrawn.trial.trial_id
        return self.highest + 1

    def is_withdrawn(self, run: PlacedRun, source: str, place: str) -> bool:
        """Return True if a run is a withdrawn trial, which is left out, and not a stored one with its bytes."""
        if self.withdrawn.find(run.sha256, run.run, place_digest(place, run.run)) is None:
            return False
        return not self.has_bytes(self.stored_as(run, source, place), run.sha256)

    def has_bytes(self, number: int | None, sha256: str) -> bool:
        """Return True if a stored trial has these bytes."""
        return number in self.logs and self.logs[number].sha256 == sha256

    def is_same(self, number: int, run: PlacedRun) -> bool:
        """Return True if a stored trial has the bytes of a run, and its facts or no known place."""
        return self.has_bytes(number, run.sha256) and not self._is_other(number, run)

    def _is_other(self, number: int, run: PlacedRun) -> bool:
        return number in self._placed and number in self.others(run)

    def path_of(self, number: int) -> str:
        """Return the path of a trial's run within its source, if it is stored."""
        return self.logs[number].run if number in self.logs else "another run"


@dataclass
class Numbered:
    """The runs of a study by trial number, ascending, and those that aren't stored.

    duplicates: their number is in use, by the run beside them. copies: with the trial that counts. equal: those of
    `runs` with the bytes of others that have other facts. elsewhere: those of `runs` whose place is that of a stored
    trial of another study. logged: runs of a bundle that are stored from their logs.
    """

    runs: dict[int, PlacedRun] = field(default_factory=dict)
    duplicates: list[tuple[PlacedRun, str]] = field(default_factory=list)
    copies: list[tuple[PlacedRun, Known]] = field(default_factory=list)
    equal: list[PlacedRun] = field(default_factory=list)
    elsewhere: list[PlacedRun] = field(default_factory=list)
    logged: list[PlacedRun] = field(default_factory=list)


class Stored:
    """The studies and trials in the data files of a release; it numbers the runs of one ingest.

    A run is identified by its place, which is the full path of its source and its path within, or else by its bytes
    and the end of its path: a folder that was moved, or is ingested from a parent folder, adds no duplicates. placed:
    the source and path of the runs with places that the ledger doesn't have yet, by trial and `place_digest`.
    """

    def __init__(
        self,
        store: Store | None,
        files: Sequence[DataFile],
        withdrawn: Mapping[Study, Withdrawn] | None = None,
        sources_of: Callable[[Study], Collection[str]] = no_sources,
        places_of: Callable[[Study], Mapping[str, int]] = no_places,
    ) -> None:
        """Read the studies of a release. store: of its files, None if there are none.

        withdrawn: the trials that keep their numbers, of each study that ever had any. sources_of: see `Copies`.
        places_of: returns the trial_ids of a study by `place_digest`.
        """
        self._places_of = places_of
        self._leaving: Collection[Trial] = ()
        self._at_paths: Mapping[str, list[Trial]] = {}
        self.placed: dict[tuple[Trial, str], tuple[str, str]] = {}
        self._sources_of = sources_of
        self.copies = Copies(sources_of, places_of)
        self._store = store
        self._withdrawn = withdrawn or {}
        self.files = files
        self._studies = self._small_table("studies")
        self._columns: dict[str, dict[Study, Any]] = {}
        self._trials: dict[Study, _Trials] = {}

    def studies(self, column: str) -> Mapping[Study, Any]:
        """Return a column of `studies` by study."""
        if column not in self._columns:
            self._columns[column] = column_by_study(self._studies, column)
        return self._columns[column]

    def look_up(self, runs: Sequence[PlacedRun], source: str, place: str) -> None:
        """Prepare `number` for these runs."""
        self.copies.look_up(runs, self._table, source, place)
        paths = pl.Series("source", list({run.run for run in runs}), pl.String)
        self._at_paths = defaultdict(list)
        rows = self._table.filter(pl.col("source").is_in(paths.implode())).select(*STUDY_KEYS, "trial_id", "source")
        for row in rows.iter_rows(named=True):
            self._at_paths[row["source"]].append(Trial.of(row))
        self._leaving = {trial for run in runs for trial in self.copies.at(run)}

    def number(self, study: Study, runs: Sequence[PlacedRun], source: str, place: str) -> Numbered:
        """Return the runs of a study from a source with their numbers. place: the source's full path, else its name.

        Runs with the same number are merged if they can be logs of one trial. Of copies, the run that is stored counts,
        else the first in the natural order of their paths. What logs gave stays when a bundle has it, too, and a stored
        trial when the mapping gives its number to another run. Withdrawn runs, which will be left out, are numbered
        last and get no place.
        """
        trials, result = self._of(study), Numbered()
        stored = {run.run: trials.stored_as(run, source, place) for run in runs}
        own = set(stored.values())
        may_be_withdrawn = runs if trials.withdrawn.trials else ()
        withdrawn = {run.run for run in may_be_withdrawn if trials.is_withdrawn(run, source, place)}

        def order(run: PlacedRun) -> tuple[bool, bool, bool, list[tuple[int, int | str]]]:
            known = trials.known(run, source, place)
            is_replacing = known in own and stored[run.run] != known
            return known is None, run.run in withdrawn, is_replacing, _natural_order(run.run)

        for run in sorted(runs, key=order):
            known = trials.known(run, source, place)
            trial = Trial(study, known if known is not None else trials.next_for(run))
            is_logged = trial.trial_id in trials.content and set(trials.sources) != {BUNDLE}
            if source == BUNDLE and (is_logged or self.copies.has_log(run)):
                result.logged.append(run)
                continue
            first = self.copies.first(run, trial, self.is_offered)
            if first is not None:
                self.copies.move(run, first.trial)
                result.copies.append((run, first))
                continue
            merged: PlacedRun | None = run
            earlier = result.runs.get(trial.trial_id)
            if trial.trial_id in trials.offered:
                merged = _merge(earlier, run) if earlier is not None else None
            elif source != BUNDLE and trial.trial_id in trials.content and trial.trial_id not in own:
                is_same = trials.is_same(trial.trial_id, run) or trial in self._leaving
                merged = run if is_same else None
            if merged is None:
                result.duplicates.append((run, earlier.run if earlier else trials.path_of(trial.trial_id)))
                continue
            trials.offer(trial.trial_id)
            result.runs[trial.trial_id] = merged
            if run.run not in withdrawn:
                self._place(trial, run, source, place)
            if self.copies.add(run, trial, self.is_offered):
                result.equal.append(run)
            if trial.trial_id not in trials.content and self._was_elsewhere(run, source, place):
                result.elsewhere.append(run)
        result.runs = dict(sorted(result.runs.items()))
        return result

    def _was_elsewhere(self, run: PlacedRun, source: str, place: str) -> bool:
        """Return True if a stored trial of another study, which stays, was read from the place of a run."""
        digest = place_digest(place, run.run)
        return any(
            trial.study != run.study
            and trial not in self.copies.moved
            and not self.is_offered(trial)
            and self._places_of(trial.study).get(digest) == trial.trial_id
            for trial in self._at_paths.get(run.run, ())
        )

    def _place(self, trial: Trial, run: PlacedRun, source: str, place: str) -> None:
        """Record the place of a trial's run, unless it is known."""
        digest = place_digest(place, run.run)
        if source != BUNDLE and self._of(trial.study).places.get(digest) != trial.trial_id:
            self.placed[trial, digest] = (source, run.run)

    def moved(self) -> dict[Trial, Move]:
        """Return the stored trials whose runs are now other trials, also if runs of other places have their numbers."""
        taken = {trial for trial, _ in self.placed if not self.copies.stays(trial)}
        moved = self.copies.moved.items()
        return {trial: move for trial, move in moved if trial in taken or not self.is_offered(trial)}

    def is_offered(self, trial: Trial) -> bool:
        """Return True if this ingest offers the trial."""
        return trial.study in self._trials and trial.trial_id in self._trials[trial.study].offered

    def has_bytes(self, trial: Trial, sha256: str) -> bool:
        """Return True if the trial is stored, from a log of these bytes."""
        return self._of(trial.study).has_bytes(trial.trial_id, sha256)

    def content(self, study: Study) -> Mapping[int, str]:
        """Return the content digest of each stored trial of a study."""
        return self._of(study).content

    def _of(self, study: Study) -> _Trials:
        if study not in self._trials:
            trials = self._trials[study] = _Trials(
                withdrawn=self._withdrawn.get(study, Withdrawn()), others=self.copies.other_runs
            )
            if study in self.studies("n_trials") or study in self._withdrawn:
                trials.sources, trials.places = self._sources_of(study), self._places_of(study)
                condition = [pl.col(key) == value for key, value in study.key().items()]
                rows = self._table.filter(*condition).select("trial_id", "source", "source_sha256", "content_digest")
                for trial_id, source, sha256, content in rows.iter_rows():
                    trials.by_run.setdefault(source, []).append(trial_id)
                    trials.logs[trial_id] = Log(trial_id, sha256, source)
                    trials.content[trial_id] = content
            withdrawn = [each.trial.trial_id for each in trials.withdrawn.trials]
            trials.highest = max([0, *trials.content, *trials.places.values(), *withdrawn])
            for log in trials.logs.values():
                trials.by_name.setdefault((log.sha256, _last_part(log.run)), []).append(log)
        return self._trials[study]

    @cached_property
    def _table(self) -> pl.DataFrame:
        return pl.DataFrame(self._small_table("trials"))

    def _small_table(self, name: str) -> pa.Table:
        if self._store is None:
            return TABLES[name].empty_table()
        return read_small_table(self._store, self.files, name)


def _full(source: str, run: str) -> str:
    """Return the path of a run in a source, without what leads to it from elsewhere."""
    return _LEADING.sub("", normpath(f"{source}/{run}"), count=1)


def _last_part(path: str) -> str:
    """Return what the equal paths of `is_same_path` always share, so that few are compared."""
    return path.rpartition("/")[2]


def _natural_order(text: str) -> list[tuple[int, int | str]]:
    """Return a sort key that puts `result_2` before `result_10`."""
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in _DIGITS.split(text)]


def _merge(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Merge two runs of one trial under the first one's name; None if they can't be logs of the same trial.

    They can't if a metric occurs in both, if their status or a common metaparameter differs, or if together they are
    too large. Attributes that differ
    describe the logs and not the trial: they are dropped.
    """
    differ = any(second.parameters.get(name, value) != value for name, value in first.parameters.items())
    if differ or first.curve.values.keys() & second.curve.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    try:
        curve = on_common_steps(_measured(first.curve) | _measured(second.curve))
    except Refusal:
        return None
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes={name: text for name, text in attributes.items() if second.attributes.get(name, text) == text},
        curve=curve,
        files={**second.files, **first.files},
        contributors=tuple(dict.fromkeys((*first.contributors, *second.contributors))),
    )


def _measured(curve: Curves) -> dict[str, Measured]:
    """Return each metric of a curve at the steps at which it was measured."""
    elapsed = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    measured: dict[str, Measured] = {}
    for metric, values in curve.values.items():
        missing = curve.missing.get(metric)
        rows = ~missing if missing is not None else slice(None)
        measured[metric] = (curve.steps[rows], values[rows], elapsed[rows])
    return measured
