"""Publishing of an ingest: new files and rows on top of the newest release, published in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from losslake.lake import publishing
from losslake.lake.data_files import WrittenFile, column_by_study, files_by_study, read_small_table, write_small_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.study import source_digest, study_digest
from losslake_ingest.pipeline.copies import Copies, copy_rows
from losslake_ingest.pipeline.credit import contributor_rows
from losslake_ingest.pipeline.directions import (
    measured_metrics,
    merged_directions,
    metric_rows,
    records_without_files,
    stated_directions,
)
from losslake_ingest.pipeline.engine import WrittenPart
from losslake_ingest.pipeline.goals import goal_rows, goals_not_in
from losslake_ingest.pipeline.trial_rows import in_order, moved_rows, study_names
from losslake_ingest.pipeline.write import write_records
from losslake_schema.contributors import Contributor
from losslake_schema.database import LedgerEntry
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial
from losslake_schema.registry import CollectionMetadata, Direction, Goal, collections
from losslake_schema.release import Release
from losslake_schema.statuses import STORED_STATUSES
from losslake_schema.tables import ALL_TABLES, COLLECTIONS, OPTIONAL_TABLES, PARTITIONED, STUDIES

ATTEMPTS = 50
_STUDIES_PER_BATCH = 1000
Ledger = Callable[[frozenset[Study]], Iterable[LedgerEntry]]


@dataclass
class StudyChange:
    """The changes of one ingest to a study. adds: its trials are added to the stored ones and don't replace them.

    source: the name of what it was read from, as releases have it. stored_row: the row of `studies` of a study that
    only loses trials.
    """

    study: Study
    format: str
    reader_version: str
    adds: bool = False
    source: str = ""
    parts: list[WrittenPart] = field(default_factory=list)
    source_files: dict[str, str] = field(default_factory=dict)
    n_quarantined: int = 0
    stored_row: Mapping[str, object] | None = None

    @property
    def source_digest(self) -> str:
        """The digest of the source files and the reader's version."""
        return source_digest(self.reader_version, self.source_files)

    @property
    def trial_ids(self) -> set[int]:
        """The trial ids of all parts."""
        return {trial_id for part in self.parts for trial_id in part.trials["trial_id"].to_pylist()}

    @property
    def written(self) -> list[WrittenFile]:
        """The data files of all parts."""
        return [written for part in self.parts for written in part.written]

    def trials(self) -> pa.Table:
        """Return the rows of `trials` of this study, unordered."""
        return pa.concat_tables([part.trials for part in self.parts])

    def study_row(self) -> dict[str, object]:
        """Return the row of `studies` of this study."""
        facts, trials = self.parts[0].facts, self.trials()
        statuses = trials["status"].to_pylist()
        digests = dict(zip(trials["trial_id"].to_pylist(), trials["content_digest"].to_pylist(), strict=True))
        return {
            **self.study.key(),
            **{name: value for name, value in vars(facts).items() if name != "study"},
            "metrics": sorted(frozenset[str]().union(*(part.metrics for part in self.parts))),
            "n_trials": len(statuses),
            **{f"n_{status.lower()}": statuses.count(status) for status in STORED_STATUSES},
            "n_evaluations": sum(trials["n_evaluations"].to_pylist()),
            "n_measurements": sum(w.file.rows for w in self.written if w.file.table == "measurements"),
            "n_nonfinite": sum(trials["n_nonfinite"].to_pylist()),
            "content_digest": study_digest(facts, digests),
            **self._origin(),
        }

    def _origin(self) -> dict[str, object]:
        names = ("n_quarantined", "format", "source", "source_digest")
        return {name: self.stored_row[name] if self.stored_row is not None else getattr(self, name) for name in names}


@dataclass(frozen=True)
class Published:
    """The published release, None if nothing changed, and the studies that changed.

    files: the data files of the newest release after the ingest.
    """

    release: Release | None
    studies: frozenset[Study]
    files: Sequence[DataFile]


@dataclass(frozen=True)
class Changes:
    """The changes to publish, and the content digests of the stored studies that they are based on.

    directions: that mappings state, of metrics that aren't registered. dropped: studies to leave out.
    whole: studies that are offered with all of their trials, changed or not. contributors: new ones, by trial, or by
    study for all of its trials. moved: the new place of each stored trial that moves. copies: found by the ingest, if
    it is one. erasure: the last one when the work began. stored_facts_stay: of collections, goals and directions.
    """

    studies: Mapping[Study, StudyChange]
    based_on: Mapping[Study, str] = field(default_factory=dict)
    collections: Mapping[str, CollectionMetadata] = field(default_factory=dict)
    goals: Sequence[Goal] = ()
    directions: Collection[tuple[str, Direction]] = ()
    dropped: frozenset[Study] = frozenset()
    whole: frozenset[Study] = frozenset()
    contributors: Mapping[Study | Trial, tuple[Contributor, ...]] = field(default_factory=dict)
    moved: Mapping[Trial, Trial] = field(default_factory=dict)
    copies: Copies | None = None
    erasure: int | None = None
    stored_facts_stay: bool = False


