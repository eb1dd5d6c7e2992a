"""Reading of a bundle, whose trials are runs that already have their places.

They are numbered, compared with stored ones, recognized as copies and published like the runs of logs. A bundle with
any fault is refused as a whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.bundles.layout import (
    MANIFEST,
    NEWEST,
    OPTIONAL,
    SCHEMAS,
    SHORT_MEASUREMENTS,
    VERSIONS,
    Manifest,
    file_name,
)
from losslake_ingest.bundles.parquet_files import BundleTable
from losslake_ingest.bundles.short_values import SHORT, with_long_values
from losslake_ingest.contracts.report import Quarantined, SourceReport
from losslake_ingest.contracts.rules import BadMapping, Refusal, Rule, SourceBroken, shown
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER, Curves, StudyFacts, StudyPart, TrialFacts
from losslake_ingest.mapping.metrics import ColumnMetric, checked_metric
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.pipeline.copies import BUNDLE
from losslake_ingest.pipeline.gather import Gatherer, Stored
from losslake_ingest.pipeline.reading import Reading, Request, SourceReading
from losslake_ingest.pipeline.stored_curves import curves_of
from losslake_ingest.sources.member import Member, Refused, Source
from losslake_ingest.sources.open import BUNDLE_MANIFEST
from losslake_schema.contributors import Contributor, checked_contributors
from losslake_schema.names import CHANGES, Study, Trial, Workload, name_problem
from losslake_schema.registry import DIRECTIONS, CollectionMetadata, Goal, metric_named
from losslake_schema.statuses import STORED_STATUSES
from losslake_schema.tables import STUDY_KEYS

AGAIN = "get or build the bundle again"
QUARANTINED_BEFORE = "refused when the bundle was built: ingest its log to see why"
MOST_ROWS = 2**22  # of a study
_SHA256 = re.compile("[0-9a-f]{64}")


def reading_of(source: Source, request: Request, stored: Stored) -> Reading:
    """Return the reader of a source. Raises BadMapping if a bundle is to be read by a mapping."""
    if not source.is_bundle:
        return SourceReading(source, request, stored)
    if replace(request, contributors=()) != Request():
        raise BadMapping(
            f"{source.name} is a bundle, which needs no mapping: leave --map, --collection and --format out"
        )
    return BundleReading(source, stored, request.contributors)


class BundleReading(Reading):
    """A reader of a bundle; see `Reading`."""

    def __init__(self, source: Source, stored: Stored, contributors: Sequence[Contributor] = ()) -> None:
        """Begin a bundle. contributors: of every trial, beside those that the bundle names."""
        super().__init__(source, stored)
        self._everywhere = contributors
        self._named: dict[Trial, list[Contributor]] = {}
        self._copies: dict[Trial, list[TrialFacts]] = {}

    def report(self) -> SourceReport:
        """Return the report of the source, for what has been read so far."""
        remarks = tuple(sorted(self.remarks.items()))
        return SourceReport(str(self.source.path), {"bundle": 1}, 0, 0, is_whole=True, mapping=None, remarks=remarks)

    def items(self) -> Iterator[StudyPart | Quarantined]:
        """Yield parts of studies and quarantined items. Raises SourceBroken at the first fault."""
        tables = self._tables()
        small = {name: table.read() for name, table in tables.items() if name != "measurements"}
        try:
            self._collect(small)
            for row in small["quarantined"].to_pylist():
                rule, line, study, sha256 = Rule(row["rule"]), row["line"], row["study"], row["sha256"]
                yield Quarantined(
                    self.source.name, _text(row["path"]), rule, QUARANTINED_BEFORE, line, study, None, sha256
                )
            yield from self._parts(small["studies"].to_pylist(), small["trials"], _Rows(tables["measurements"]))
        except (Refusal, TypeError, ValueError, OverflowError) as error:
            raise SourceBroken(f"{error}: {AGAIN}") from None

    def _tables(self) -> Mapping[str, BundleTable]:
        """Return the files of the bundle, whose bytes are those that its manifest states."""
        names = {BUNDLE_MANIFEST, *map(file_name, SCHEMAS), *map(file_name, OPTIONAL)}
        files: dict[str, bytes] = {}
        for member in self.source.members(lambda _: True):
            if isinstance(member, Refused):
                raise SourceBroken(f"{member.path}: {member.message}: {AGAIN}")
            assert isinstance(member, Member)
            if member.path not in names or member.path in files:
                what = "twice" if member.path in files else "which doesn't belong in a bundle"
                raise SourceBroken(f"the bundle holds {shown(member.path)}, {what}: {AGAIN}")
            files[member.path] = member.data
        missing = sorted(names - files.keys() - {*map(file_name, OPTIONAL)})
        if missing:
            raise SourceBroken(f"the bundle lacks {missing[0]}: {AGAIN}")
        manifest = self._manifest(files[BUNDLE_MANIFEST])
        tables = {name for name in (*SCHEMAS, *OPTIONAL) if file_name(name) in files}
        if manifest.files.keys() != tables:
            raise SourceBroken(f"{BUNDLE_MANIFEST} doesn't list exactly the files of a bundle: {AGAIN}")
        for name, stated in manifest.files.items():
            if hashlib.sha256(files[file_name(name)]).hexdigest() != stated.sha256:
                raise SourceBroken(f"{file_name(name)} of the bundle was altered (its sha256 differs): {AGAIN}")
        others = {"measurements": SHORT_MEASUREMENTS} if manifest.bundle == NEWEST else {}
        return {
            name: BundleTable(name, files[file_name(name)], stated.rows, others.get(name))
            for name, stated in manifest.files.items()
        }

    def _manifest(self, data: bytes) -> Manifest:
        try:
            manifest = MANIFEST.validate_json(data)
        except ValueError as error:
            raise SourceBroken(f"{BUNDLE_MANIFEST} can't be read ({str(error).splitlines()[0]}): {AGAIN}") from None
        if manifest.bundle not in VERSIONS:
            readable = f"{VERSIONS[0]} to {VERSIONS[-1]}"
            raise SourceBroken(
                f"the bundle has layout {manifest.bundle}, and this LossLake reads {readable}: upgrade it"
            )
        if manifest.notes:
            self.remarks[_text(manifest.notes)] += 1
        return manifest

    def _collect(self, tables: Mapping[str, pa.Table]) -> None:
        """Collect collections, goals and directions."""
        for row in tables["collections"].to_pylist():
            row = {name: _text(value) for name, value in row.items()}
            self.collections[row["collection"]] = CollectionMetadata(**row)
        for row in tables["goals"].to_pylist():
            goal = Goal.of(row)
            checked_metric(goal.metric)
            if not np.isfinite(goal.target) or goal.comparator not in ("strict", "inclusive"):
                raise ValueError(
                    f"a goal of {goal.workload} has an invalid target or comparator: {goal.target}, {goal.comparator}"
                )
            self.goals[goal] = None
        for row in tables["metrics"].to_pylist():
            if metric_named(checked_metric(row["metric"])).direction is None and row["direction"] is not None:
                self.directions[row["metric"], DIRECTIONS[DIRECTIONS.index(row["direction"])]] = None
        for row in tables["contributors"].to_pylist() if "contributors" in tables else ():
            trial = Trial(_study(row), int(row.pop("trial_id")))
            contributor = Contributor(_text(row["name"]), row["orcid"], _text(row["role"]), row["contribution"])
            self._named.setdefault(trial, []).append(contributor)
        for row in tables["copies"].to_pylist() if "copies" in tables else ():
            self._copies.setdefault(Trial(_study(row), row["trial_id"]), []).append(_trial_facts(row))

    def _parts(
        self, studies: Sequence[Mapping[str, Any]], trials: pa.Table, rows: _Rows
    ) -> Iterator[StudyPart | Quarantined]:
        """Yield the parts of the studies, which are sorted as the rows of both other tables are."""
        start = 0
        seen: set[Study] = set()
        for log_format, group in groupby(studies, lambda row: row["format"]):
            gatherer = Gatherer(
                BUNDLE, _text(log_format)[:64], self.stored, lambda text, _: self.remarks.update([text])
            )
            for row in group:
                study = _study(row)
                if study in seen or row["collection"] not in self.collections:
                    raise ValueError(f"the study {study} is listed twice, or its collection isn't")
                seen.add(study)
                n_trials = int(row["n_trials"])
                own_trials = trials.slice(start, max(0, n_trials)).to_pylist()
                if not 0 < n_trials == len(own_trials):
                    raise ValueError(f"the study {study} doesn't have the {n_trials:,} trials that it states")
                runs = self._runs(StudyFacts.of(study, row), own_trials, rows.read(study, row))
                start += n_trials
                for run in runs:
                    yield from gatherer.add(run)
            yield from gatherer.flush()
        if start != trials.num_rows or rows.has_more():
            raise ValueError("the bundle has trials or measurements of studies that it doesn't list")
        for name, rest in (("contributors", self._named), ("copies", self._copies)):
            if rest:
                raise ValueError(f"the bundle has {name} of {next(iter(rest))}, which it doesn't hold")

    def _runs(self, facts: StudyFacts, trials: Sequence[Mapping[str, Any]], rows: pl.DataFrame) -> list[PlacedRun]:
        """Return the trials of a study as runs."""
        study = facts.study
        ids = [row["trial_id"] for row in trials]
        if ids != sorted(set(ids)) or min(ids, default=0) < 0 or not set(rows["trial_id"].unique()) <= set(ids):
            raise ValueError(f"the trials of {study} aren't in order, or measurements name others")
        if rows.select("trial_id", "step", "metric").is_duplicated().any():
            raise ValueError(f"{study} has two values of a metric at one step")
        curves = curves_of(rows, ids)
        _check_values(curves, study)
        return [self._run(facts, row, curves.trial(index)) for index, row in enumerate(trials)]

    def _run(self, facts: StudyFacts, row: Mapping[str, Any], curve: Curves) -> PlacedRun:
        trial, study = _trial_facts(row), _study(row)
        if study != facts.study or len(curve.steps) != row["n_evaluations"]:
            raise ValueError(f"trial {trial.trial_id} of {facts.study} has wrong facts")
        key = Trial(study, trial.trial_id)
        return PlacedRun(
            run=trial.source,
            study=study,
            facts=facts,
            trial_id=trial.trial_id,
            status=trial.status,
            parameters=trial.parameters,
            attributes=trial.attributes,
            curve=curve,
            files={trial.source: trial.source_sha256},
            collection=self.collections[facts.study.workload.collection],
            steps=trial.steps,
            contributors=checked_contributors([*self._everywhere, *self._named.pop(key, ())]),
            copies=tuple(self._copies.pop(key, ())),
        )


class _Rows:
    """The rows of measurements, read study by study."""

    def __init__(self, table: BundleTable) -> None:
        self._table = table
        self._batches = table.batches()
        self._rest: list[pa.RecordBatch] = []

    def read(self, study: Study, facts: Mapping[str, Any]) -> pl.DataFrame:
        """Return the next rows, as many as the study states. Raises ValueError if they belong to another study."""
        missing = int(facts["n_measurements"])
        if not 0 <= missing <= MOST_ROWS:
            raise ValueError(f"the study {study} states {missing:,} measurements; at most {MOST_ROWS:,} are read")
        batches = []
        while missing:
            batch = self._rest.pop() if self._rest else next(self._batches, None)
            if batch is None:
                raise ValueError(f"{study} lacks {missing:,} of the measurements that it states")
            if len(batch) > missing:
                self._rest.append(batch.slice(missing))
            batches.append(batch.slice(0, missing))
            missing -= len(batches[-1])
        rows = pa.Table.from_batches(batches, None if batches else SCHEMAS["measurements"])
        for key, value in study.shown_key().items():
            if pc.unique(rows[key]).to_pylist() not in ([value], []):
                raise ValueError(f"{study} is followed by measurements of another study")
        if SHORT in rows.column_names:
            rows = with_long_values(rows)
        if any(rows[name].null_count for name in ("metric", "trial_id", "step", "value")):
            raise ValueError(f"{study} has measurements without metric, trial, step or value")
        return pl.DataFrame(rows.drop_columns(list(STUDY_KEYS)))

    def has_more(self) -> bool:
        """Return True if a row is left."""
        return bool(self._rest) or next(self._batches, None) is not None


def _check_values(curves: Curves, study: Study) -> None:
    """Raise ValueError or Refusal for steps, names or values that no log could have given."""
    if len(curves.steps) and not 0 <= curves.steps.min() <= curves.steps.max() <= LARGEST_EXACT_INTEGER:
        raise ValueError(f"{study} has a step below 0 or above 2^53")
    for metric, values in curves.values.items():
        try:
            ColumnMetric(checked_metric(metric), metric).check(values, curves.steps)
        except Refusal as refusal:
            raise ValueError(f"{study}: {refusal.message}") from None


def _study(row: Mapping[str, Any]) -> Study:
    """Return the study of a row of `studies` or `trials`. Raises ValueError for an invalid name."""
    *names, batch_size = (row[key] for key in STUDY_KEYS)
    for name in (*_text(names[0]).split("/"), *names[1:]):
        problem = name_problem(_text(name))
        if problem:
            raise ValueError(f"the name {shown(name)} {problem}")
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
        raise ValueError(f"the batch size {batch_size} isn't above 0")
    return Study(Workload(*names), batch_size or CHANGES)


def _trial_facts(row: Mapping[str, Any]) -> TrialFacts:
    """Return the facts in a row of `trials` or `copies`. Raises ValueError for those that no log could have given."""
    facts = TrialFacts.of(row)
    for value in facts.attributes.values():
        orjson.loads(value)
    is_valid = facts.status in STORED_STATUSES and 0 <= facts.steps <= LARGEST_EXACT_INTEGER
    if not is_valid or not _SHA256.fullmatch(facts.source_sha256):
        raise ValueError(f"trial {facts.trial_id} of {_study(row)} has wrong facts")
    _text(facts.source)
    return facts


def _text(value: object) -> str:
    """Return a text. Raises ValueError for anything else, and for characters that can't be printed."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{shown(value)} isn't printable text")
    return value
