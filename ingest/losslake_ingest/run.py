"""An ingest: from the paths offered to a published release."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pyarrow as pa

from losslake.lake.data_files import stored_table, studies_in
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_ingest.carry import bring_together
from losslake_ingest.engine import Engine, LocalEngine
from losslake_ingest.memory import Left, Memory, states
from losslake_ingest.numbers import TrialNumbers
from losslake_ingest.offer import Offer, Stored, take_in
from losslake_ingest.publish import News, Overtaken, discard, publish
from losslake_ingest.reading import SourceReading
from losslake_ingest.report import Progress, Silence, Summary
from losslake_ingest.request import Request
from losslake_ingest.rules import SourceBroken
from losslake_ingest.sources.member import Source
from losslake_ingest.sources.open import Place, open_source
from losslake_ingest.summary import ledger_entries, summary
from losslake_schema.errors import LossLakeError

ATTEMPTS = 10
PLAIN = Request()


def ingest(
    lake: Lake,
    paths: Sequence[Place],
    request: Request = PLAIN,
    notes: str = "",
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Summary:
    """Take in everything at the paths and publish it as one release; what is stored already is left alone.

    paths: folders, archives, single logs, the URL of a database, or an opened file from elsewhere, of which nothing is
    stored unless all of its bytes came and are those that were promised. A file that was taken in whole before is not
    read again: see `losslake_ingest.memory`. When another ingest adds to the same study first, everything is read again
    on top of its release. Raises, before anything is read, UnknownSource when a path holds nothing that can be read,
    BadMapping or UnknownFormat when the request can't be followed, and LakeBroken when the lake is not in the place
    that its catalog names; raises SourceBroken for a file from elsewhere.
    """
    may_recall = True
    for _ in range(ATTEMPTS):
        try:
            return _once(
                lake, paths, request, notes, progress or Silence(), may_recall, engine or LocalEngine(lake.store)
            )
        except Overtaken:
            continue
        except _SameStudies:
            may_recall = False
    raise LossLakeError("other ingests kept changing the same studies: run the same command again")


class _SameStudies(Exception):
    """A source that was recalled has studies that another source of the same ingest has, too: all are to be read."""


def _once(
    lake: Lake,
    paths: Sequence[Place],
    request: Request,
    notes: str,
    heard: Progress,
    may_recall: bool,
    engine: Engine,
) -> Summary:
    started = time.monotonic()
    lake.check_place()
    sources = [open_source(path) for path in paths]
    base = lake.newest_release()
    files = lake.files(base) if base is not None else []
    studies = stored_table(lake.store, files, "studies")
    memory = Memory(lake, request)
    with _no_garbage_collection():
        recalled = [memory.recall(source, files) if may_recall else None for source in sources]
        offers = _taken_in(lake, engine, request, heard, files, studies, list(zip(sources, recalled, strict=True)))
        _vouch(lake, offers)
        changes = bring_together(lake, files, offers, studies_in(studies, "source_digest"))
        heard.stage("publishing")
        at = datetime.now(UTC)
        news = News(
            changes,
            studies_in(studies, "content_digest"),
            {name: facts for offer in offers for name, facts in offer.collections.items()},
            list(dict.fromkeys(goal for offer in offers for goal in offer.goals)),
        )
        try:
            published = publish(lake, news, lambda new: ledger_entries(offers, at, new), notes)
        except Overtaken:
            discard(lake.store, [written for change in changes.values() for written in change.written])
            raise
    for study, change in changes.items():
        if study not in published.studies:
            discard(lake.store, change.written)
    left = Left(states(files), states(published.files), frozenset(map(str, published.studies)))
    shared = _shared(offers)
    for offer in offers:
        if not (offer.is_recalled or offer.studies & shared):
            memory.remember(offer, changes, left)
    newest = published.release or lake.newest_release()
    return summary(newest, published, changes, studies, offers, time.monotonic() - started)


def _taken_in(
    lake: Lake,
    engine: Engine,
    request: Request,
    heard: Progress,
    files: Sequence[DataFile],
    studies: pa.Table,
    sources: Sequence[tuple[Source, Offer | None]],
) -> list[Offer]:
    """What each source brings: recalled, where it could be, else read. Raises _SameStudies."""
    numbers = TrialNumbers(lake.store, files)
    stored = Stored(studies, numbers)
    units, trials = studies_in(studies, "batch_unit"), studies_in(studies, "n_trials")
    readings = [
        SourceReading(source, request, numbers, units) if recalled is None else recalled for source, recalled in sources
    ]
    offers = []
    for reading in readings:
        if isinstance(reading, Offer):
            heard.begin(reading.source.name, reading.source.total_bytes)
            known = sum(int(trials.get(study, 0)) for study in reading.unchanged)
            heard.advance(reading.source.total_bytes or 0, known, 0)
            offers.append(reading)
        else:
            offers.append(take_in(engine, reading, stored, heard))
    shared = _shared(offers)
    if any(offer.is_recalled and offer.studies & shared for offer in offers):
        discard(lake.store, [written for offer in offers for written in offer.written])
        raise _SameStudies
    return offers


def _shared(offers: Sequence[Offer]) -> set[str]:
    """The studies that several offers say something of."""
    offered = Counter(study for offer in offers for study in offer.studies)
    return {study for study, count in offered.items() if count > 1}


def _vouch(lake: Lake, offers: Sequence[Offer]) -> None:
    """Before anything is published: whatever was streamed from elsewhere is what was promised, else all is put back."""
    try:
        for offer in offers:
            offer.vouch()
    except SourceBroken:
        discard(lake.store, [written for offer in offers for written in offer.written])
        raise


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
