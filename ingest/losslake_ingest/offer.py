"""Read one source: an engine converts its parts, and they come together as changes to studies."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from losslake.lake.data_files import Written
from losslake_ingest.changes import StudyChange, WrittenPart
from losslake_ingest.engine import Converted, Engine, Outcome, Task
from losslake_ingest.gather import RunsPart, Stored
from losslake_ingest.reading import SourceReading
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

    def verify(self) -> None:
        """Raise SourceBroken when a source's bytes came from elsewhere and are not those that were promised."""
        if self.source.is_streamed and not self.is_recalled:
            self.sha256 = self.source.sha256()

    def add(self, part: StudyPart, outcome: Outcome) -> None:
        """Add what became of a part."""
        result = outcome.result
        if isinstance(result, Quarantined):
            self.quarantined.append(result)
            return
        if result is None:
            self.unchanged[part.study] = source_digest(part.reader_version, outcome.files)
            self.quarantined.extend(outcome.quarantined_again)
            return
        if part.study not in self.changes:
            adds = isinstance(part, RunsPart)
            self.changes[part.study] = StudyChange(part.study, self.source.name, part.format, part.reader_version, adds)
        change = self.changes[part.study]
        change.parts.append(result)
        change.source_files.update(outcome.files)
        self.quarantined.extend(result.quarantined)


def ingest_source(engine: Engine, reading: SourceReading, progress: Progress) -> Offer:
    """Read a source to its end, or to where it breaks; a study offered with the same bytes again is not converted."""
    source = reading.source
    offer = Offer(source, reading.report())
    progress.begin(source.name, source.total_bytes)
    with ThreadPoolExecutor(1, "fingerprint") as pool:
        fingerprint = pool.submit(source.sha256) if not source.is_streamed else None
        tasks = (_task(part, reading.stored) for part in _parts(offer, reading))
        for part, outcome in _reported(engine.converted(tasks, source.takes_all_cores), source, progress):
            offer.add(part, outcome)
        offer.sha256 = fingerprint.result() if fingerprint else None
    offer.is_certain = source.is_as_opened()
    offer.report, offer.collections, offer.goals = reading.report(), reading.collections, tuple(reading.goals)
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


def _task(part: StudyPart, stored: Stored) -> Task:
    """The task to convert a part, on top of what is stored of its study."""
    digest = stored.studies("source_digest").get(part.study)
    content = stored.content(part.study) if isinstance(part, RunsPart) and digest is not None else {}
    return Task(part, digest, bool(stored.studies("n_quarantined").get(part.study)), content)


def _reported(converted: Iterable[Converted], source: Source, progress: Progress) -> Iterator[Converted]:
    """Report to a Progress how far the source has been read, not too often."""
    trials = evaluations = 0
    reported = 0.0
    for part, outcome in converted:
        trials += part.n_trials
        if isinstance(outcome.result, WrittenPart):
            evaluations += sum(outcome.result.trials["n_evaluations"].to_pylist())
        if time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            progress.advance(source.position(), trials, evaluations)
            reported = time.monotonic()
        yield part, outcome
    progress.advance(source.total_bytes or source.position(), trials, evaluations)
