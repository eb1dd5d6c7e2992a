"""The summary of an ingest, from what its sources brought and what was published of it.

The ledger's entries for an ingest: each source, each study in it, each thing quarantined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import pyarrow as pa

from losslake.lake.data_files import studies_in
from losslake_ingest.changes import StudyChange
from losslake_ingest.offer import Offer
from losslake_ingest.publish import Published
from losslake_ingest.report import Summary
from losslake_schema.database import LedgerEntry, Release
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


LONGEST_FORMAT = 64


def ledger_entries(offers: Sequence[Offer], at: datetime, published: Collection[Study]) -> list[LedgerEntry]:
    """What became of everything offered, if these studies get published."""
    return [entry for offer in offers for entry in _entries(offer, at, published)]


def _entries(offer: Offer, at: datetime, published: Collection[Study]) -> list[LedgerEntry]:
    source = offer.source.name
    names = ("+".join(offer.report.files) or "unknown")[:LONGEST_FORMAT]

    def entry(path: str, outcome: str, study: str | None, sha256: str | None) -> LedgerEntry:
        return LedgerEntry(
            offered_at=at, source=source, path=path, sha256=sha256, format=names, study=study, outcome=outcome
        )

    studies = []
    for study, change in offer.changes.items():
        outcome = "ingested" if study in published else "unchanged" if change.trial_ids else "quarantined"
        one = entry(str(study), outcome, str(study), change.source_digest)
        one.format = change.format
        studies.append(one)
    studies += [
        entry(str(s), "unchanged", str(s), digest) for s, digest in offer.unchanged.items() if s not in offer.changes
    ]
    whole = entry("", _outcome_of_all(studies), None, offer.sha256)
    whole.reason = offer.broken
    refused = []
    for quarantined in offer.quarantined:
        one = entry(quarantined.path, "quarantined", quarantined.study, quarantined.sha256)
        one.rule, one.line, one.reason = quarantined.rule, quarantined.line, quarantined.message
        refused.append(one)
    return [whole, *studies, *refused]


def _outcome_of_all(studies: Sequence[LedgerEntry]) -> str:
    outcomes = {entry.outcome for entry in studies}
    return next((outcome for outcome in ("ingested", "unchanged") if outcome in outcomes), "quarantined")
