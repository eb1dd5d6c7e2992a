"""What the sources of an ingest bring: each is read, an engine converts its parts, and they become changes to studies.

Nothing that is stored gets lost through a fault of an offer: stored trials that it lacks so are carried over into the
next version of their study.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import Written, stored_table, with_values
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.engine import Converted, Engine, Outcome, Task, WrittenPart, packed
from losslake_ingest.gather import RunsPart, Stored
from losslake_ingest.publish import StudyChange, discard
from losslake_ingest.reading import SourceReading
from losslake_ingest.report import Progress, Quarantined, SourceReport
from losslake_ingest.rules import SourceBroken
from losslake_ingest.sources.member import Source
from losslake_ingest.study import Curves, StudyPart, offsets_of, source_digest
from losslake_ingest.write import write_curves
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass
class Offer:
    """What one source brought: changes by study, studies that are stored already, what was quarantined.

    is_recalled: nothing was read, what it brought is known from the last time. is_certain: nobody wrote to it while it
    was read, so that its sha256 is that of what was read.
    """

    source: Source
    report: SourceReport
    collections: Mapping[str, CollectionFacts] = field(default_factory=dict)
    goals: Sequence[Goal] = ()
    sha256: str | None = None
    changes: dict[Study, StudyChange] = field(default_factory=dict)
    unchanged: dict[Study, str] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: str | None = None
    is_recalled: bool = False
    is_certain: bool = False

    @property
    def studies(self) -> set[str]:
        """Every study that it says something of, stored or not."""
        of_quarantined = {quarantined.study for quarantined in self.quarantined if quarantined.study is not None}
        return {str(study) for study in (*self.changes, *self.unchanged)} | of_quarantined

    @property
    def written(self) -> list[Written]:
        """The data files that were written for it."""
        return [written for change in self.changes.values() for written in change.written]

    def verify(self) -> None:
        """Raise SourceBroken when a source's bytes came from elsewhere and are not those that were promised."""
        if self.source.is_streamed and not self.is_recalled:
            self.sha256 = self.source.sha256()

    def add(self, part: StudyPart, outcome: Outcome) -> None:
        """Add what became of a part."""
        result = outcome.result
        if isinstance(result, Quarantined):
            self.quarantined.append(result)
            return
        if result is None:
            self.unchanged[part.study] = source_digest(part.reader_version, outcome.files)
            self.quarantined.extend(outcome.quarantined_again)
            return
        if part.study not in self.changes:
            adds = isinstance(part, RunsPart)
            self.changes[part.study] = StudyChange(part.study, self.source.name, part.format, part.reader_version, adds)
        change = self.changes[part.study]
        change.parts.append(result)
        change.source_files.update(outcome.files)
        self.quarantined.extend(result.quarantined)


def ingest_source(engine: Engine, reading: SourceReading, progress: Progress) -> Offer:
    """Read a source to its end, or to where it breaks; a study offered with the same bytes again is not converted."""
    source = reading.source
    offer = Offer(source, reading.report())
    progress.begin(source.name, source.total_bytes)
    with ThreadPoolExecutor(1, "fingerprint") as pool:
        fingerprint = pool.submit(source.sha256) if not source.is_streamed else None
        tasks = (_task(part, reading.stored) for part in _parts(offer, reading))
        for part, outcome in _reported(engine.converted(tasks, source.takes_all_cores), source, progress):
            offer.add(part, outcome)
        offer.sha256 = fingerprint.result() if fingerprint else None
    offer.is_certain = source.is_as_opened()
    offer.report, offer.collections, offer.goals = reading.report(), reading.collections, tuple(reading.goals)
    return offer


def _parts(offer: Offer, reading: SourceReading) -> Iterator[StudyPart]:
    """The parts of a source, to its end or to where it breaks; what is quarantined goes to the offer."""
    try:
        for item in reading.items():
            if isinstance(item, Quarantined):
                offer.quarantined.append(item)
            else:
                yield item
    except SourceBroken as error:
        offer.broken = f"{offer.source.name}: {error}"


def _task(part: StudyPart, stored: Stored) -> Task:
    """The task to convert a part, on top of what is stored of its study."""
    digest = stored.studies("source_digest").get(part.study)
    content = stored.content(part.study) if isinstance(part, RunsPart) and digest is not None else {}
    return Task(part, digest, bool(stored.studies("n_quarantined").get(part.study)), content)


