"""Withdrawal: trials are left out of the next release, and of every later ingest of the same logs.

The ledger keeps an entry for each log of a withdrawn trial, with its digest, who withdrew it, when and why. A log with
these bytes, or at the place that the trial was read from, is left out. Earlier releases keep their trials.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.notices import RESTORED, WITHDRAWN
from losslake.lake.publishing import last_erasure, save_ledger
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.study import StudyFacts, source_digest
from losslake_ingest.pipeline.copies import place_digest
from losslake_ingest.pipeline.engine import WrittenPart, carried_part, packed
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.offer import Offer
from losslake_ingest.pipeline.publish import Changes, ConcurrentChange, StudyChange, discard, publish
from losslake_ingest.pipeline.reading import place_of
from losslake_ingest.pipeline.study_trials import log_digest
from losslake_ingest.pipeline.trial_rows import are_named, rows_of, study_names, trial_names, trials_of
from losslake_ingest.releases.ledger import trial_entry, withdrawn_trials
from losslake_ingest.sources.member import Source
from losslake_schema.database import LedgerEntry
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial

_ATTEMPTS = 10
_FILES_PER_QUERY = 500


@dataclass(frozen=True)
class Withdrawal:
    """The result of a withdrawal. release: the first one without the trials; None for a dry run.

    remaining: stored trials from the same logs, with other facts. copies: logs that were left out as copies of these
    trials, with their sources; the ledger doesn't say in which study they would be.
    """

    release: int | None
    trials: Sequence[Trial]
    remaining: Sequence[Trial]
    copies: Sequence[tuple[str, str]]


def withdraw(lake: Lake, names: Sequence[str], reason: str, by: str, dry_run: bool = False) -> Withdrawal:
    """Publish a release without the trials of these collections, studies and trials.

    names: each a collection, `collection/dataset/model/optimizer/batch_size`, or that with a trial_id. by: who does it.
    Raises LossLakeError if a name has no trials in the newest release, or if no trial would remain,
    LakeBroken if the lake was moved.
    """
    lake.check_location()
    for _ in range(_ATTEMPTS):
        erasure = last_erasure(lake)
        base = lake.release()
        files = lake.files(base)
        trials = read_small_table(lake.store, files, "trials")
        chosen = _chosen(trials, names)
        rows = trials.filter(chosen)
        withdrawn = trials_of(rows)
        if len(withdrawn) == trials.num_rows:
            raise LossLakeError(f"nothing would remain in {lake}: unlist its releases and use a new lake instead")
        digests = logs_of(rows)
        remaining = _with_logs(trials.filter(pc.invert(chosen)), digests)
        left_out = _left_out_as_copies(lake, rows["source_sha256"].to_pylist(), digests)
        if dry_run:
            return Withdrawal(None, withdrawn, remaining, left_out)
        at = datetime.now(UTC)
        copies = rows_of(read_small_table(lake.store, files, "copies"), rows)
        logs = [*zip(withdrawn, digests, strict=True), *zip(trials_of(copies), logs_of(copies), strict=True)]
        ledger = [trial_entry(trial, digest, WITHDRAWN, reason, by, at) for trial, digest in dict.fromkeys(logs)]
        changes = reduced(lake.store, files, trials.filter(pc.invert(chosen)), {trial.study for trial in withdrawn})
        try:
            changes = replace(changes, erasure=erasure)
            published = publish(lake, changes, partial(_same, ledger), f"withdrawn: {', '.join(names)}: {reason}")
        except ConcurrentChange:
            discard(lake.store, [written for change in changes.studies.values() for written in change.written])
            continue
        assert published.release is not None
        return Withdrawal(published.release.number, withdrawn, remaining, left_out)
    raise LossLakeError("ingests kept changing the same studies: run the same command again")


def logs_of(rows: pa.Table) -> list[str]:
    """Return the digest of the log of each row of `trials` or `copies`; see `log_digest`."""
    columns = (rows[name].to_pylist() for name in ("source_sha256", "source"))
    return [log_digest(sha256, run) for sha256, run in zip(*columns, strict=True)]


def _with_logs(trials: pa.Table, digests: Sequence[str]) -> Sequence[Trial]:
    """Return the trials whose logs have one of the digests."""
    of_withdrawn = set(digests)
    return trials_of(trials.filter(pa.array([digest in of_withdrawn for digest in logs_of(trials)], pa.bool_())))


def _left_out_as_copies(lake: Lake, files: Sequence[str], digests: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return the source and the path of each log that the ledger has as a copy. files, digests: of withdrawn trials."""
    names, of_withdrawn = sorted(set(files)), set(digests)
    columns = LedgerEntry.source, LedgerEntry.path, LedgerEntry.sha256
    is_copy = (LedgerEntry.outcome == "quarantined") & (LedgerEntry.rule == Rule.DUPLICATE_SOURCE)
    batches = [names[start : start + _FILES_PER_QUERY] for start in range(0, len(names), _FILES_PER_QUERY)]
    queries = [select(*columns).where(is_copy, LedgerEntry.sha256.in_(batch)).distinct() for batch in batches]
    rows = lake.read(lambda session: [row for query in queries for row in session.execute(query)])
    return sorted({(source, path) for source, path, sha256 in rows if log_digest(str(sha256), path) in of_withdrawn})


