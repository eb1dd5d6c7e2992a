"""Withdrawal: trials are left out of the next release, and of every later ingest of the same logs.

The ledger keeps an entry for each log of a withdrawn trial, with its digest, who withdrew it, when and why. A log with
these bytes, or at the place that the trial was read from, is left out. Earlier releases keep their trials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import last_erasure, save_ledger
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.study import StudyFacts, source_digest
from losslake_ingest.pipeline.copies import place_digest
from losslake_ingest.pipeline.engine import WrittenPart, packed
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.offer import Offer
from losslake_ingest.pipeline.publish import Changes, ConcurrentChange, StudyChange, discard, publish, study_names
from losslake_ingest.pipeline.reading import place_of
from losslake_ingest.pipeline.stored_curves import stored_curves
from losslake_ingest.pipeline.withdrawn import Withdrawn, WithdrawnTrial, log_digest
from losslake_ingest.pipeline.write import write_curves
from losslake_ingest.releases.places import MOVED, PLACED, RESTORED, WITHDRAWN
from losslake_ingest.sources.member import Source
from losslake_schema.database import LedgerEntry
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial
from losslake_schema.tables import STUDY_KEYS

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
        ledger = [_entry(trial, digest, WITHDRAWN, reason, by, at) for trial, digest in dict.fromkeys(logs)]
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


def trials_of(rows: pa.Table) -> list[Trial]:
    """Return the trial of each row of `trials` or `copies`."""
    return [Trial.of(row) for row in rows.select([*STUDY_KEYS, "trial_id"]).to_pylist()]


def rows_of(rows: pa.Table, trials: pa.Table) -> pa.Table:
    """Return the rows, of copies or contributors, of these trials."""
    return rows.filter(pc.is_in(trial_names(rows), trial_names(trials).combine_chunks()))


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
    save_ledger(lake, [_entry(each.trial, each.digest, RESTORED, reason, by, at) for each in restored])
    return list(dict.fromkeys(each.trial for each in restored))


def withdrawn_trials(lake: Lake) -> Mapping[Study, Withdrawn]:
    """Return the trials that are withdrawn and weren't restored since, of each study of which any was withdrawn."""
    names = select(LedgerEntry.path).where(LedgerEntry.outcome == WITHDRAWN)
    outcomes = LedgerEntry.outcome.in_([WITHDRAWN, RESTORED, MOVED, PLACED])
    query = select(LedgerEntry).where(outcomes, LedgerEntry.path.in_(names)).order_by(LedgerEntry.id)
    active: dict[tuple[str, str], WithdrawnTrial] = {}
    places: dict[str, set[str]] = defaultdict(set)
    by_study: dict[Study, list[WithdrawnTrial]] = {}
    for entry in lake.read(lambda session: session.scalars(query).all()):
        path, digest, trial = entry.path, entry.sha256 or "", Trial.parse(entry.path)
        if entry.outcome == PLACED:
            places[path].add(digest)
        elif entry.outcome == MOVED:
            places[path].clear()
        elif entry.outcome == WITHDRAWN:
            # The number may go to another run, whose place isn't withdrawn.
            active[path, digest] = WithdrawnTrial(trial, digest, entry.reason or "", frozenset(places.pop(path, ())))
            by_study[trial.study] = []
        elif (path, digest) in active:
            places[path] |= active.pop((path, digest)).places
    for each in active.values():
        by_study[each.trial.study].append(each)
    return {study: Withdrawn(trials) for study, trials in by_study.items()}


def leave_out(store: Store, stored: Stored, offer: Offer, withdrawn: Mapping[Study, Withdrawn]) -> None:
    """Take the withdrawn trials out of an offer, and report each as quarantined; a stored trial isn't one."""
    for study, change in offer.changes.items():
        if study in withdrawn and withdrawn[study].trials:
            change.parts = [_without(store, stored, offer, part, withdrawn[study]) for part in change.parts]


def _without(store: Store, stored: Stored, offer: Offer, part: WrittenPart, withdrawn: Withdrawn) -> WrittenPart:
    trials, study = part.trials, part.facts.study
    runs = zip(*(trials[name].to_pylist() for name in ("source", "source_sha256", "trial_id")), strict=True)
    found = [reason_left_out(withdrawn, stored, offer.source, study, *run) for run in runs]
    if not any(found):
        return part
    offer.quarantined += [reason for reason in found if reason is not None]
    remaining = trials.filter(pa.array([reason is None for reason in found]))
    kept = _part(store, study, part.facts, remaining, [w.file for w in part.written])
    discard(store, part.written)
    return kept


