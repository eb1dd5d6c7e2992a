"""The sources of an ingest become changes of studies: each is read, and an engine converts its parts.

A faulty source never deletes stored trials: those that it lacks because of a fault are carried over into the next
version of their study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

import pyarrow as pa
import pyarrow.compute as pc

from losslake.lake.data_files import WrittenFile, read_small_table
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Progress, Quarantined, SourceReport
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.contracts.study import StudyPart, source_digest
from losslake_ingest.pipeline.copies import Move
from losslake_ingest.pipeline.engine import Engine, Outcome, Task, WrittenPart, carried_part
from losslake_ingest.pipeline.gather import RunsPart, Stored
from losslake_ingest.pipeline.publish import StudyChange, discard
from losslake_ingest.pipeline.reading import Reading
from losslake_ingest.sources.member import Source
from losslake_schema.contributors import Contributor
from losslake_schema.names import Study, Trial
from losslake_schema.registry import CollectionMetadata, Direction, Goal

SECONDS_BETWEEN_REPORTS = 0.1
# Bytes of memory for what an ingest has to know until it publishes, estimated from the figures below.
MOST_KEPT = 400 * 2**20
_PER_PART, _PER_TRIAL, _PER_QUARANTINED = 16_000, 1_200, 3_000
MOST_STRAYS = 10_000
TOO_MUCH = (
    "it holds too many trials or faults for one ingest: run the same command again, and split it if that adds nothing"
)


@dataclass
class Offer:
    """The content of one source: changes by study, studies that are stored already, and quarantined items.

    kept: the approximate memory of all that, in bytes. strays, unlisted: the numbers, by rule, of quarantined files
    outside of any study, and of those that aren't listed. n_trials: by study, stored or not; empty if is_recalled.
    is_recalled: remembered from an earlier ingest, not read. contributors: named by the offer, by trial, and by study
    for all of its trials.
    is_certain: the source wasn't modified while it was read, so its SHA-256 is that of the bytes read.
    """

    source: Source
    report: SourceReport
    collections: Mapping[str, CollectionMetadata] = field(default_factory=dict)
    goals: Sequence[Goal] = ()
    directions: Collection[tuple[str, Direction]] = ()
    sha256: str | None = None
    changes: dict[Study, StudyChange] = field(default_factory=dict)
    unchanged: dict[Study, str] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: str | None = None
    is_recalled: bool = False
    is_certain: bool = False
    kept: int = 0
    strays: Counter[str] = field(default_factory=Counter)
    unlisted: Counter[str] = field(default_factory=Counter)
    n_trials: Counter[Study] = field(default_factory=Counter)
    contributors: dict[Study | Trial, tuple[Contributor, ...]] = field(default_factory=dict)

    @property
    def studies(self) -> set[str]:
        """The names of all studies in the source, stored or not."""
        of_quarantined = {quarantined.study for quarantined in self.quarantined if quarantined.study is not None}
        return {str(study) for study in (*self.changes, *self.unchanged)} | of_quarantined

    @property
    def written(self) -> list[WrittenFile]:
        """The data files written for the offer."""
        return [written for change in self.changes.values() for written in change.written]

    @property
    def public_name(self) -> str:
        """The name of the source in releases: no folder of this machine, but the SHA-256 if it is one file."""
        path = self.source.path
        local = path.name if path.name not in ("", "..") else path.resolve().name
        name = self.source.name if self.source.is_streamed else local
        return f"{name}@sha256:{self.sha256}" if self.sha256 is not None and self.is_certain else name

    def verify(self) -> None:
        """Raise SourceBroken if a streamed source doesn't have the expected SHA-256, or a bundle has any fault."""
        if self.source.is_streamed and not self.is_recalled:
            self.sha256 = self.source.sha256()
        if self.source.is_bundle and self.broken is not None:
            raise SourceBroken(f"{self.broken}; nothing of it was stored")

    def add(self, part: StudyPart, outcome: Outcome) -> None:
        """Add the outcome of a part."""
        result = outcome.result
        if isinstance(result, Quarantined):
            self.quarantine([result])
            return
        self.n_trials[part.study] += part.n_trials
        if isinstance(part, RunsPart):
            named = ((number, run.contributors) for number, run in part.runs.items())
            self.contributors |= {Trial(part.study, number): each for number, each in named if each}
        if result is None:
            self.unchanged[part.study] = source_digest(part.reader_version, outcome.files)
            self.quarantine(outcome.quarantined_again)
            return
        size = len(result.packed) + len(result.facts.parameter_configs)
        self.kept += _PER_PART + _PER_TRIAL * part.n_trials + size
        if part.study not in self.changes:
            adds = isinstance(part, RunsPart)
            self.changes[part.study] = StudyChange(part.study, part.format, part.reader_version, adds)
        change = self.changes[part.study]
        change.parts.append(result)
        change.source_files.update(outcome.files)
        self.quarantine(result.quarantined)

    def quarantine(self, items: Iterable[Quarantined]) -> None:
        """Add quarantined items; files outside of any study beyond the first MOST_STRAYS are only counted."""
        for item in items:
            if item.study is None:
                self.strays[item.rule] += 1
                if self.strays.total() > MOST_STRAYS:
                    self.unlisted[item.rule] += 1
                    continue
            self.quarantined.append(item)
            self.kept += _PER_QUARANTINED + 2 * len(item.path)

    def count_unlisted(self) -> None:
        """Add an item for each rule that says how many more files break it."""
        for rule, count in self.unlisted.items():
            self.quarantined.append(Quarantined(self.source.name, "…", rule, f"{count:,} more files break this rule"))


