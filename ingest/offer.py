"""Taking in one source: its parts go through conversion on all cores, and come together as changes to studies."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa

from ingest.changes import StudyChange, WrittenPart
from ingest.convert import convert
from ingest.errors import SourceBroken
from ingest.gather import RunsPart
from ingest.numbers import TrialNumbers
from ingest.reading import SourceReading, source_report
from ingest.report import Progress, Quarantined, SourceReport
from ingest.sources.member import Source
from ingest.study import StudyPart, StudyRejected, source_digest, trial_digests
from schema.cores import cores
from schema.data_files import Written, studies_in
from schema.names import Study
from schema.registry import CollectionFacts, Goal
from schema.store.store import Store

SECONDS_BETWEEN_REPORTS = 0.1
_READ_AHEAD = 1 << 26  # bytes, for each core
_MOST_CORES_AHEAD = 8


@dataclass
class Offer:
    """What one source brought: changes by study, studies that are stored already, what was quarantined.

    is_recalled: nothing was read, what it brought is known from the last time. is_certain: nobody wrote to it while it
    was read, so that its sha256 is that of what was read.
    """

    source: Source
    report: SourceReport
    collections: Mapping[str, CollectionFacts] = field(default_factory=dict)
    goals: Sequence[Goal] = ()
    sha256: str | None = None
    changes: dict[Study, StudyChange] = field(default_factory=dict)
    unchanged: dict[Study, str] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: str | None = None
    is_recalled: bool = False
    is_certain: bool = False

    @property
    def studies(self) -> set[str]:
        """Every study that it says something of, stored or not."""
        of_quarantined = {quarantined.study for quarantined in self.quarantined if quarantined.study is not None}
        return {str(study) for study in (*self.changes, *self.unchanged)} | of_quarantined

    @property
    def written(self) -> list[Written]:
        """The data files that were written for it."""
        return [written for change in self.changes.values() for written in change.written]

    def vouch(self) -> None:
        """Raise SourceBroken when a source's bytes came from elsewhere and are not those that were promised."""
        if self.source.is_streamed and not self.is_recalled:
            self.sha256 = self.source.sha256()


@dataclass(frozen=True)
class _Converted:
    """What became of a part: its curves are written, or it is the whole of what is stored already, or was rejected."""

    part: StudyPart
    files: Mapping[str, str]
    result: WrittenPart | Quarantined | None
    quarantined_again: Sequence[Quarantined] = ()


Submit = Callable[[StudyPart], "Future[_Converted]"]


def take_in(store: Store, reading: SourceReading, stored: Stored, progress: Progress) -> Offer:
    """Read a source to its end, or to where it breaks; a study offered with the same bytes again is not converted."""
    source = reading.source
    offer = Offer(source, source_report(reading))
    progress.begin(source.name, source.total_bytes)
    meter = _Meter(source, progress)
    with ThreadPoolExecutor(cores() + 1, "convert") as pool:
        fingerprint = pool.submit(source.sha256) if not source.is_streamed else None
        for done in _converted(store, offer, reading, stored, pool):
            _add(offer, done)
            meter.add(done)
        offer.sha256 = fingerprint.result() if fingerprint else None
    meter.finish()
    offer.is_certain = source.is_as_opened()
    offer.report, offer.collections, offer.goals = source_report(reading), reading.collections, tuple(reading.goals)
    return offer


def _converted(
    store: Store, offer: Offer, reading: SourceReading, stored: Stored, pool: ThreadPoolExecutor
) -> Iterator[_Converted]:
    """The parts of a source in their order, converted by the pool; only some are under way, so memory is bounded."""

    def submit(part: StudyPart) -> Future[_Converted]:
        return pool.submit(_convert, store, part, stored)

    parts = _parts(offer, reading)
    return _in_turns(parts, submit) if reading.source.takes_all_cores else _side_by_side(parts, submit)


def _parts(offer: Offer, reading: SourceReading) -> Iterator[StudyPart]:
    """The parts of a source, to its end or to where it breaks; what is quarantined goes to the offer."""
    try:
        for item in reading.items():
            if isinstance(item, Quarantined):
                offer.quarantined.append(item)
            else:
                yield item
    except SourceBroken as error:
        offer.broken = f"{offer.source.name}: {error}"