def reason_left_out(
    withdrawn: Withdrawn, stored: Stored, source: Source, study: Study, run: str, sha256: str, number: int
) -> Quarantined | None:
    """Return why a run isn't stored, if it is a withdrawn trial of the study; None if it is another run."""
    each = withdrawn.find(sha256, run, place_digest(place_of(source) or source.name, run))
    if each is None or stored.has_bytes(Trial(study, number), sha256):
        return None
    why = _why(each, is_same=each.digest in (sha256, log_digest(sha256, run)))
    return Quarantined(source.name, run, Rule.WITHDRAWN, why, None, str(study), number, sha256)


def _why(each: WithdrawnTrial, is_same: bool) -> str:
    """Return why a run is left out. is_same: it has the bytes of the withdrawn trial."""
    what = "it was withdrawn" if is_same else "its bytes are new, but the run at its place was withdrawn"
    return f"{what} ({each.reason}): 'losslake withdraw {each.trial} --undo' lets ingests accept it again"


def _chosen(trials: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Return flags of the trials that have one of the names, as themselves, their study or their collection."""
    studies, full_names = study_names(trials), trial_names(trials)
    chosen = pa.chunked_array([pa.array([False] * trials.num_rows)])
    for name in names:
        flags = [pc.equal(column, name.strip("/")) for column in (trials["collection"], studies, full_names)]
        matched = pc.or_(pc.or_(flags[0], flags[1]), flags[2])
        if not pc.any(matched).as_py():
            raise LossLakeError(f"no collection, study or trial of the newest release is named {name}")
        chosen = pc.or_(chosen, matched)
    return chosen


def trial_names(trials: pa.Table) -> pa.ChunkedArray:
    """Return the name of each row of `trials`."""
    return pc.binary_join_element_wise(study_names(trials), trials["trial_id"].cast(pa.string()), "/")


def reduced(store: Store, files: Sequence[DataFile], remaining: pa.Table, studies: set[Study]) -> Changes:
    """Return the changes that reduce these studies to their remaining trials."""
    rows = {Study.of(row): row for row in read_small_table(store, files, "studies").to_pylist()}
    changes = {}
    names = study_names(remaining)
    for study in studies:
        study_trials, row = remaining.filter(pc.equal(names, str(study))).sort_by("trial_id"), rows[study]
        if study_trials.num_rows:
            facts = StudyFacts(study, *(row[name] for name in StudyFacts.__dataclass_fields__ if name != "study"))
            part = _part(store, study, facts, study_trials, [file for file in files if file.study == study])
            # With another digest of its files, the study is read again when they are offered, perhaps after an undo.
            origin = {**row, "source_digest": source_digest("withdrawn", {str(study): row["source_digest"]})}
            changes[study] = StudyChange(study, row["format"], "", True, row["source"], [part], stored_row=origin)
    based_on = {study: rows[study]["content_digest"] for study in studies}
    return Changes(changes, based_on, dropped=frozenset(studies - changes.keys()))


def _part(store: Store, study: Study, facts: StudyFacts, trials: pa.Table, files: Sequence[DataFile]) -> WrittenPart:
    """Write the stored curves of some trials, one after the other, to files of their own."""
    if not trials.num_rows:
        return WrittenPart(facts, packed(trials), (), frozenset(), ())
    ids: list[int] = trials["trial_id"].to_pylist()
    curves = stored_curves(store, [file for file in files if file.table == "measurements"], ids)
    written = write_curves(store, study, ids, curves)
    return WrittenPart(facts, packed(trials), written, frozenset(curves.values), (), is_carried=True)


def _entry(trial: Trial, digest: str, outcome: str, reason: str, by: str, at: datetime) -> LedgerEntry:
    return LedgerEntry(
        offered_at=at, source=by, path=str(trial), sha256=digest, format="", study=str(trial.study),
        outcome=outcome, reason=reason,
    )  # fmt: skip


def _names_of(trial: Trial) -> tuple[str, str, str]:
    return str(trial), str(trial.study), trial.study.workload.collection
