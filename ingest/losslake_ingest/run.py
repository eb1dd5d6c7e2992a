"""An ingest: read the sources, publish a release, write the ledger, and return a summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from losslake.lake.lake import Lake
from losslake.lake.machine import without_collection
from losslake.lake.publishing import Also, Build, PublicationRefused, last_erasure
from losslake_ingest.bundles.reading import reading_of
from losslake_ingest.contracts.report import NoProgress, Progress, Summary, with_unused
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.pipeline.copies import Move
from losslake_ingest.pipeline.directions import DirectionConflict
from losslake_ingest.pipeline.engine import Engine, LocalEngine
from losslake_ingest.pipeline.goals import GoalConflict
from losslake_ingest.pipeline.memory import Memory, states
from losslake_ingest.pipeline.offer import Offer, ingest_source, merge_offers, moves_of
from losslake_ingest.pipeline.publish import Changes, ConcurrentChange, Published, StudyChange, discard, publish
from losslake_ingest.pipeline.reading import Request, open_sources
from losslake_ingest.releases.ledger import MOVED, PLACED, stored_in, trial_entry
from losslake_ingest.releases.withdrawal import leave_out, without_moved
from losslake_ingest.sources.open import Place
from losslake_schema.database import LedgerEntry
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial

ATTEMPTS = 10
DEFAULT_REQUEST = Request()
LONGEST_FORMAT = 64


def ingest(
    lake: Lake,
    paths: Sequence[Place],
    request: Request = DEFAULT_REQUEST,
    notes: str = "",
    progress: Progress | None = None,
    engine: Engine | None = None,
    also: Also | None = None,
    build: Build | None = None,
) -> Summary:
    """Read everything at the paths and publish it as one release. Ingestion is idempotent.

    paths: folders, archives, single logs, the URL of a database, or an opened remote file. Nothing of a remote file is
    published unless it arrived completely with the expected SHA-256; otherwise raises SourceBroken. A file that was
    ingested completely before is skipped: see `losslake_ingest.pipeline.memory`. If another ingest changes the same
    study first, everything is read again on top of its release. Before it reads, raises UnknownSource if a path holds
    nothing readable, BadMapping or UnknownFormat for an invalid request, and LakeBroken if the lake isn't where its
    catalog says. also: makes further changes of the database in the transaction that stores the outcome, or raises
    PublicationRefused, and then nothing is stored. build: called before the release is published.
    """
    can_recall = True
    for _ in range(ATTEMPTS):
        try:
            attempt = _Attempt(lake, paths, request, progress or NoProgress())
            return attempt.publish(engine or LocalEngine(lake.store), notes, can_recall, also, build)
        except ConcurrentChange:
            continue
        except _MustRead:
            can_recall = False
    raise LossLakeError("other ingests kept changing the same studies: run the same command again")


class _MustRead(Exception):
    """A recalled source shares studies with another source of this ingest, or its goals conflict: read every source."""


class _Attempt:
    """An ingest on top of the newest release."""

    def __init__(self, lake: Lake, paths: Sequence[Place], request: Request, progress: Progress) -> None:
        self._started = time.monotonic()
        lake.check_location()
        self._lake = lake
        self._sources = open_sources(paths, request)
        self._request = request
        self._progress = progress
        self._erasure = last_erasure(lake)
        self._stored = stored_in(lake)

    def publish(self, engine: Engine, notes: str, can_recall: bool, also: Also | None, build: Build | None) -> Summary:
        """Publish the sources' changes; raises ConcurrentChange or _MustRead if they have to be read again."""
        memory = Memory(self._lake, self._request)
        with without_collection():  # reading creates millions of objects but no reference cycles
            offers = self._offers(engine, memory, can_recall)
            for offer in offers:
                leave_out(self._lake.store, self._stored, offer)
            moved = moves_of(self._stored, offers)
            leaving = {trial: move for trial, move in moved.items() if not self._stored.is_offered(trial)}
            changes = merge_offers(self._lake.store, self._stored, offers, leaving)
            remaining = without_moved(self._lake.store, self._stored, leaving, changes)
            changes |= remaining.studies
            published = self._publish(offers, changes, remaining.dropped, moved, notes, also, build)
        for study, change in changes.items():
            if study not in published.studies:
                discard(self._lake.store, change.written)
        before, after = states(self._stored.files), states(published.files)
        changed = {study for study in before.keys() | after.keys() if before.get(study) != after.get(study)}
        doubtful = _shared(offers) | (changed - set(map(str, published.studies)))  # by another ingest
        for offer in offers:
            if not (offer.is_recalled or offer.studies & doubtful):
                memory.remember(offer, changes, after)
        return self._summary(offers, changes, published, moved)

    def _offers(self, engine: Engine, memory: Memory, can_recall: bool) -> list[Offer]:
        """Return the offer of each source, recalled if possible, else read. Raises _MustRead and SourceBroken."""
        offers: list[Offer] = []
        readings = [
            (memory.recall(source, self._stored.files) if can_recall else None)
            or reading_of(source, self._request, self._stored)
            for source in self._sources
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
                raise _MustRead
            for offer in offers:
                offer.verify()
        except (_MustRead, SourceBroken):
            discard(self._lake.store, [written for offer in offers for written in offer.written])
            raise
        return offers

    def _stored_trials(self, studies: Collection[Study]) -> int:
        return sum(int(self._stored.studies("n_trials").get(study, 0)) for study in studies)

    def _publish(
        self,
        offers: Sequence[Offer],
        changes: Mapping[Study, StudyChange],
        dropped: frozenset[Study],
        moved: Mapping[Trial, Move],
        notes: str,
        also: Also | None,
        build: Build | None,
    ) -> Published:
        """Publish the changes, or discard what was written for them.

        Raises ConcurrentChange, PublicationRefused, and _MustRead for a conflict with a recalled source.
        """
        self._progress.stage("publishing")
        n_offered = sum((offer.n_trials for offer in offers), Counter[Study]())
        at = datetime.now(UTC)
        all_changes = Changes(
            changes,
            self._stored.studies("content_digest"),
            {name: collection for offer in offers for name, collection in offer.collections.items()},
            list(dict.fromkeys(goal for offer in offers for goal in offer.goals)),
            frozenset(stated for offer in offers for stated in offer.directions),
            dropped,
            frozenset(study for study, count in n_offered.items() if count >= self._stored_trials([study])),
            {of: each for offer in offers for of, each in offer.contributors.items()},
            {trial: move.to for trial, move in moved.items()},
            self._stored.copies,
            self._erasure,
            self._request.stored_facts_stay,
        )

        try:
            entries = partial(_Entries, offers, moved, self._stored.placed, at)
            return publish(self._lake, all_changes, entries, notes, also, build)
        except (ConcurrentChange, DirectionConflict, GoalConflict, PublicationRefused) as conflict:
            discard(self._lake.store, [written for change in changes.values() for written in change.written])
            if isinstance(conflict, GoalConflict) and any(offer.is_recalled for offer in offers):
                raise _MustRead from None
            raise

    def _summary(
        self,
        offers: Sequence[Offer],
        changes: Mapping[Study, StudyChange],
        published: Published,
        moved: Mapping[Trial, Move],
    ) -> Summary:
        """Return the summary of the ingest."""
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
            sources=tuple(with_unused([offer.report for offer in offers])),
            moved={trial: move.to for trial, move in moved.items()},
        )