def _same(ledger: Sequence[LedgerEntry], _: frozenset[Study]) -> Sequence[LedgerEntry]:
    return ledger


def restore(lake: Lake, names: Sequence[str], reason: str, by: str) -> Sequence[Trial]:
    """Let ingests accept withdrawn trials again; return them. Raises LossLakeError if a name has none."""
    at, restored = datetime.now(UTC), []
    withdrawn = [each for study in withdrawn_trials(lake).values() for each in study.trials]
    for name in names:
        named = [each for each in withdrawn if name in _names_of(each.trial)]
        if not named:
            raise LossLakeError(
                f"nothing named {name} is withdrawn: 'losslake ledger --outcome withdrawn' lists the withdrawn trials"
            )
        restored += named
    save_ledger(lake, [trial_entry(each.trial, each.digest, RESTORED, reason, by, at) for each in restored])
    return list(dict.fromkeys(each.trial for each in restored))


def leave_out(store: Store, stored: Stored, offer: Offer) -> None:
    """Take the withdrawn trials out of an offer, and report each as quarantined; a stored trial isn't one."""
    for study, change in offer.changes.items():
        if study in stored.withdrawn and stored.withdrawn[study].trials:
            change.parts = [_without(store, stored, offer, part) for part in change.parts]


def _without(store: Store, stored: Stored, offer: Offer, part: WrittenPart) -> WrittenPart:
    trials = part.trials
    runs = zip(*(trials[name].to_pylist() for name in ("source", "source_sha256", "trial_id")), strict=True)
    reasons = [reason_left_out(stored, offer.source, part.facts.study, *run) for run in runs]
    if not any(reasons):
        return part
    offer.quarantined += filter(None, reasons)
    remaining = trials.filter(pa.array([reason is None for reason in reasons]))
    kept = WrittenPart(part.facts, packed(remaining), (), frozenset(), ())
    if remaining.num_rows:
        kept = carried_part(store, part.facts, remaining, [written.file for written in part.written])
    discard(store, part.written)
    return kept


def reason_left_out(
    stored: Stored, source: Source, study: Study, run: str, sha256: str, number: int
) -> Quarantined | None:
    """Return why a run isn't stored, if it is a withdrawn trial of the study; None if it is another run."""
    withdrawn = stored.withdrawn[study].find(sha256, run, place_digest(place_of(source) or source.name, run))
    if withdrawn is None or stored.has_bytes(Trial(study, number), sha256):
        return None
    is_same = withdrawn.digest in (sha256, log_digest(sha256, run))
    what = "it was withdrawn" if is_same else "its bytes are new, but the run at its place was withdrawn"
    undo = f"'losslake withdraw {withdrawn.trial} --undo' lets ingests accept it again"
    reason = f"{what} ({withdrawn.reason}): {undo}"
    return Quarantined(source.name, run, Rule.WITHDRAWN, reason, None, str(study), number, sha256)


def _chosen(trials: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return flags of the trials that have one of the names. Raises LossLakeError for a name without trials."""
    for name in names:
        if not pc.any(are_named(trials, [name])).as_py():
            raise LossLakeError(f"no collection, study or trial of the newest release is named {name}")
    return are_named(trials, names)


def reduced(store: Store, files: Sequence[DataFile], remaining: pa.Table, studies: set[Study]) -> Changes:
    """Return the changes that reduce these studies to their remaining trials."""
    rows = {Study.of(row): row for row in read_small_table(store, files, "studies").to_pylist()}
    changes = {}
    names = study_names(remaining)
    for study in studies:
        trials, row = remaining.filter(pc.equal(names, str(study))).sort_by("trial_id"), rows[study]
        if trials.num_rows:
            of_study = [file for file in files if file.study == study]
            part = carried_part(store, StudyFacts.of(study, row), trials, of_study)
            changes[study] = reduced_study(row, part, WITHDRAWN)
    based_on = {study: rows[study]["content_digest"] for study in studies}
    return Changes(changes, based_on, dropped=frozenset(studies - changes.keys()))


def reduced_study(row: Mapping[str, Any], part: WrittenPart, why: str) -> StudyChange:
    """Return the change of a study to its remaining trials. row: of `studies`. why: it lost the others.

    With another digest of its files, the study is read again when they are offered, perhaps after an undo.
    """
    study = part.facts.study
    origin = {**row, "source_digest": source_digest(why, {str(study): row["source_digest"]})}
    return StudyChange(study, row["format"], "", True, row["source"], [part], stored_row=origin)


def without_moved(
    store: Store, stored: Stored, moved: Collection[Trial], changes: Mapping[Study, StudyChange]
) -> Changes:
    """Return the changes of studies that lose trials by moves and that `changes` doesn't have."""
    studies = {trial.study for trial in moved} - changes.keys()
    if not studies:
        return Changes({})
    trials = read_small_table(store, stored.files, "trials")
    is_gone = pc.is_in(trial_names(trials), pa.array(map(str, moved), pa.string()))
    return reduced(store, stored.files, trials.filter(pc.invert(is_gone)), studies)


def _names_of(trial: Trial) -> tuple[str, str, str]:
    return str(trial), str(trial.study), trial.study.workload.collection
