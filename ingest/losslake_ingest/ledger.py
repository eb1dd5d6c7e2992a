"""The ledger's entries for an ingest: each source, each study in it, each thing quarantined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from losslake_ingest.offer import Offer
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study

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