@dataclass(frozen=True)
class _Entries:
    """The ledger entries of an ingest, made each time they are iterated: there may be a hundred thousand.

    published: the studies that get published.
    """

    offers: Sequence[Offer]
    moved: Mapping[Trial, Move]
    placed: Mapping[tuple[Trial, str], tuple[str, str]]
    at: datetime
    published: Collection[Study]

    def __iter__(self) -> Iterator[LedgerEntry]:
        """Yield the entries of each source, and those of moved trials and of new places."""
        for offer in self.offers:
            yield from self._of(offer)
        for trial, move in self.moved.items():
            reason = f"its log is now {move.to}: the mapping changed, or it copies that trial's log"
            yield trial_entry(trial, move.sha256, MOVED, reason, move.source, self.at, move.to.study)
        for (trial, digest), (source, run) in self.placed.items():
            yield trial_entry(trial, digest, PLACED, run, source, self.at)

    def _of(self, offer: Offer) -> Iterator[LedgerEntry]:
        """Yield the ledger entries of one source: the source, its studies, and its quarantined items."""
        source = offer.source.name
        names = ("+".join(offer.report.files) or "unknown")[:LONGEST_FORMAT]

        def entry(path: str, outcome: str, study: str | None, sha256: str | None, **others: object) -> LedgerEntry:
            fields = {"format": names, "study": study, "outcome": outcome} | others
            return LedgerEntry(offered_at=self.at, source=source, path=path, sha256=sha256, **fields)

        studies = []
        for study, change in offer.changes.items():
            outcome = "ingested" if study in self.published else "unchanged" if change.trial_ids else "quarantined"
            studies.append(entry(str(study), outcome, str(study), change.source_digest, format=change.format))
        studies += [
            entry(str(s), "unchanged", str(s), digest)
            for s, digest in offer.unchanged.items()
            if s not in offer.changes
        ]
        outcomes = {entry.outcome for entry in studies}
        outcome = next((name for name in ("ingested", "unchanged") if name in outcomes), "quarantined")
        yield entry("", outcome, None, offer.sha256, reason=offer.broken)
        yield from studies
        for q in offer.quarantined:
            yield entry(q.path, "quarantined", q.study, q.sha256, rule=q.rule, line=q.line, reason=q.message)


def _shared(offers: Sequence[Offer]) -> set[str]:
    """Return the studies that occur in more than one offer."""
    offered = Counter(study for offer in offers for study in offer.studies)
    return {study for study, count in offered.items() if count > 1}
