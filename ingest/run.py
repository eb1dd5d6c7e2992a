"""An ingest: from the paths offered to a published release."""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ingest.changes import StudyChange
from ingest.ledger import ledger_entries
from ingest.merge import bring_together
from ingest.offer import Offer, take_in
from ingest.publish import discard, publish
from ingest.report import Progress, Silence, Summary
from ingest.small_tables import stored_table, studies_in
from ingest.sources.open import open_source
from schema.lake import Lake
from schema.names import Study


def ingest(
    lake: Lake,
    paths: Sequence[Path],
    collection: str | None = None,
    notes: str = "",
    progress: Progress | None = None,
) -> Summary:
    """Take in everything at the paths and publish it as one release; what is stored already is left alone.

    collection: the name to give to the first folder of each source, instead of the folder's own.
    Raises, before anything is read, UnknownSource when a path holds nothing that can be read, and LakeBroken when the
    lake is not in the place that its catalog names.
    """
    started = time.monotonic()
    lake.check_place()
    heard = progress or Silence()
    sources = [open_source(path) for path in paths]
    base = lake.newest_release()
    files = lake.files(base) if base is not None else []
    studies = stored_table(lake.folder, files, "studies")
    stored = studies_in(studies, "source_digest")
    with _no_garbage_collection():
        offers = [take_in(lake.folder, source, collection, stored, heard) for source in sources]
        changes = bring_together(lake, files, offers, stored)
        heard.stage("publishing")
        at = datetime.now(UTC)
        published = publish(lake, changes, lambda new: ledger_entries(offers, at, new), notes)
    for study, change in changes.items():
        if study not in published.studies:
            discard(lake.folder, change.written)
    trials = studies_in(studies, "n_trials")
    newest = published.release or lake.newest_release()
    return _summary(
        newest.number if newest is not None else None,
        {study: changes[study] for study in published.studies},
        {study: int(trials.get(study, 0)) for study in _unchanged(offers, changes, published.studies)},
        offers,
        time.monotonic() - started,
    )


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
    release: int | None,
    new: Mapping[Study, StudyChange],
    unchanged: Mapping[Study, int],
    offers: Sequence[Offer],
    seconds: float,
) -> Summary:
    trials = [part.trials for change in new.values() for part in change.parts]
    written = [w.file for change in new.values() for w in change.written]
    return Summary(
        release=release,
        published=bool(new),
        studies_ingested=len(new),
        studies_unchanged=len(unchanged),
        trials_ingested=sum(table.num_rows for table in trials),
        trials_unchanged=sum(unchanged.values()),
        evaluations=sum(sum(table["n_evaluations"].to_pylist()) for table in trials),
        measurements=sum(file.rows for file in written if file.table == "measurements"),
        nonfinite=sum(sum(table["n_nonfinite"].to_pylist()) for table in trials),
        seconds=seconds,
        quarantined=tuple(q for offer in offers for q in offer.quarantined),
        broken=tuple(offer.broken for offer in offers if offer.broken is not None),
    )