def _reported(converted: Iterable[Converted], source: Source, progress: Progress) -> Iterator[Converted]:
    """Report to a Progress how far the source has been read, not too often."""
    trials = evaluations = 0
    reported = 0.0
    for part, outcome in converted:
        trials += part.n_trials
        if isinstance(outcome.result, WrittenPart):
            evaluations += sum(outcome.result.trials["n_evaluations"].to_pylist())
        if time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            progress.advance(source.position(), trials, evaluations)
            reported = time.monotonic()
        yield part, outcome
    progress.advance(source.total_bytes or source.position(), trials, evaluations)


def bring_together(store: Store, stored: Stored, offers: Sequence[Offer]) -> dict[Study, StudyChange]:
    """Return the changes of all offers; of a study that several offer, the last counts.

    A study that is offered anew replaces the stored one. But a stored trial stays when its new version is quarantined,
    and all stored trials stay that a broken source did not get to. Single runs are added to the stored ones.
    """
    changes: dict[Study, StudyChange] = {}
    may_stay: dict[Study, set[int] | None] = {}  # the stored trials that are kept if they aren't offered; None: all
    for offer in offers:
        for study, change in offer.changes.items():
            earlier = changes.get(study)
            if earlier is not None and earlier.adds and change.adds:
                change.parts[:0] = earlier.parts
                change.source_files = {**earlier.source_files, **change.source_files}
            elif earlier is not None:
                discard(store, earlier.written)
            refused = {q.trial_id for q in offer.quarantined if q.study == str(study) and q.trial_id is not None}
            change.n_quarantined = len(refused - change.trial_ids)
            if offer.broken is not None and study in stored.studies("source_digest"):
                change.source_files["(the source broke off)"] = ""
            is_incomplete = change.adds or offer.broken is not None or study in offer.unchanged
            may_stay[study] = None if is_incomplete else refused
            changes[study] = change
    for study, change in changes.items():
        if study in stored.studies("source_digest"):
            _carry_over(store, stored.files, change, may_stay[study])
    for study in [study for study, change in changes.items() if not change.trial_ids]:
        discard(store, changes.pop(study).written)
    return changes


def _carry_over(store: Store, files: Sequence[DataFile], change: StudyChange, may_stay: set[int] | None) -> None:
    """Write the stored trials anew that may stay and aren't offered, as a part of the study's next version."""
    table = stored_table(store, files, "trials")
    condition = ~pc.field("trial_id").isin(pa.array(sorted(change.trial_ids), pa.int64()))
    if may_stay is not None:
        condition &= pc.field("trial_id").isin(pa.array(sorted(may_stay), pa.int64()))
    for key, value in change.study.key().items():
        condition &= pc.field(key) == value
    trials = table.filter(condition).sort_by("trial_id")
    if trials.num_rows:
        measurements = [file for file in files if file.table == "measurements" and file.study == change.study]
        trial_ids: list[int] = trials["trial_id"].to_pylist()
        curves = stored_curves(store, measurements, trial_ids)
        written = write_curves(store, change.study, trial_ids, curves)
        facts = change.parts[0].facts
        change.parts.append(WrittenPart(facts, packed(trials), written, frozenset(curves.values), (), is_carried=True))


def stored_curves(store: Store, measurements: Collection[DataFile], trial_ids: Collection[int]) -> Curves:
    """Return the curves of some trials of a study, in their order, from all files of its measurements."""
    wanted = pa.array(sorted(trial_ids), pa.int64())
    tables = []
    for file in measurements:
        rows = pq.ParquetFile(store.open(file.path, file.bytes)).read()
        tables.append(rows.filter(pc.is_in(rows["trial_id"], wanted)))
    return _curves(pl.DataFrame(with_values(pa.concat_tables(tables))), trial_ids)


def _curves(rows: pl.DataFrame, trial_ids: Collection[int]) -> Curves:
    """Tidy measurements as curves, in the order of trial_ids."""
    keys = ["trial_id", "step"]
    index = rows.group_by(keys).agg(pl.col("elapsed_s").first()).sort(keys)
    counts = dict(index.group_by("trial_id").len().iter_rows())
    values, missing = {}, {}
    for metric in rows["metric"].unique().cast(pl.String).sort().to_list():
        measured = rows.filter(pl.col("metric") == metric).select(*keys, "value", pl.lit(True).alias("here"))
        column = index.join(measured, on=keys, how="left", maintain_order="left")
        absent = column["here"].is_null().to_numpy()
        values[metric] = column["value"].fill_null(np.nan).to_numpy()
        if absent.any():
            missing[metric] = absent
    elapsed = index["elapsed_s"].fill_null(np.nan).to_numpy()
    is_timed = not np.isnan(elapsed).all()
    offsets = offsets_of([counts.get(trial_id, 0) for trial_id in trial_ids])
    return Curves(offsets, index["step"].to_numpy(), values, missing, elapsed if is_timed else None)
