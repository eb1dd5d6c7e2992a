"""An ingest: from the paths offered to a published release, its entries in the ledger, and a summary."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from losslake.lake.lake import Lake
from losslake_ingest.engine import Engine, LocalEngine
from losslake_ingest.gather import Stored
from losslake_ingest.memory import Memory, states
from losslake_ingest.offer import Offer, bring_together, ingest_source
from losslake_ingest.publish import Changes, Overtaken, Published, StudyChange, discard, publish
from losslake_ingest.reading import Request, SourceReading
from losslake_ingest.report import Progress, Silence, Summary
from losslake_ingest.rules import SourceBroken
from losslake_ingest.sources.open import Place, open_source
from losslake_schema.database import LedgerEntry
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study

ATTEMPTS = 10
PLAIN = Request()
LONGEST_FORMAT = 64


def ingest(
    lake: Lake,
    paths: Sequence[Place],
    request: Request = PLAIN,
    notes: str = "",
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Summary:
    """Read everything at the paths and publish it as one release; what is stored already is left alone.

    paths: folders, archives, single logs, the URL of a database, or an opened file from elsewhere, of which nothing is
    stored unless all of its bytes came and are those that were promised. A file that was ingested completely before is
    not read again: see `losslake_ingest.memory`. When another ingest adds to the same study first, everything is read
    again on top of its release. Raises, before anything is read, UnknownSource when a path holds nothing that can be
    read, BadMapping or UnknownFormat when the request can't be followed, and LakeBroken when the lake is not in the
    place that its catalog names; raises SourceBroken for a file from elsewhere.
    """
    may_recall = True
    for _ in range(ATTEMPTS):
        try:
            attempt = _Attempt(lake, paths, request, progress or Silence())
            return attempt.publish(engine or LocalEngine(lake.store), notes, may_recall)
        except Overtaken:
            continue
        except _SameStudies:
            may_recall = False
    raise LossLakeError("other ingests kept changing the same studies: run the same command again")


class _SameStudies(Exception):
    """A source that was recalled has studies that another source of the same ingest has, too: all are to be read."""


class _Attempt:
    """An ingest on top of the newest release."""

    def __init__(self, lake: Lake, paths: Sequence[Place], request: Request, progress: Progress) -> None:
        self._started = time.monotonic()
        lake.check_place()
        self._lake = lake
        self._sources = [open_source(path) for path in paths]
        self._request = request
        self._progress = progress
        base = lake.newest_release()
        self._stored = Stored(lake.store, lake.files(base) if base is not None else [])

    def publish(self, engine: Engine, notes: str, may_recall: bool) -> Summary:
        """Publish what the sources bring; raises Overtaken or _SameStudies when it has to be read again."""
        memory = Memory(self._lake, self._request)
        with _no_garbage_collection():
            offers = self._offers(engine, memory, may_recall)
            changes = bring_together(self._lake.store, self._stored, offers)
            published = self._publish(offers, changes, notes)
        for study, change in changes.items():
            if study not in published.studies:
                discard(self._lake.store, change.written)
        before, after = states(self._stored.files), states(published.files)
        changed = {study for study in before.keys() | after.keys() if before.get(study) != after.get(study)}
        doubtful = _shared(offers) | (changed - set(map(str, published.studies)))  # by another ingest
        for offer in offers:
            if not (offer.is_recalled or offer.studies & doubtful):
                memory.remember(offer, changes, after)
        return self._summary(offers, changes, published)

    def _offers(self, engine: Engine, memory: Memory, may_recall: bool) -> list[Offer]:
        """What each source brings: recalled, where it could be, else read. Raises _SameStudies and SourceBroken."""
        offers: list[Offer] = []
        recalled = [memory.recall(source, self._stored.files) if may_recall else None for source in self._sources]
        readings = [
            offer or SourceReading(source, self._request, self._stored)
            for source, offer in zip(self._sources, recalled, strict=True)
        ]
        for reading in readings:
            if isinstance(reading, Offer):
                source = reading.source
                self._progress.begin(source.name, source.total_bytes)
                self._progress.advance(source.total_bytes or 0, self._stored_trials(reading.unchanged), 0)
                offers.append(reading)
            else:
                offers.append(ingest_source(engine, reading, self._progress))
        shared = _shared(offers)
        try:
            if any(offer.is_recalled and offer.studies & shared for offer in offers):
                raise _SameStudies
            for offer in offers:
                offer.verify()
        except (_SameStudies, SourceBroken):
            discard(self._lake.store, [written for offer in offers for written in offer.written])
            raise
        return offers

    def _stored_trials(self, studies: Collection[Study]) -> int:
        return sum(int(self._stored.studies("n_trials").get(study, 0)) for study in studies)

    def _publish(self, offers: Sequence[Offer], changes: Mapping[Study, StudyChange], notes: str) -> Published:
        """Publish the changes; raises Overtaken."""
        self._progress.stage("publishing")
        at = datetime.now(UTC)
        all_changes = Changes(
            changes,
            self._stored.studies("content_digest"),
            {name: facts for offer in offers for name, facts in offer.collections.items()},
            list(dict.fromkeys(goal for offer in offers for goal in offer.goals)),
        )
        try:
            return publish(self._lake, all_changes, lambda new: ledger_entries(offers, at, new), notes)
        except Overtaken:
            discard(self._lake.store, [written for change in changes.values() for written in change.written])
            raise

    def _summary(self, offers: Sequence[Offer], changes: Mapping[Study, StudyChange], published: Published) -> Summary:
        """What became of everything that was offered."""
        newest = published.release or self._lake.newest_release()
        new = [changes[study] for study in published.studies]
        unchanged = ({study for offer in offers for study in offer.unchanged} | set(changes)) - published.studies
        parts = [part for change in new for part in change.parts]
        trials = [part.trials for part in parts if not part.is_carried]
        carried = sum(part.trials.num_rows for part in parts if part.is_carried)
        written = [w.file for part in parts if not part.is_carried for w in part.written]
        return Summary(
            release=newest.number if newest is not None else None,
            published=published.release is not None,
            studies_ingested=len(new),
            studies_unchanged=len(unchanged),
            trials_ingested=sum(table.num_rows for table in trials),
            trials_unchanged=self._stored_trials(unchanged) + carried,
            evaluations=sum(sum(table["n_evaluations"].to_pylist()) for table in trials),
            measurements=sum(file.rows for file in written if file.table == "measurements"),
            nonfinite=sum(sum(table["n_nonfinite"].to_pylist()) for table in trials),
            seconds=time.monotonic() - self._started,
            quarantined=tuple(q for offer in offers for q in offer.quarantined),
            broken=tuple(offer.broken for offer in offers if offer.broken is not None),
            sources=tuple(offer.report for offer in offers),
        )


def ledger_entries(offers: Sequence[Offer], at: datetime, published: Collection[Study]) -> list[LedgerEntry]:
    """Return what became of everything offered, if these studies get published."""
    return [entry for offer in offers for entry in _entries(offer, at, published)]


def _entries(offer: Offer, at: datetime, published: Collection[Study]) -> Iterator[LedgerEntry]:
    """The entries for a source: itself, each study in it, each thing quarantined."""
    source = offer.source.name
    names = ("+".join(offer.report.files) or "unknown")[:LONGEST_FORMAT]

    def entry(path: str, outcome: str, study: str | None, sha256: str | None, **others: object) -> LedgerEntry:
        fields = {"format": names, "study": study, "outcome": outcome} | others
        return LedgerEntry(offered_at=at, source=source, path=path, sha256=sha256, **fields)

    studies = []
    for study, change in offer.changes.items():
        outcome = "ingested" if study in published else "unchanged" if change.trial_ids else "quarantined"
        studies.append(entry(str(study), outcome, str(study), change.source_digest, format=change.format))
    studies += [
        entry(str(s), "unchanged", str(s), digest) for s, digest in offer.unchanged.items() if s not in offer.changes
    ]
    outcomes = {entry.outcome for entry in studies}
    outcome = next((outcome for outcome in ("ingested", "unchanged") if outcome in outcomes), "quarantined")
    yield entry("", outcome, None, offer.sha256, reason=offer.broken)
    yield from studies
    for q in offer.quarantined:
        yield entry(q.path, "quarantined", q.study, q.sha256, rule=q.rule, line=q.line, reason=q.message)


def _shared(offers: Sequence[Offer]) -> set[str]:
    """The studies that several offers say something of."""
    offered = Counter(study for offer in offers for study in offer.studies)
    return {study for study, count in offered.items() if count > 1}


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Hold back the collector of cycles, of which reading makes none, while millions of objects come and go."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
