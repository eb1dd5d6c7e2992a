"""Grouping of runs, which come in any order, into parts of studies with numbered trials.

Trials whose logs give no number get one: a stored run keeps its number, a new one gets the next free number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa

from losslake.lake.data_files import column_by_study, files_by_study, read_small_table
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.study import (
    Curves,
    LoadedPart,
    RunDigests,
    StudyFacts,
    TrialFacts,
    concatenate,
)
from losslake_ingest.mapping.place import PlacedRun, merged_run
from losslake_ingest.pipeline.copies import (
    BUNDLE,
    Candidate,
    Copies,
    Move,
    Order,
    natural_order,
    place_digest,
    round_of,
)
from losslake_ingest.pipeline.same_runs import SameRuns
from losslake_ingest.pipeline.stored_curves import stored_curves
from losslake_ingest.pipeline.study_trials import Log, StudyTrials, Withdrawn, last_part
from losslake_ingest.pipeline.trial_rows import TRIAL_KEYS, key_of
from losslake_schema.names import Study, Trial
from losslake_schema.tables import ALL_TABLES

LARGEST_PENDING = 256 * 2**20  # of memory to convert it
_PER_RUN = 8000
EQUAL_BYTES = (
    "run with the same bytes as another, but different facts (workload, batch size or metaparameters): both are kept"
)
ELSEWHERE = (
    "log that was a trial of another study when it was read from here before: both are kept, and 'losslake withdraw' "
    "takes the former one out if its mapping was wrong"
)
SAME_BYTES = (
    "a copy of {run}, which is trial {trial}: equal bytes and facts count once; if it is another run, store under "
    "[parameters] what tells them apart"
)
SAME_RUN = "the run of {run}, which is trial {trial}, once more: equal values, steps and times count once"
SAME_CURVE = (
    "the run of {run}, which is trial {trial}, in another log: equal values at equal steps count once; if the run was "
    'repeated, with one seed, add to the mapping: repeats = "keep"   # under [run]; it keeps both'
)
_COPIES = {"bytes": SAME_BYTES, "times": SAME_RUN, "curve": SAME_CURVE}
OTHER_FACTS = "run with the curve of another trial of its study, but other metaparameters: both are stored"
LOGGED = "trial of a bundle whose log was ingested: the trial from the log is kept"


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
        trials = [run.as_trial(number) for number, run in self.runs.items()]
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
                message = _COPIES[first.equal].format(run=first.run, trial=first.trial)
                yield self._quarantined(run, Rule.DUPLICATE_SOURCE, message, first.trial.study)
            for remark, run in numbered.remarks:
                self._remark(remark, run.run)
            if numbered.runs:
                yield RunsPart(study, runs[0].facts, self._name, numbered.runs)
        self._pending, self._size = {}, 0

    def _quarantined(self, run: PlacedRun, rule: Rule, message: str, study: Study | None = None) -> Quarantined:
        return Quarantined(self._source, run.run, rule, message, None, str(study or run.study), None, run.sha256)


def _size_of(curve: Curves) -> int:
    """Return the bytes that it takes to convert a curve."""
    arrays = [curve.steps, curve.steps, *curve.values.values(), *curve.missing.values()]
    return _PER_RUN + 80 * len(curve.steps) + 2 * sum(array.nbytes for array in arrays)


@dataclass
class Numbered:
    """The runs of a study by trial number, ascending, and those that aren't stored.

    duplicates: their number is in use, by the run beside them. copies: with the trial that counts. remarks: with the
    run that each is about.
    """

    runs: dict[int, PlacedRun] = field(default_factory=dict)
    duplicates: list[tuple[PlacedRun, str]] = field(default_factory=list)
    copies: list[tuple[PlacedRun, Candidate]] = field(default_factory=list)
    remarks: list[tuple[str, PlacedRun]] = field(default_factory=list)


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
        sources_of: Callable[[Study], Collection[str]] = lambda _: (),
        places_of: Callable[[Study], Mapping[str, int]] = lambda _: {},
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
        self.withdrawn = withdrawn or {}
        self.files = files
        self._studies = self.table("studies")
        self._columns: dict[str, dict[Study, Any]] = {}
        self._trials: dict[Study, StudyTrials] = {}
        self._same_runs: dict[Study, SameRuns] = {}

    def studies(self, column: str) -> Mapping[Study, Any]:
        """Return a column of `studies` by study."""
        if column not in self._columns:
            self._columns[column] = column_by_study(self._studies, column)
        return self._columns[column]

    def look_up(self, runs: Sequence[PlacedRun], source: str, place: str) -> None:
        """Prepare `number` for these runs."""
        self.copies.look_up(runs, self._table, self._copies, source, place)
        paths = pl.Series("source", list({run.run for run in runs}), pl.String)
        self._at_paths = defaultdict(list)
        rows = self._table.filter(pl.col("source").is_in(paths.implode())).select(*TRIAL_KEYS, "source")
        for row in rows.iter_rows(named=True):
            self._at_paths[row["source"]].append(Trial.of(row))
        self._leaving = {trial for run in runs for trial in self.copies.at(run)}

    def number(self, study: Study, runs: Sequence[PlacedRun], source: str, place: str) -> Numbered:
        """Return the runs of a study from a source with their numbers. place: the source's full path, else its name.

        Runs with the same number are merged if they can be logs of one trial. Of copies, the run that is stored counts
        unless another is of an earlier round, else that of the earliest round, then the first path. What logs gave
        stays when a bundle has it, too, and a stored trial when the mapping gives its number to another run. Withdrawn
        runs, which will be left out, are numbered last and get no place.
        """
        trials, same_runs, result = self._of(study), self._same_runs_of(study), Numbered()
        same_runs.expect(runs)
        stored = {run.run: trials.stored_as(run, source, place) for run in runs}
        stored_numbers = set(stored.values())
        withdrawn = {run.run for run in runs if trials.withdrawn.trials and trials.is_withdrawn(run, source, place)}

        def order(run: PlacedRun) -> tuple[bool, bool, bool, Order, Order]:
            number = trials.number_of(run, source, place)
            is_replacing = number in stored_numbers and stored[run.run] != number
            return number is None, run.run in withdrawn, is_replacing, round_of(run.attributes), natural_order(run.run)

        for run in sorted(runs, key=order):
            number = trials.number_of(run, source, place)
            trial = Trial(study, number if number is not None else trials.next_for(run))
            is_logged = trial.trial_id in trials.content and set(trials.sources) != {BUNDLE}
            if source == BUNDLE and (is_logged or self.copies.has_log(run)):
                result.remarks.append((LOGGED, run))
                if trials.has_bytes(trial.trial_id, run.sha256):
                    self.copies.add_listed(run, trial)
                continue
            digests = same_runs.digests(run, source) if run.run not in withdrawn else RunDigests()
            first = self.copies.first(run, trial, self.is_offered) or same_runs.find(run, trial.trial_id, digests)
            if first is not None and not self._is_earlier(run, first, result, source):
                self._add_copy(run, first, result, place)
                continue
            trial = first.trial if first is not None else trial
            earlier = result.runs.get(trial.trial_id)
            if first is not None:
                self._replace(first, earlier, run, result)
            can_be_other = source == BUNDLE or trial.trial_id in stored_numbers
            merged = run if first is not None else self._merged(trial, earlier, run, can_be_other)
            if merged is None:
                result.duplicates.append((run, earlier.run if earlier else trials.path_of(trial.trial_id)))
                continue
            result.runs[trial.trial_id] = merged
            if run.run not in withdrawn:
                self._place(trial, run, source, place)
            result.remarks += ((remark, run) for remark in self._offer(trial, run, digests, place))
        result.runs = dict(sorted(result.runs.items()))
        return result

    def _add_copy(self, run: PlacedRun, first: Candidate, result: Numbered, place: str) -> None:
        """Record a run as a copy of a trial. If it was a trial before its log grew to that curve, that trial moves."""
        self.copies.add_copy(run, first)
        result.copies.append((run, first))
        former = Trial(run.study, self._of(run.study).places.get(place_digest(place, run.run), -1))
        if former.trial_id in self.content(run.study) and former != first.trial and first.equal != "bytes":
            self.copies.move_trial(former, first.trial, run.log)

    def _offer(self, trial: Trial, run: PlacedRun, digests: RunDigests, place: str) -> Iterator[str]:
        """Record that this ingest has a trial, of which a run is a log; yield remarks on that."""
        if self._same_runs_of(trial.study).offer(trial, run, digests):
            yield OTHER_FACTS
        trials = self._of(trial.study)
        trials.offer(trial.trial_id)
        if self.copies.add(run, trial, self.is_offered):
            yield EQUAL_BYTES
        if trial.trial_id not in trials.content and self._was_elsewhere(run, place):
            yield ELSEWHERE

    def _merged(self, trial: Trial, earlier: PlacedRun | None, run: PlacedRun, can_be_other: bool) -> PlacedRun | None:
        """Return a run as a trial, merged with the earlier log of it; None if they are of different trials.

        can_be_other: the stored trial of that number may have had another log.
        """
        trials = self._of(trial.study)
        if trial.trial_id in trials.offered:
            return merged_run(earlier, run) if earlier is not None else None
        is_new = can_be_other or trial.trial_id not in trials.content
        return run if is_new or trials.is_same(trial.trial_id, run) or trial in self._leaving else None

    def _same_runs_of(self, study: Study) -> SameRuns:
        """Return the trials of a study by their curves."""

        def curves(numbers: Collection[int]) -> Curves:
            assert self._store is not None
            return stored_curves(self._store, self._files_by_study[study], numbers)

        def is_gone(number: int) -> bool:
            return self.is_offered(Trial(study, number)) or Trial(study, number) in self.copies.moved

        if study not in self._same_runs:
            trials, row_of = self._of(study), lambda number: self._row(Trial(study, number))
            self._same_runs[study] = SameRuns(trials, curves, row_of, is_gone)
        return self._same_runs[study]

    def _is_earlier(self, run: PlacedRun, first: Candidate, result: Numbered, source: str) -> bool:
        """Return True if a run is of an earlier round than the trial that it is a copy of, and takes its place."""
        of_run = round_of(run.attributes)
        is_open = first.trial.trial_id in result.runs or not self.is_offered(first.trial)
        return source != BUNDLE and run.study == first.trial.study and is_open and () != of_run < first.round

    def _replace(self, first: Candidate, earlier: PlacedRun | None, run: PlacedRun, result: Numbered) -> None:
        """Make a run the log of a trial, and its former one a copy: `earlier`, of this ingest, or the stored one."""
        trial = first.trial
        if earlier is not None:
            first = Candidate(trial, run.run, b"", (), equal=first.equal)
            self.copies.add_copy(earlier, first)
            result.copies.append((earlier, first))
        else:
            self.copies.offered.setdefault(trial, []).append(TrialFacts.of(self._row(trial)))

    def _row(self, trial: Trial) -> dict[str, Any]:
        """Return the row of a stored trial."""
        condition = pl.all_horizontal(pl.col(key) == value for key, value in key_of(trial).items())
        return self._table.row(by_predicate=condition, named=True)

    def _was_elsewhere(self, run: PlacedRun, place: str) -> bool:
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

    def _of(self, study: Study) -> StudyTrials:
        if study not in self._trials:
            trials = self._trials[study] = StudyTrials(
                withdrawn=self.withdrawn.get(study, Withdrawn()), others=self.copies.other_runs
            )
            if study in self.studies("n_trials") or study in self.withdrawn:
                trials.sources, trials.places = self._sources_of(study), self._places_of(study)
                condition = [pl.col(key) == value for key, value in study.key().items()]
                columns = ("trial_id", "source_sha256", "source", "n_evaluations", "last_step", "content_digest")
                for *facts, content in self._table.filter(*condition).select(columns).iter_rows():
                    trial_id, _, source, *_ = facts
                    trials.by_run.setdefault(source, []).append(trial_id)
                    trials.logs[trial_id] = Log(*facts)
                    trials.content[trial_id] = content
            withdrawn = [each.trial.trial_id for each in trials.withdrawn.trials]
            trials.highest = max([0, *trials.content, *trials.places.values(), *withdrawn])
            for log in trials.logs.values():
                trials.by_name.setdefault((log.sha256, last_part(log.run)), []).append(log)
        return self._trials[study]

    @cached_property
    def _table(self) -> pl.DataFrame:
        return pl.DataFrame(self.table("trials"))

    @cached_property
    def _copies(self) -> pl.DataFrame:
        return pl.DataFrame(self.table("copies"))

    @cached_property
    def _files_by_study(self) -> Mapping[Study, Sequence[DataFile]]:
        return files_by_study(self.files)

    def table(self, name: str) -> pa.Table:
        """Return a small table of the release."""
        if self._store is None:
            return ALL_TABLES[name].empty_table()
        return read_small_table(self._store, self.files, name)
