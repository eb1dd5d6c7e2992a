"""Withdrawal: trials are left out of the next release, and of every later ingest of the same logs.

The ledger keeps an entry for each withdrawn trial, with the SHA-256 of its log, who withdrew it, when and why, and one
with the path of its run, since a file can hold many. Earlier releases keep their trials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import save_release
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.study import StudyFacts, source_digest
from losslake_ingest.pipeline.copies import BUNDLE, place_digest, within_file
from losslake_ingest.pipeline.engine import WrittenPart, packed
from losslake_ingest.pipeline.gather import Log
from losslake_ingest.pipeline.offer import Offer, stored_curves
from losslake_ingest.pipeline.publish import Changes, ConcurrentChange, StudyChange, discard, publish, study_names
from losslake_ingest.pipeline.reading import place_of
from losslake_ingest.pipeline.write import write_curves
from losslake_ingest.releases.places import RESTORED, WITHDRAWN, placed_entries, placed_runs
from losslake_schema.database import LedgerEntry
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.tables import STUDY_KEYS

_ATTEMPTS = 10


@dataclass(frozen=True)
class WithdrawnTrial:
    """A trial that was withdrawn. runs: the paths of its runs within their sources, by `place_digest`."""

    trial: Trial
    sha256: str
    reason: str
    runs: Mapping[str, str]

    @property
    def logs(self) -> Sequence[Log]:
        """The log of the trial, under each path that it had."""
        return [Log(self.trial.trial_id, self.sha256, run) for run in dict.fromkeys(self.runs.values())]


@dataclass(frozen=True)
class Withdrawal:
    """The result of a withdrawal. release: the first one without the trials; None for a dry run.

    copies: the logs that were left out as copies of the trials, as `source: path`. Those of other studies are accepted.
    """

    release: int | None
    trials: Sequence[Trial]
    copies: Sequence[str]


def withdraw(lake: Lake, names: Sequence[str], reason: str, by: str, dry_run: bool = False) -> Withdrawal:
    """Publish a release without the trials of these collections, studies and trials.

    names: each a collection, `collection/dataset/model/optimizer/batch_size`, or that with a trial_id. by: who does it.
    Raises LossLakeError if a name has no trials in the newest release, or if no trial would remain,
    LakeBroken if the lake was moved.
    """
    lake.check_location()
    for _ in range(_ATTEMPTS):
        base = lake.release()
        files = lake.files(base)
        trials = read_small_table(lake.store, files, "trials")
        chosen = _chosen(trials, names)
        rows = trials.filter(chosen)
        withdrawn = [_trial(row) for row in rows.select([*STUDY_KEYS, "trial_id"]).to_pylist()]
        if len(withdrawn) == trials.num_rows:
            raise LossLakeError(f"nothing would remain in {lake}: unlist its releases and use a new lake instead")
        copies = _copies(lake, rows.select(["source_sha256", "source"]).to_pylist())
        if dry_run:
            return Withdrawal(None, withdrawn, copies)
        at = datetime.now(UTC)
        ledger = [_entry(row, WITHDRAWN, reason, by, at) for row in rows.to_pylist()]
        runs = {_trial(row): row["source"] for row in rows.select([*STUDY_KEYS, "trial_id", "source"]).to_pylist()}
        ledger += placed_entries({(each, place_digest(BUNDLE, run)): (BUNDLE, run) for each, run in runs.items()}, at)
        changes = reduced(lake.store, files, trials.filter(pc.invert(chosen)), {trial.study for trial in withdrawn})
        try:
            published = publish(lake, changes, partial(_same, ledger), f"withdrawn: {', '.join(names)}: {reason}")
        except ConcurrentChange:
            discard(lake.store, [written for change in changes.studies.values() for written in change.written])
            continue
        assert published.release is not None
        return Withdrawal(published.release.number, withdrawn, copies)
    raise LossLakeError("ingests kept changing the same studies: run the same command again")


def _same(ledger: Sequence[LedgerEntry], _: frozenset[Study]) -> Sequence[LedgerEntry]:
    return ledger


def restore(lake: Lake, names: Sequence[str], reason: str, by: str) -> Sequence[Trial]:
    """Let ingests accept withdrawn trials again; return them. Raises LossLakeError if a name has none."""
    at, restored = datetime.now(UTC), []
    withdrawn = [each for trials in withdrawn_trials(lake).values() for each in trials]
    for name in names:
        named = [each for each in withdrawn if name in _names_of(each.trial)]
        if not named:
            raise LossLakeError(
                f"nothing named {name} is withdrawn: 'losslake ledger --outcome withdrawn' lists the withdrawn trials"
            )
        restored += named
    rows = [
        {**each.trial.study.key(), "trial_id": each.trial.trial_id, "source_sha256": each.sha256} for each in restored
    ]
    save_release(lake, None, [_entry(row, RESTORED, reason, by, at) for row in rows])
    return [each.trial for each in restored]


def withdrawn_trials(lake: Lake) -> Mapping[Study, Sequence[WithdrawnTrial]]:
    """Return the trials that are withdrawn and weren't restored since, by study."""
    query = select(LedgerEntry).where(LedgerEntry.outcome.in_([WITHDRAWN, RESTORED])).order_by(LedgerEntry.id)
    active: dict[tuple[str, str | None], LedgerEntry] = {}
    for entry in lake.read(lambda session: session.scalars(query).all()):
        if entry.outcome == WITHDRAWN:
            active[entry.path, entry.sha256] = entry
        else:
            active.pop((entry.path, entry.sha256), None)
    by_study: dict[Study, list[WithdrawnTrial]] = defaultdict(list)
    runs = cache(partial(placed_runs, lake))
    for entry in active.values():
        trial = Trial.parse(entry.path)
        of_trial = {digest: run for digest, (number, run) in runs(trial.study).items() if number == trial.trial_id}
        by_study[trial.study].append(WithdrawnTrial(trial, entry.sha256 or "", entry.reason or "", of_trial))
    return by_study


