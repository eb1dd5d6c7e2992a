"""Bringing the sources of one ingest together, so that nothing that is stored gets lost through a fault of an offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from losslake.lake.lake import Lake
from losslake.lake.manifest import DataFile
from losslake_ingest.carry import carry_over, stored_trials
from losslake_ingest.changes import StudyChange
from losslake_ingest.offer import Offer
from losslake_ingest.publish import discard
from losslake_schema.names import Study


def bring_together(
    lake: Lake, files: Sequence[DataFile], offers: Sequence[Offer], stored: Mapping[Study, str]
) -> dict[Study, StudyChange]:
    """The changes of all offers; of a study that several offer, the last counts.

    A study that is offered anew replaces the stored one. But a stored trial stays when its new version is quarantined,
    and all stored trials stay that a broken source did not get to. Single runs come beside the stored ones.
    """
    changes: dict[Study, StudyChange] = {}
    may_be_incomplete: dict[Study, bool] = {}
    refusals: dict[Study, set[int]] = {}
    for offer in offers:
        for study, change in offer.changes.items():
            earlier = changes.get(study)
            if earlier is not None and earlier.adds and change.adds:
                change.parts[:0] = earlier.parts
                change.source_files = {**earlier.source_files, **change.source_files}
            elif earlier is not None:
                discard(lake.store, earlier.written)
            refused = {q.trial_id for q in offer.quarantined if q.study == str(study) and q.trial_id is not None}
            change.n_quarantined = len(refused - change.trial_ids)
            if offer.broken is not None and study in stored:
                change.source_files["(the source broke off)"] = ""
            may_be_incomplete[study] = change.adds or offer.broken is not None or study in offer.unchanged
            refusals[study] = refused
            changes[study] = change
    for study, change in changes.items():
        if study in stored:
            refused_ids = None if may_be_incomplete[study] else refusals[study]
            _keep_stored(lake, files, change, change.trial_ids, refused_ids)
    for study in [study for study, change in changes.items() if not change.trial_ids]:
        discard(lake.store, changes.pop(study).written)
    return changes


def _keep_stored(
    lake: Lake, files: Sequence[DataFile], change: StudyChange, offered: set[int], refused: set[int] | None
) -> None:
    """Add the stored trials that are not offered; only those among `refused`, if that is given."""
    stored_ids = set(stored_trials(lake.store, files, change.study)["trial_id"].to_pylist())
    kept = stored_ids - offered if refused is None else (stored_ids & refused) - offered
    if kept:
        change.parts.append(carry_over(lake.store, files, change.parts[0].facts, kept))