class ConcurrentChange(Exception):
    """Another ingest changed a study to which this one adds trials; the sources have to be read again."""


def publish(
    lake: Lake,
    changes: Changes,
    ledger: Ledger,
    notes: str,
    also: publishing.Also | None = None,
    build: publishing.Build | None = None,
) -> Published:
    """Publish the changes on top of the newest release; studies that don't differ are skipped.

    If another ingest publishes first, the changes are applied to its release, and both succeed. ledger: returns the
    entries for the studies that get published, which are stored in the same transaction, as is what `also` changes.
    build: called once, before the first attempt to publish.
    Raises ConcurrentChange, and PublicationRefused if `also` does.
    """
    for attempt in range(ATTEMPTS):
        base = lake.newest_release()
        draft = _Draft(lake, base, changes)
        studies = frozenset(draft.changes)
        if not draft.is_new:
            publishing.save_ledger(lake, ledger(studies), also)
            return Published(None, studies, draft.files.all)
        staged = draft.stage(notes)
        if build is not None and base is not None and attempt == 0:
            staged = publishing.build_for_services(lake, base, staged, build)
        try:
            release = publishing.publish_release(lake, staged, ledger(studies), changes.erasure, also)
        except publishing.ErasedMeanwhile:
            raise ConcurrentChange("trials were erased") from None
        if release is not None:
            return Published(release, studies, draft.files.all)
    raise LossLakeError("other ingests kept publishing first: run the same command again")


def discard(store: Store, written: Sequence[WrittenFile]) -> None:
    """Delete data files that will not be published."""
    store.delete([file.file.path for file in written])


