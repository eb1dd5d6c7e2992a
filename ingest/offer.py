"""Taking in one source: its parts go through conversion on all cores, and come together as changes to studies."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ingest.changes import StudyChange, WrittenPart
from ingest.convert import convert
from ingest.errors import SourceBroken
from ingest.gather import RunsPart
from ingest.numbers import TrialNumbers
from ingest.reading import SourceReading
from ingest.report import Progress, Quarantined
from ingest.sources.compression import cores
from ingest.sources.member import Source
from ingest.study import StudyPart, StudyRejected, source_digest, trial_digests
from schema.names import Study

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass
class Offer:
    """What one source brought: changes by study, studies that are stored already, what was quarantined."""

    reading: SourceReading
    sha256: str | None = None
    changes: dict[Study, StudyChange] = field(default_factory=dict)
    unchanged: dict[Study, str] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: str | None = None

    @property
    def source(self) -> str:
        return self.reading.source.name

    def vouch(self) -> None:
        """Raise SourceBroken when a source's bytes came from elsewhere and are not those that were promised."""
        if self.reading.source.is_streamed:
            self.sha256 = self.reading.source.sha256()


@dataclass(frozen=True)
class _Converted:
    """What became of a part: its curves are written, or it is the whole of what is stored already, or was rejected."""

    part: StudyPart
    files: Mapping[str, str]
    result: WrittenPart | Quarantined | None


def take_in(
    lake: Path, reading: SourceReading, stored: Mapping[Study, str], numbers: TrialNumbers, progress: Progress
) -> Offer:
    """Read a source to its end, or to where it breaks.

    stored: the source digest of every stored study; a study offered with the same bytes again is not converted.
    """
    offer, source = Offer(reading), reading.source
    progress.begin(source.name, source.total_bytes)
    meter = _Meter(source, progress)
    with ThreadPoolExecutor(cores() + 1, "convert") as pool:
        fingerprint = pool.submit(source.sha256) if not source.is_streamed else None
        for done in _converted(lake, offer, _Stored(stored, numbers), pool):
            _add(offer, done)
            meter.add(done)
        offer.sha256 = fingerprint.result() if fingerprint else None
    meter.finish()
    return offer


def _converted(lake: Path, offer: Offer, stored: _Stored, pool: ThreadPoolExecutor) -> Iterator[_Converted]:
    """The parts of a source in their order, converted by the pool; only a few are under way, so memory is bounded."""
    under_way: deque[Future[_Converted]] = deque()
    try:
        for item in offer.reading.items():
            if isinstance(item, Quarantined):
                offer.quarantined.append(item)
                continue
            under_way.append(pool.submit(_convert, lake, item, stored))
            if len(under_way) > cores() + 1:
                yield under_way.popleft().result()
    except SourceBroken as error:
        offer.broken = f"{offer.source}: {error}"
    while under_way:
        yield under_way.popleft().result()


def _convert(lake: Path, part: StudyPart, stored: _Stored) -> _Converted:
    files = part.file_digests()
    if stored.has(part, files):
        return _Converted(part, files, None)
    try:
        return _Converted(part, files, convert(lake, part))
    except StudyRejected as rejection:
        return _Converted(part, files, rejection.reason)


@dataclass(frozen=True)
class _Stored:
    """What the newest release holds, as far as it tells whether a part brings anything new."""

    source_digests: Mapping[Study, str]
    numbers: TrialNumbers

    def has(self, part: StudyPart, files: Mapping[str, str]) -> bool:
        """Whether all of a part is stored already: by its files, or for single runs by what each trial says."""
        if part.study not in self.source_digests:
            return False
        if not isinstance(part, RunsPart):
            return self.source_digests[part.study] == source_digest(part.reader_version, files)
        content = self.numbers.content(part.study)
        return all(content.get(t) == digest for t, digest in zip(part.runs, trial_digests(part.load()), strict=True))


def _add(offer: Offer, done: _Converted) -> None:
    part = done.part
    if isinstance(done.result, Quarantined):
        offer.quarantined.append(done.result)
        return
    if done.result is None:
        offer.unchanged[part.study] = source_digest(part.reader_version, done.files)
        return
    change = offer.changes.setdefault(
        part.study,
        StudyChange(part.study, offer.source, part.format, part.reader_version, isinstance(part, RunsPart)),
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
