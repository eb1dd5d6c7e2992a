"""The summary of an ingest, from what its sources brought and what was published of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from losslake.lake.data_files import studies_in
from losslake_ingest.changes import StudyChange
from losslake_ingest.offer import Offer
from losslake_ingest.publish import Published
from losslake_ingest.report import Summary
from losslake_schema.database import Release
from losslake_schema.names import Study


def summary(
    newest: Release | None,
    published: Published,
    changes: Mapping[Study, StudyChange],
    stored: pa.Table,
    offers: Sequence[Offer],
    seconds: float,
) -> Summary:
    """What became of everything that was offered.

    newest: the newest release now. changes: what the offers brought together. stored: the table `studies` before.
    """
    new = [changes[study] for study in published.studies]
    unchanged = ({study for offer in offers for study in offer.unchanged} | set(changes)) - published.studies
    counts = studies_in(stored, "n_trials")
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
        trials_unchanged=sum(int(counts.get(study, 0)) for study in unchanged) + carried,
        evaluations=sum(sum(table["n_evaluations"].to_pylist()) for table in trials),
        measurements=sum(file.rows for file in written if file.table == "measurements"),
        nonfinite=sum(sum(table["n_nonfinite"].to_pylist()) for table in trials),
        seconds=seconds,
        quarantined=tuple(q for offer in offers for q in offer.quarantined),
        broken=tuple(offer.broken for offer in offers if offer.broken is not None),
        sources=tuple(offer.report for offer in offers),
    )
