"""An ingest: from the paths offered to a published release."""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from ingest.changes import StudyChange
from ingest.errors import SourceBroken
from ingest.ledger import ledger_entries
from ingest.merge import bring_together
from ingest.numbers import TrialNumbers
from ingest.offer import Offer, take_in
from ingest.publish import News, Overtaken, Published, discard, publish
from ingest.reading import SourceReading, source_report
from ingest.report import Progress, Silence, Summary
from ingest.request import Request
from ingest.sources.open import Place, open_source
from schema.data_files import stored_table, studies_in
from schema.database import Release
from schema.errors import LossLakeError
from schema.lake import Lake
from schema.names import Study

ATTEMPTS = 10
PLAIN = Request()


def ingest(
    lake: Lake,
    paths: Sequence[Place],
    request: Request = PLAIN,
    notes: str = "",
    progress: Progress | None = None,
) -> Summary:
    """Take in everything at the paths and publish it as one release; what is stored already is left alone.

    paths: folders, archives, single logs, the URL of a database, or an opened file from elsewhere, of which nothing is
    stored unless all of its bytes came and are those that were promised. When another ingest adds to the same study
    first, everything is read again on top of its release. Raises, before anything is read, UnknownSource when a path
    holds nothing that can be read, BadMapping or UnknownFormat when the request can't be followed, and LakeBroken when
    the lake is not in the place that its catalog names; raises SourceBroken for a file from elsewhere.
    """
    for _ in range(ATTEMPTS):
        try:
            return _once(lake, paths, request, notes, progress or Silence())
        except Overtaken:
            continue
    raise LossLakeError("other ingests kept changing the same studies: run the same command again")


def _once(lake: Lake, paths: Sequence[Place], request: Request, notes: str, heard: Progress) -> Summary:
    started = time.monotonic()
    lake.check_place()
    sources = [open_source(path) for path in paths]
    base = lake.newest_release()
    files = lake.files(base) if base is not None else []
    studies = stored_table(lake.folder, files, "studies")
    stored = studies_in(studies, "source_digest")
    numbers = TrialNumbers(lake.folder, files)
    units = studies_in(studies, "batch_unit")
    with _no_garbage_collection():
        readings = [SourceReading(source, request, numbers, units) for source in sources]
        offers = [take_in(lake.folder, reading, stored, numbers, heard) for reading in readings]
        _vouch(lake, offers)
        changes = bring_together(lake, files, offers, stored)
        heard.stage("publishing")
        at = datetime.now(UTC)
        news = News(
            changes,
            studies_in(studies, "content_digest"),
            {name: facts for offer in offers for name, facts in offer.reading.collections.items()},
            list(dict.fromkeys(goal for offer in offers for goal in offer.reading.goals)),
        )
        try:
            published = publish(lake, news, lambda new: ledger_entries(offers, at, new), notes)
        except Overtaken:
            discard(lake.folder, [written for change in changes.values() for written in change.written])
            raise
    for study, change in changes.items():
        if study not in published.studies:
            discard(lake.folder, change.written)
    trials = studies_in(studies, "n_trials")
    newest = published.release or lake.newest_release()
    return _summary(
        newest,
        published,
        {study: changes[study] for study in published.studies},
        {study: int(trials.get(study, 0)) for study in _unchanged(offers, changes, published.studies)},
        offers,
        time.monotonic() - started,
    )


def _vouch(lake: Lake, offers: Sequence[Offer]) -> None:
    """Before anything is published: whatever was streamed from elsewhere is what was promised, else all is put back."""
    try:
        for offer in offers:
            offer.vouch()
    except SourceBroken:
        for offer in offers:
            discard(lake.folder, [written for change in offer.changes.values() for written in change.written])
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


def _unchanged(
    offers: Sequence[Offer], changes: Mapping[Study, StudyChange], published: Collection[Study]
) -> set[Study]:
    """The studies that were offered as they are stored."""
    same = {study for offer in offers for study in offer.unchanged} | set(changes)
    return same - set(published)


def _summary(
    newest: Release | None,
    published: Published,
    new: Mapping[Study, StudyChange],
    unchanged: Mapping[Study, int],
    offers: Sequence[Offer],
    seconds: float,
) -> Summary:
    parts = [part for change in new.values() for part in change.parts]
    trials = [part.trials for part in parts if not part.is_carried]
    carried = sum(part.trials.num_rows for part in parts if part.is_carried)
    written = [w.file for part in parts if not part.is_carried for w in part.written]
    return Summary(
        release=newest.number if newest is not None else None,
        published=published.release is not None,
        studies_ingested=len(new),
        studies_unchanged=len(unchanged),
        trials_ingested=sum(table.num_rows for table in trials),
        trials_unchanged=sum(unchanged.values()) + carried,
        evaluations=sum(sum(table["n_evaluations"].to_pylist()) for table in trials),
        measurements=sum(file.rows for file in written if file.table == "measurements"),
        nonfinite=sum(sum(table["n_nonfinite"].to_pylist()) for table in trials),
        seconds=seconds,
        quarantined=tuple(q for offer in offers for q in offer.quarantined),
        broken=tuple(offer.broken for offer in offers if offer.broken is not None),
        sources=tuple(source_report(offer.reading) for offer in offers),
    )