def _side_by_side(parts: Iterable[StudyPart], submit: Submit) -> Iterator[_Converted]:
    """Convert while reading goes on."""
    under_way: deque[Future[_Converted]] = deque()
    for part in parts:
        under_way.append(submit(part))
        if len(under_way) > cores() + 1:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _in_turns(parts: Iterable[StudyPart], submit: Submit) -> Iterator[_Converted]:
    """Read some parts, then convert them, and so on, each on all cores.

    Decompression of bzip2 reads megabytes in random order: with conversion beside it on the same cores it finds them
    gone from the caches, and takes half as much CPU time again.
    """
    ahead = min(cores(), _MOST_CORES_AHEAD) * _READ_AHEAD
    some: list[StudyPart] = []
    size = 0
    for part in parts:
        some.append(part)
        size += part.size
        if size > ahead:
            yield from _all_of(some, submit)
            some, size = [], 0
    yield from _all_of(some, submit)


def _all_of(parts: Sequence[StudyPart], submit: Submit) -> Iterator[_Converted]:
    """Convert the largest first, so that the cores end together; results come in the order of the parts."""
    largest_first = sorted(range(len(parts)), key=lambda number: -parts[number].size)
    futures = {number: submit(parts[number]) for number in largest_first}
    yield from (futures[number].result() for number in range(len(parts)))


def _convert(store: Store, part: StudyPart, stored: Stored) -> _Converted:
    files = part.file_digests()
    try:
        if stored.has(part, files):
            return _Converted(part, files, None, part.load().quarantined if stored.lacks_trials_of(part) else ())
        return _Converted(part, files, convert(store, part))
    except StudyRejected as rejection:
        return _Converted(part, files, rejection.reason)


class Stored:
    """What the newest release holds, as far as it tells whether a part brings anything new.

    studies: the release's table `studies`.
    """

    def __init__(self, studies: pa.Table, numbers: TrialNumbers) -> None:
        self.source_digests = studies_in(studies, "source_digest")
        self._n_quarantined = studies_in(studies, "n_quarantined")
        self._numbers = numbers

    def has(self, part: StudyPart, files: Mapping[str, str]) -> bool:
        """Whether all of a part is stored already: by its files, or for single runs by what each trial says."""
        if part.study not in self.source_digests:
            return False
        if not isinstance(part, RunsPart):
            return self.source_digests[part.study] == source_digest(part.reader_version, files)
        content = self._numbers.content(part.study)
        return all(content.get(t) == digest for t, digest in zip(part.runs, trial_digests(part.load()), strict=True))

    def lacks_trials_of(self, part: StudyPart) -> bool:
        """Whether trials of its study were quarantined when it was stored: they are told of again."""
        return not isinstance(part, RunsPart) and bool(self._n_quarantined.get(part.study))


def _add(offer: Offer, done: _Converted) -> None:
    part = done.part
    if isinstance(done.result, Quarantined):
        offer.quarantined.append(done.result)
        return
    if done.result is None:
        offer.unchanged[part.study] = source_digest(part.reader_version, done.files)
        offer.quarantined.extend(done.quarantined_again)
        return
    change = offer.changes.setdefault(
        part.study,
        StudyChange(part.study, offer.source.name, part.format, part.reader_version, isinstance(part, RunsPart)),
    )
    change.parts.append(done.result)
    change.source_files.update(done.files)
    offer.quarantined.extend(done.result.quarantined)


class _Meter:
    """Tells a Progress how far the source has been read, not too often."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self._source = source
        self._progress = progress
        self._trials = 0
        self._evaluations = 0
        self._reported = 0.0

    def add(self, done: _Converted) -> None:
        self._trials += done.part.n_trials
        if isinstance(done.result, WrittenPart):
            self._evaluations += sum(done.result.trials["n_evaluations"].to_pylist())
        if time.monotonic() - self._reported > SECONDS_BETWEEN_REPORTS:
            self._report(self._source.position())

    def finish(self) -> None:
        self._report(self._source.total_bytes or self._source.position())

    def _report(self, position: int) -> None:
        self._reported = time.monotonic()
        self._progress.advance(position, self._trials, self._evaluations)
