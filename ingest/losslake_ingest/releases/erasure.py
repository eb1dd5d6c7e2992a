"""Erasure: the bytes of trials are removed from every release, for law or secrets; a tombstone stays.

Every listed release is published anew without the trials, under its number, in one transaction (see
`losslake_ingest.releases.rewriting`), with the tombstones and what the ledger says of the trials: a kill leaves the
lake as it was or as it should be. The former files are then no release's. `losslake.index.maintenance.clean` deletes
them, and `finish` removes the rest.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import delete, inspect, select
from sqlalchemy.orm import Session

from losslake.lake.data_files import WrittenFile, damaged_file, files_by_study, read_small_table, write_small_table
from losslake.lake.lake import WAREHOUSE, Lake, creation_lock
from losslake.lake.notices import ERASED, RESTORED, WITHDRAWN
from losslake.lake.publishing import content_digest
from losslake.lake.retention import unlist
from losslake.lake.store.store import DataFile
from losslake_ingest.contracts.study import StudyFacts
from losslake_ingest.pipeline.directions import measured_metrics, stated_directions
from losslake_ingest.pipeline.engine import WrittenPart, packed
from losslake_ingest.pipeline.trial_rows import are_named, in_order, rows_of, study_names, trial_names, trials_of
from losslake_ingest.releases.compaction import merge_files
from losslake_ingest.releases.ledger import MOVED, PLACED
from losslake_ingest.releases.rewriting import delete_scratch, republish
from losslake_ingest.releases.withdrawal import logs_of, reduced_study
from losslake_schema.database import LedgerEntry, ReleaseRow, RememberedSource
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.registry import Direction, Goal, metrics
from losslake_schema.registry import goals as registered_goals
from losslake_schema.release import Release
from losslake_schema.tables import ALL_TABLES, OPTIONAL_TABLES, PARTITIONED, STUDIES, STUDY_KEYS

GONE = "[erased]"
SPOOLS = "contributions"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ROWS = 1000


@dataclass(frozen=True)
class Erasure:
    """The result of an erasure. trials: by release. unlisted: releases in which nothing else was.

    runs: the UUIDs in the trials' sources, which are the names of recorded runs.
    """

    trials: Mapping[int, Sequence[Trial]]
    unlisted: Sequence[int] = ()
    runs: frozenset[str] = frozenset()

    @property
    def all_trials(self) -> Sequence[Trial]:
        """The trials of all releases, each once."""
        return sorted({trial for trials in self.trials.values() for trial in trials})


def erase(
    lake: Lake,
    names: Sequence[str],
    reason: str,
    by: str,
    texts: Sequence[str] = (),
    hide_names: bool = False,
    dry_run: bool = False,
) -> Erasure:
    """Publish every release anew without the trials of these collections, studies and trials, and leave tombstones.

    Trials with the same log under other names are erased with them, those with a copy of it too; other trials no longer
    list erased logs as copies. texts: are removed from the ledger, the notes of
    releases, and the sources of their studies. hide_names: tombstones have digests of the trials' names. If the names
    have no trials, but were erased before, nothing is changed: `finish` finishes an erasure that was killed. Raises
    LossLakeError for unknown names, and if nothing would remain in the newest release.
    """
    lake.check_location()
    plan = _plan(lake, names)
    emptied = [each.release.number for each in plan if each.is_emptied]
    erasure = Erasure({each.release.number: each.trials for each in plan if each.trials}, emptied, _runs(plan))
    if not erasure.trials and not texts and not _has_tombstones(lake):
        raise LossLakeError(f"no release has a collection, study or trial named {' or '.join(names)}")
    if plan and plan[-1].release.number in erasure.unlisted:
        raise LossLakeError(f"nothing would remain in the newest release of {lake}: delete the lake, and use a new one")
    if dry_run or not (erasure.trials or texts):
        return erasure
    _delete_spools(lake, erasure.runs)
    unlist(lake, erasure.unlisted)
    remaining = _Remaining(lake, {each.release.number: each for each in plan}, texts)
    listed = [each.release for each in plan if each.release.number not in erasure.unlisted]
    texts_of_database = _Texts(plan, reason, by, tuple(texts), hide_names)
    republish(lake, listed, remaining.files_of, remaining.digest_of, texts_of_database.change)
    return erasure


def finish(lake: Lake) -> None:
    """Remove what is in no file list: folders, cached blocks, and deleted rows in pages of the database."""
    with creation_lock(lake):
        delete_scratch(lake)
    folder = lake.store.local_folder
    if folder is not None:
        # The names of folders are those of studies.
        for path in sorted((folder / WAREHOUSE).rglob("*"), key=lambda path: -len(path.parts)):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
    if not lake.location.is_folder:
        for name in ("blocks", "files"):
            shutil.rmtree(lake.folder / name, ignore_errors=True)
    with lake.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if lake.engine.dialect.name == "sqlite":
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            # The database may have tables of others, too.
            for table in inspect(connection).get_table_names():
                if re.fullmatch(r"(losslake|iceberg)_\w+", table):
                    connection.exec_driver_sql(f"VACUUM FULL {table}")


@dataclass(frozen=True)
class _Planned:
    """A release with the rows of its trials and of copies to erase. is_emptied: it has no other trials."""

    release: Release
    rows: pa.Table
    copies: pa.Table
    is_emptied: bool

    @property
    def is_changed(self) -> bool:
        """True if there is anything to erase."""
        return bool(self.rows.num_rows or self.copies.num_rows)

    def column(self, name: str) -> list[str]:
        """Return a column of all logs to erase."""
        texts: list[str] = self.rows[name].to_pylist() + self.copies[name].to_pylist()
        return texts

    @cached_property
    def trials(self) -> Sequence[Trial]:
        """The trials to erase."""
        return trials_of(self.rows)

    @cached_property
    def studies(self) -> frozenset[Study]:
        """The studies that they are in."""
        return frozenset(trial.study for trial in self.trials)


def _plan(lake: Lake, names: Sequence[str]) -> list[_Planned]:
    """Return the listed releases, oldest first."""
    releases = list(reversed(lake.releases()))
    logs: set[str] = set()
    stored = {}
    for release in releases:
        files = lake.files(release, partitioned=False)
        stored[release.number] = read_small_table(lake.store, files, "copies")
        trials = read_small_table(lake.store, files, "trials")
        named = trials.filter(are_named(trials, names))
        logs |= {*logs_of(named), *logs_of(rows_of(stored[release.number], named))}
    plan = []
    for release in releases:
        trials = read_small_table(lake.store, lake.files(release, partitioned=False), "trials")
        chosen = trials.filter(pc.or_(are_named(trials, names), _are_in(logs, trials)))
        copies = stored[release.number]
        gone = pc.or_(pc.is_in(trial_names(copies), trial_names(chosen).combine_chunks()), _are_in(logs, copies))
        is_emptied = bool(chosen.num_rows) and chosen.num_rows == trials.num_rows
        plan.append(_Planned(release, chosen, copies.filter(gone), is_emptied))
    return plan


def _are_in(logs: set[str], rows: pa.Table) -> pa.Array:
    """Return flags of the trials or copies with one of these logs."""
    return pa.array([digest in logs for digest in logs_of(rows)], pa.bool_())


def _has_tombstones(lake: Lake) -> bool:
    query = select(LedgerEntry.id).where(LedgerEntry.outcome == ERASED).limit(1)
    return lake.read(lambda session: session.scalar(query)) is not None


def _runs(plan: Sequence[_Planned]) -> frozenset[str]:
    sources = {source for each in plan for source in each.column("source")}
    return frozenset(part for source in sources for part in source.split("/") if _UUID.fullmatch(part))


def _delete_spools(lake: Lake, spools: frozenset[str]) -> None:
    """Delete the spools of contributions that the trials were read from: folders of that UUID."""
    if spools:
        stored = [file.path for file in lake.store.list_files(SPOOLS)]
        lake.store.delete([path for path in stored if not spools.isdisjoint(path.split("/"))])


class _Remaining:
    """The files of releases without the erased trials, and the digests of their content; written release by release."""

    def __init__(self, lake: Lake, plan: Mapping[int, _Planned], texts: Sequence[str]) -> None:
        """Begin. texts: that no source of a study may have."""
        self._lake = lake
        self._plan = plan
        self._digests: dict[int, str] = {}
        erased_files = {sha256 for each in plan.values() for sha256 in each.column("source_sha256")}
        self._not_in_sources = [*erased_files, *texts]
        # Releases share the files of studies, before and after.
        self._written: dict[tuple[frozenset[str], tuple[int, ...]], tuple[Sequence[WrittenFile], frozenset[str]]] = {}

    def digest_of(self, release: Release) -> str:
        """Return the content digest of a release whose files were written."""
        return self._digests[release.number]

    def files_of(self, release: Release) -> list[DataFile]:
        """Return the files of a release, written as needed."""
        store, planned, files = self._lake.store, self._plan[release.number], self._lake.files(release)
        self._digests[release.number] = release.content_digest
        if not planned.is_changed:
            return files
        tables = {name: read_small_table(store, files, name) for name in ALL_TABLES if name not in PARTITIONED}
        gone = pa.array([str(trial) for trial in planned.trials], pa.string())
        trials = in_order(tables["trials"].filter(pc.invert(pc.is_in(trial_names(tables["trials"]), gone))))
        rows = {Study.of(row): row for row in tables["studies"].to_pylist()}
        by_study, names = files_by_study(files), study_names(trials)
        remaining = [file for file in files if file.study is not None and file.study not in planned.studies]
        directions = stated_directions(tables["metrics"])
        for study in sorted(planned.studies):
            of_study, row = trials.filter(pc.equal(names, str(study))), rows.pop(study)
            if of_study.num_rows:
                written, metrics = self._write(study, by_study[study], of_study, directions)
                remaining += [each.file for each in written]
                part = WrittenPart(StudyFacts.of(study, row), packed(of_study), written, metrics, ())
                is_quoting = any(text in str(row["source"]) for text in self._not_in_sources)
                source = {"source": GONE} if is_quoting else {}
                rows[study] = reduced_study({**row, **source}, part, ERASED).study_row()
        is_kept = pc.invert(_are_in(set(logs_of(planned.copies)), tables["copies"]))
        tables["copies"] = tables["copies"].filter(is_kept)
        tables = _small_tables(tables, trials, in_order(pa.Table.from_pylist(list(rows.values()), STUDIES)))
        self._digests[release.number] = content_digest(tables)
        stored = {name: table for name, table in tables.items() if table.num_rows or name not in OPTIONAL_TABLES}
        return remaining + [write_small_table(store, name, table).file for name, table in stored.items()]

    def _write(
        self, study: Study, files: Sequence[DataFile], trials: pa.Table, directions: Mapping[str, Direction]
    ) -> tuple[Sequence[WrittenFile], frozenset[str]]:
        """Write the curves of the remaining trials of a study, once for all releases that share them; see merge_files.

        Raises LakeBroken for a curve that doesn't match its digest.
        """
        key = frozenset(file.path for file in files), tuple(trials["trial_id"].to_pylist())
        if key not in self._written:
            result = merge_files(self._lake.store, study, files, trials, directions)
            if result is None:
                raise damaged_file(self._lake.store, files[0].path, "doesn't match the digests of its trials")
            self._written[key] = result
        return self._written[key]


def _small_tables(tables: Mapping[str, pa.Table], trials: pa.Table, studies: pa.Table) -> dict[str, pa.Table]:
    """Return the small tables of the remaining trials and studies."""
    collections = pa.array(sorted(set(studies["collection"].to_pylist())), pa.string())
    gone = _workloads(tables["studies"]) - _workloads(studies)
    goals = [Goal.of(row) for row in tables["goals"].to_pylist()]
    stay = [goal.workload not in gone or goal in registered_goals() for goal in goals]
    names = pa.array(sorted(measured_metrics(studies) | set(metrics())), pa.string())
    return {
        "collections": tables["collections"].filter(pc.is_in(tables["collections"]["collection"], collections)),
        "studies": studies,
        "trials": trials,
        "metrics": tables["metrics"].filter(pc.is_in(tables["metrics"]["metric"], names)),
        "goals": tables["goals"].filter(pa.array(stay, pa.bool_())),
        **{name: rows_of(tables[name], trials) for name in OPTIONAL_TABLES},
    }


def _workloads(studies: pa.Table) -> set[Workload]:
    return {Study.of(row).workload for row in studies.select(list(STUDY_KEYS)).to_pylist()}


class _Texts:
    """Replace the rows that may quote erased trials by tombstones."""

    def __init__(self, plan: Sequence[_Planned], reason: str, by: str, texts: Sequence[str], hide_names: bool) -> None:
        self._plan = plan
        self._reason, self._by, self._hide_names = reason, by, hide_names
        self._trials = {str(trial) for each in plan for trial in each.trials}
        self._studies = {str(study) for each in plan for study in each.studies}
        self._files = {sha256 for each in plan for sha256 in each.column("source_sha256")}
        self._runs = {run for each in plan for run in each.column("source")}
        self._everywhere = [*texts, *(sorted(self._trials, key=len, reverse=True) if hide_names else ())]

    def change(self, session: Session) -> None:
        """Change the ledger, the notes of releases and the remembered sources, and add the tombstones."""
        for entry in session.scalars(select(LedgerEntry).order_by(LedgerEntry.id)).yield_per(_ROWS):
            self._change_entry(session, entry)
        for release in session.scalars(select(ReleaseRow)):
            release.notes = self._without_texts(release.notes)
        session.execute(delete(RememberedSource))
        session.add_all(self._tombstones(datetime.now(UTC)))

    def _change_entry(self, session: Session, entry: LedgerEntry) -> None:
        is_of_trial = entry.path in self._trials and entry.outcome in (PLACED, MOVED, WITHDRAWN, RESTORED)
        if self._hide_names and is_of_trial:
            session.delete(entry)
            return
        if is_of_trial and entry.outcome == PLACED:
            entry.source = entry.reason = GONE
        elif entry.sha256 in self._files:
            # A source of one file, or a quarantined file with the same bytes.
            entry.source = GONE
            entry.reason = GONE if entry.reason else None
            entry.path = GONE if entry.path else ""
        elif entry.outcome == "quarantined" and (entry.study in self._studies or entry.path in self._runs):
            entry.reason = GONE if entry.reason else None
            entry.path = GONE if entry.path in self._runs else entry.path
        for name in ("source", "path", "reason", "study"):
            text = getattr(entry, name)
            if text:
                setattr(entry, name, self._without_texts(text))

    def _without_texts(self, text: str) -> str:
        for each in self._everywhere:
            text = text.replace(each, GONE)
        return text

    def _tombstones(self, at: datetime) -> Iterator[LedgerEntry]:
        """Yield an entry for each trial and content, for each release, and for later ingests of the same logs."""

        def entry(path: str, outcome: str, sha256: str, study: str | None, release: int | None = None) -> LedgerEntry:
            return LedgerEntry(
                offered_at=at, source=self._by, path=path, sha256=sha256, format="", study=study, outcome=outcome,
                reason=self._reason, release=release,
            )  # fmt: skip

        contents, logs = {}, {}
        for each in self._plan:
            digests = each.rows["content_digest"].to_pylist()
            for trial, content, log in zip(each.trials, digests, logs_of(each.rows), strict=True):
                contents[str(trial), content] = logs[str(trial), log] = trial
            copies = rows_of(each.copies, each.rows)
            logs |= {(str(trial), log): trial for trial, log in zip(trials_of(copies), logs_of(copies), strict=True)}
        for (name, content), trial in contents.items():
            hidden = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
            shown = (hidden, None) if self._hide_names else (name, str(trial.study))
            yield entry(shown[0], ERASED, content, shown[1])
        for each in self._plan:
            if each.is_changed:
                yield entry("", ERASED, each.release.content_digest, None, each.release.number)
        if not self._hide_names:
            for (name, log), trial in logs.items():
                yield entry(name, WITHDRAWN, log, str(trial.study))
