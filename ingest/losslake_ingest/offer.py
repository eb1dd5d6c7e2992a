"""Taking in one source: its parts are converted by an engine, and come together as changes to studies."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa

from losslake.lake.data_files import Written, studies_in
from losslake_ingest.changes import StudyChange, WrittenPart
from losslake_ingest.engine import Converted, Engine, Known, Task
from losslake_ingest.gather import RunsPart
from losslake_ingest.numbers import TrialNumbers
from losslake_ingest.reading import SourceReading, source_report
from losslake_ingest.report import Progress, Quarantined, SourceReport
from losslake_ingest.rules import SourceBroken
from losslake_ingest.sources.member import Source
from losslake_ingest.study import StudyPart, source_digest
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal

SECONDS_BETWEEN_REPORTS = 0.1


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


def take_in(engine: Engine, reading: SourceReading, stored: Stored, progress: Progress) -> Offer:
    """Read a source to its end, or to where it breaks; a study offered with the same bytes again is not converted."""
    source = reading.source
    offer = Offer(source, source_report(reading))
    progress.begin(source.name, source.total_bytes)
    meter = _Meter(source, progress)
    with ThreadPoolExecutor(1, "fingerprint") as pool:
        fingerprint = pool.submit(source.sha256) if not source.is_streamed else None
        tasks = (Task(part, stored.of(part)) for part in _parts(offer, reading))
        for done in engine.converted(tasks, reading.source.takes_all_cores):
            _add(offer, done)
            meter.add(done)
        offer.sha256 = fingerprint.result() if fingerprint else None
    meter.finish()
    offer.is_certain = source.is_as_opened()
    offer.report, offer.collections, offer.goals = source_report(reading), reading.collections, tuple(reading.goals)
    return offer


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


class Stored:
    """What the newest release holds, as far as it tells whether a part brings anything new.

    studies: the release's table `studies`.
    """

    def __init__(self, studies: pa.Table, numbers: TrialNumbers) -> None:
        self.source_digests = studies_in(studies, "source_digest")
        self._n_quarantined = studies_in(studies, "n_quarantined")
        self._numbers = numbers

    def of(self, part: StudyPart) -> Known:
        """What it holds of a part's study."""
        study = part.study
        content = self._numbers.content(study) if isinstance(part, RunsPart) and study in self.source_digests else {}
        return Known(self.source_digests.get(study), bool(self._n_quarantined.get(study)), content)


def _add(offer: Offer, done: Converted) -> None:
    part, outcome = done.part, done.outcome
    if isinstance(outcome.result, Quarantined):
        offer.quarantined.append(outcome.result)
        return
    if outcome.result is None:
        offer.unchanged[part.study] = source_digest(part.reader_version, outcome.files)
        offer.quarantined.extend(outcome.quarantined_again)
        return
    change = offer.changes.setdefault(
        part.study,
        StudyChange(part.study, offer.source.name, part.format, part.reader_version, isinstance(part, RunsPart)),
    )
    change.parts.append(outcome.result)
    change.source_files.update(outcome.files)
    offer.quarantined.extend(outcome.result.quarantined)


class _Meter:
    """Tells a Progress how far the source has been read, not too often."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self._source = source
        self._progress = progress
        self._trials = 0
        self._evaluations = 0
        self._reported = 0.0

    def add(self, done: Converted) -> None:
        self._trials += done.part.n_trials
        result = done.outcome.result
        if isinstance(result, WrittenPart):
            self._evaluations += sum(result.trials["n_evaluations"].to_pylist())
        if time.monotonic() - self._reported > SECONDS_BETWEEN_REPORTS:
            self._report(self._source.position())

    def finish(self) -> None:
        self._report(self._source.total_bytes or self._source.position())

    def _report(self, position: int) -> None:
        self._reported = time.monotonic()
        self._progress.advance(position, self._trials, self._evaluations)