class _Draft:
    """The next release: files to remove and to add, and the new small tables."""

    def __init__(self, lake: Lake, base: Release | None, changes: Changes) -> None:
        self.lake = lake
        self.base = base
        self.files = publishing.FileChanges(lake.files(base) if base is not None else [])
        self.stored = {name: self._stored(name) for name in ALL_TABLES if name not in (*PARTITIONED, "trials")}
        tables = dict(self.stored)
        if changes.stored_facts_stay:
            changes = _without_stored(changes, self.stored)
        stored_digests = column_by_study(tables["studies"], "content_digest")
        for study in {study for study, change in changes.studies.items() if change.adds} | changes.dropped:
            if stored_digests.get(study) != changes.based_on.get(study):
                raise ConcurrentChange(str(study))
        rows = {study: change.study_row() for study, change in changes.studies.items()}
        is_new = {study: stored_digests.get(study) != row["content_digest"] for study, row in rows.items()}
        self.changes = {study: change for study, change in changes.studies.items() if is_new[study]}
        replaced = self.changes.keys() | changes.dropped
        if replaced:
            new = pa.Table.from_pylist([rows[study] for study in self.changes], STUDIES)
            tables["studies"] = _replace_studies(tables["studies"], replaced, [new])
            trials = list(_trials_of(self.changes.values()))
            tables["trials"] = _replace_studies(self._stored("trials"), replaced, trials)
        if base is not None or replaced:
            tables["collections"] = _collection_rows(tables["collections"], tables["studies"], changes.collections)
            studies = column_by_study(tables["studies"], "content_digest").keys()
            tables["goals"] = goal_rows(tables["goals"], studies, changes.goals, changes.whole)
        self._change_facts_of_trials(tables, changes, bool(replaced or changes.moved))
        stored_directions = stated_directions(self.stored["metrics"])
        directions = merged_directions(stored_directions, changes.directions)
        if directions:
            measured = measured_metrics(tables["studies"])
            directions = {name: direction for name, direction in directions.items() if name in measured}
        is_changed = any(not table.equals(tables[name]) for name, table in self.stored.items())
        self.is_new = bool(replaced) or is_changed or directions != stored_directions
        if self.is_new:
            self._swap_data_files(replaced)
            tables["metrics"] = metric_rows(tables["studies"], directions)
            new = records_without_files(tables["studies"], directions, stored_directions, self.changes)
            by_study = files_by_study(self.files.all) if new else {}
            for study, missing in new.items():
                self.files.added["records"].append(write_records(lake.store, study, by_study[study], missing))
            self.tables = tables

    def _change_facts_of_trials(self, tables: dict[str, pa.Table], changes: Changes, is_other: bool) -> None:
        """Change the tables of contributors and copies. is_other: trials were replaced, or moved."""
        named = [name for name in OPTIONAL_TABLES if tables[name].num_rows and is_other]
        rows = {name: moved_rows(tables[name], changes.moved) for name in OPTIONAL_TABLES}
        if changes.contributors or "contributors" in named:
            tables["contributors"] = contributor_rows(rows["contributors"], self._trials(tables), changes.contributors)
        if changes.copies or "copies" in named:
            tables["copies"] = copy_rows(rows["copies"], self._trials(tables), changes.copies)

    def _trials(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        return tables["trials"] if "trials" in tables else self._stored("trials")

    def _stored(self, name: str) -> pa.Table:
        return read_small_table(self.lake.store, self.files.kept, name)

    def _swap_data_files(self, replaced: set[Study]) -> None:
        removed = [file for file in self.files.kept if file.study in replaced]
        self.files.kept = [file for file in self.files.kept if file.study not in replaced]
        for name in PARTITIONED:
            self.files.removed[name] = [file for file in removed if file.table == name]
            self.files.added[name] = [w for c in self.changes.values() for w in c.written if w.file.table == name]

    def stage(self, notes: str) -> publishing.StagedRelease:
        """Write the small tables and stage the release."""
        for name, table in self.tables.items():
            self._write_if_changed(name, table)
        facts = publishing.next_release(self.base, notes, publishing.content_digest(self.tables))
        return publishing.stage_release(self.lake, self.base, self.files, facts, self.tables["studies"])

    def _write_if_changed(self, name: str, table: pa.Table) -> None:
        old = [file for file in self.files.kept if file.table == name]
        has_file = bool(table.num_rows) or name not in OPTIONAL_TABLES
        if has_file and old and name in self.stored and table.equals(self.stored[name]):
            return
        self.files.kept = [file for file in self.files.kept if file.table != name]
        self.files.removed[name] = old
        self.files.added[name] = [write_small_table(self.lake.store, name, table)] if has_file else []


def _trials_of(changes: Iterable[StudyChange]) -> Iterator[pa.Table]:
    """Yield the rows of `trials` of the changes, in large tables."""
    remaining = iter(changes)
    while tables := [change.trials() for change in islice(remaining, _STUDIES_PER_BATCH)]:
        yield pa.concat_tables(tables).combine_chunks()


def _replace_studies(table: pa.Table, replaced: Collection[Study], new: Sequence[pa.Table]) -> pa.Table:
    """Replace the rows of some studies by new ones; return the table sorted by study (and trial)."""
    replaced_names = pa.array([str(study) for study in replaced], pa.string())
    kept = table.filter(pc.invert(pc.is_in(study_names(table), replaced_names)))
    return in_order(pa.concat_tables([kept, *new]))


def _without_stored(changes: Changes, stored: Mapping[str, pa.Table]) -> Changes:
    """Return changes that state nothing about collections, goals and metrics that are stored."""
    names, measured = set(stored["collections"]["collection"].to_pylist()), measured_metrics(stored["studies"])
    return replace(
        changes,
        collections={name: facts for name, facts in changes.collections.items() if name not in names},
        goals=goals_not_in(stored["goals"], changes.goals),
        directions=[(name, direction) for name, direction in changes.directions if name not in measured],
        whole=frozenset(),
    )


def _collection_rows(stored: pa.Table, studies: pa.Table, stated: Mapping[str, CollectionMetadata]) -> pa.Table:
    """Return a row for each collection with studies: new metadata first, then stored, then built-in.

    Fields that the new metadata leaves empty keep their stored value, and so does a licence that only runs contradict.
    """
    built_in = {c.collection: c for c in collections()}
    rows = {row["collection"]: row for row in stored.to_pylist()}
    result = []
    for name in sorted(set(studies["collection"].to_pylist())):
        facts = built_in.get(name) or built_in.get(name.split("/")[0]) or CollectionMetadata(name, licence="not stated")
        row = rows.get(name) or vars(facts) | {"collection": name}
        new = {key: text for key, text in vars(stated.get(name, CollectionMetadata(name))).items() if text}
        if new.pop("is_licence_of_run", False) and name in rows:
            del new["licence"]
        result.append({**row, **new})
    return pa.Table.from_pylist(result, COLLECTIONS)