def ingest_source(engine: Engine, reading: Reading, progress: Progress) -> Offer:
    """Read a source to its end or break, and convert its parts; parts that are stored already are skipped."""
    source = reading.source
    offer = Offer(source, reading.report())
    progress.begin(source.name, source.total_bytes)
    done = Counter[str]()
    with ThreadPoolExecutor(1, "fingerprint") as pool, _reporting(source, progress, done):
        fingerprint = pool.submit(source.sha256) if not source.is_streamed else None
        tasks = (_task(part, reading.stored) for part in _parts(offer, reading))
        for part, outcome in engine.convert(tasks, source.uses_all_cores):
            done["trials"] += part.n_trials
            if isinstance(outcome.result, WrittenPart):
                done["evaluations"] += sum(outcome.result.trials["n_evaluations"].to_pylist())
            offer.add(part, outcome)
        offer.sha256 = fingerprint.result() if fingerprint else None
    offer.count_unlisted()
    offer.is_certain = source.is_unchanged()
    offer.report, offer.collections = reading.report(), reading.collections
    offer.goals, offer.directions = tuple(reading.goals), tuple(reading.directions)
    offer.contributors |= reading.contributors
    return offer


def _parts(offer: Offer, reading: Reading) -> Iterator[StudyPart]:
    """Yield the parts of a source up to its end or break; add quarantined items to the offer."""
    try:
        for item in reading.items():
            if isinstance(item, Quarantined):
                offer.quarantine([item])
            else:
                yield item
            if offer.kept > MOST_KEPT:
                raise SourceBroken(TOO_MUCH)
    except SourceBroken as error:
        offer.broken = f"{offer.source.name}: {error}"


def _task(part: StudyPart, stored: Stored) -> Task:
    """Return the task to convert a part, with the stored state of its study."""
    digest = stored.studies("source_digest").get(part.study)
    content = stored.content(part.study) if isinstance(part, RunsPart) and digest is not None else {}
    return Task(part, digest, bool(stored.studies("n_quarantined").get(part.study)), content)


@contextmanager
def _reporting(source: Source, progress: Progress, done: Counter[str]) -> Iterator[None]:
    """Report the progress of reading a source every SECONDS_BETWEEN_REPORTS, however long a single study takes.

    done: the numbers of trials and evaluations that are converted so far.
    """
    has_ended = Event()

    def report() -> None:
        # A reader may look at the beginning before it reads all.
        most = 0
        while not has_ended.wait(SECONDS_BETWEEN_REPORTS):
            most = max(most, source.position())
            progress.advance(most, done["trials"], done["evaluations"])

    with ThreadPoolExecutor(1, "progress") as pool:
        reports = pool.submit(report)
        try:
            yield
        finally:
            has_ended.set()
        reports.result()
    progress.advance(source.total_bytes or source.position(), done["trials"], done["evaluations"])


def merge_offers(
    store: Store, stored: Stored, offers: Sequence[Offer], moved: Collection[Trial] = ()
) -> dict[Study, StudyChange]:
    """Return the changes of all offers; if several offer the same study, the last one wins.

    An offered study replaces the stored one. But a stored trial is kept if its new version is quarantined, or if a
    broken source ended before it. Single runs are added to the stored ones, except those that moved.
    """
    changes: dict[Study, StudyChange] = {}
    can_carry: dict[Study, set[int] | None] = {}  # stored trials to keep if they aren't offered; None: all
    for offer in offers:
        refused_in: dict[str | None, set[int]] = {}
        for each in offer.quarantined:
            if each.trial_id is not None:
                refused_in.setdefault(each.study, set()).add(each.trial_id)
        for study, change in offer.changes.items():
            change.source = offer.public_name
            earlier = changes.get(study)
            if earlier is not None and earlier.adds and change.adds:
                change.parts[:0] = earlier.parts
                change.source_files = {**earlier.source_files, **change.source_files}
            elif earlier is not None:
                discard(store, earlier.written)
            refused = refused_in.get(str(study), set())
            change.n_quarantined = len(refused - change.trial_ids)
            if offer.broken is not None and study in stored.studies("source_digest"):
                change.source_files["(the source broke off)"] = ""
            is_incomplete = change.adds or offer.broken is not None or study in offer.unchanged
            can_carry[study] = None if is_incomplete else refused
            changes[study] = change
    for study, change in changes.items():
        if study in stored.studies("source_digest"):
            gone = change.trial_ids | {trial.trial_id for trial in moved if trial.study == study}
            _carry_over(store, stored.files, change, can_carry[study], gone)
    for study in [study for study, change in changes.items() if not change.trial_ids]:
        discard(store, changes.pop(study).written)
    return changes


def _carry_over(
    store: Store, files: Sequence[DataFile], change: StudyChange, can_carry: set[int] | None, gone: Collection[int]
) -> None:
    """Rewrite the stored trials in `can_carry` (None: all) that aren't gone, as a part of the changed study."""
    table = read_small_table(store, files, "trials")
    condition = ~pc.field("trial_id").isin(pa.array(sorted(gone), pa.int64()))
    if can_carry is not None:
        condition &= pc.field("trial_id").isin(pa.array(sorted(can_carry), pa.int64()))
    for key, value in change.study.key().items():
        condition &= pc.field(key) == value
    trials = table.filter(condition).sort_by("trial_id")
    if trials.num_rows:
        of_study = [file for file in files if file.study == change.study]
        change.parts.append(carried_part(store, change.parts[0].facts, trials, of_study))


def moves_of(stored: Stored, offers: Sequence[Offer]) -> dict[Trial, Move]:
    """Return the stored trials that move: what takes their place is offered, and neither withdrawn nor refused."""
    offered = {study: change.trial_ids for offer in offers for study, change in offer.changes.items()}
    return {
        trial: move
        for trial, move in stored.moved().items()
        if move.to.trial_id in offered.get(move.to.study, set()) | stored.content(move.to.study).keys()
    }