def leave_out(store: Store, offer: Offer, withdrawn: Mapping[Study, Sequence[WithdrawnTrial]]) -> None:
    """Take the withdrawn trials out of an offer, and report each as quarantined."""
    for study, change in offer.changes.items():
        if study in withdrawn:
            change.parts = [_without(store, offer, study, part, withdrawn[study]) for part in change.parts]


def _without(
    store: Store, offer: Offer, study: Study, part: WrittenPart, withdrawn: Sequence[WithdrawnTrial]
) -> WrittenPart:
    by_log = {(log.sha256, within_file(log.run)): each for each in withdrawn for log in each.logs}
    by_place = {digest: each for each in withdrawn for digest in each.runs}
    trials, place = part.trials, place_of(offer.source) or offer.source.name
    rows = trials.select(["source_sha256", "source", "trial_id"]).to_pylist()
    found = [
        by_log.get((row["source_sha256"], within_file(row["source"])))
        or by_place.get(place_digest(place, row["source"]))
        for row in rows
    ]
    if not any(found):
        return part
    for row, each in zip(rows, found, strict=True):
        if each is not None:
            why = f"it was withdrawn ({each.reason})"
            if row["source_sha256"] != each.sha256:
                why += ", and its log has changed since"
            why += f": 'losslake withdraw {each.trial} --undo' lets ingests accept it again"
            offer.quarantined.append(
                Quarantined(
                    offer.source.name, row["source"], Rule.WITHDRAWN, why, None, str(study), row["trial_id"],
                    row["source_sha256"],
                )
            )  # fmt: skip
    remains = pa.array([each is None for each in found])
    remaining = _part(store, study, part.facts, trials.filter(remains), [w.file for w in part.written])
    discard(store, part.written)
    return remaining


def _copies(lake: Lake, rows: Sequence[Mapping[str, str]]) -> Sequence[str]:
    """Return the logs that the ledger has as copies of those of trials. rows: of `trials`."""
    logs = {(row["source_sha256"], within_file(row["source"])) for row in rows}
    query = select(LedgerEntry).where(LedgerEntry.rule == Rule.DUPLICATE_SOURCE).order_by(LedgerEntry.id)
    copies = lake.read(lambda session: session.scalars(query).all())
    named = [f"{each.source}: {each.path}" for each in copies if (each.sha256, within_file(each.path)) in logs]
    return list(dict.fromkeys(named))


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
    rows = {_study(row): row for row in read_small_table(store, files, "studies").to_pylist()}
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


def _entry(row: Mapping[str, object], outcome: str, reason: str, by: str, at: datetime) -> LedgerEntry:
    trial = _trial(row)
    return LedgerEntry(
        offered_at=at, source=by, path=str(trial), sha256=row["source_sha256"], format="", study=str(trial.study),
        outcome=outcome, reason=reason,
    )  # fmt: skip


def _names_of(trial: Trial) -> tuple[str, str, str]:
    return str(trial), str(trial.study), trial.study.workload.collection


def _study(row: Mapping[str, object]) -> Study:
    *workload, batch_size = (row[key] for key in STUDY_KEYS)
    return Study(Workload(*map(str, workload)), int(str(batch_size)))


def _trial(row: Mapping[str, object]) -> Trial:
    return Trial(_study(row), int(str(row["trial_id"])))
