"""A release opened for questions: its DuckDB file, and in memory the names and trials of each workload.

The text of the statements in `losslake/questions/queries/`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from cachetools import LRUCache, cachedmethod

from losslake.index.measurement_files import MeasurementFile
from losslake.index.serving import connect, serving_file
from losslake.index.workloads import KnownWorkload, open_workloads
from losslake.lake.lake import Lake
from losslake.lake.store.store import Store
from losslake.questions.release.counts import Counts, largest
from losslake.questions.release.errors import BadParameter, UnknownName, near_names, near_numbers
from losslake.questions.release.pool import Pool, is_pattern, matches, pooled
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.release.workload_words import WorkloadWords, near_workloads
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.package_files import read_text
from losslake_schema.reached import Comparator, Integers
from losslake_schema.registry import Goal
from losslake_schema.release import Release

_MOST_PATTERNS = 64
_MOST_KEPT = 1024
T = TypeVar("T")
_MOST_POOLED_BYTES = 256 * 2**20
_MOST_TABLE_BYTES = 32 * 2**20


@functools.cache
def sql(name: str) -> str:
    """Return the statement of `losslake/questions/queries/<name>.sql`, without its comment."""
    lines = read_text("losslake.questions.queries", f"{name}.sql").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def _table_key(_: ReleaseView, name: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    return name, *sorted(parameters.items())


def _table_bytes(table: pa.Table) -> int:
    # With room for the key and the objects, which take more than the values of a small table.
    return int(table.get_total_buffer_size()) + 2048


@dataclass(frozen=True)
class Metric:
    """A metric of the release; direction is None if unknown."""

    name: str
    metric_id: int
    direction: str | None


class ReleaseView:
    """An open release, to be shared by threads: each query runs on a cursor of its own."""

    def __init__(
        self,
        release: Release,
        connection: duckdb.DuckDBPyConnection,
        workloads: Iterable[KnownWorkload],
        store: Store,
        serving_file: Path = Path(),
    ) -> None:
        """Read the names of the release.

        Args:
            release: to read, as the catalog has it.
            connection: to its serving file; kept.
            workloads: of the release, in the numbering of the connection's `base` tables.
            store: where its files are.
            serving_file: what the connection is to.
        """
        self.release = release
        self.number = release.number
        # Distinguishes the bytes of this release from any other's.
        self.digest = release.manifest_sha256
        self.serving_file = serving_file
        self._connection = connection
        self.store = store
        self._metaparameters: dict[str, bool] | None = None
        self.metrics = {
            name: Metric(name, metric_id, direction) for name, metric_id, direction in self.rows("metric_facts")
        }
        self.workloads = {
            each.studies.workload: WorkloadFacts(**vars(each.studies), open=each.opened, files=each.files)
            for each in workloads
        }
        self.goals = tuple(
            Goal(Workload(*keys), metric, target, source, comparator)
            for *keys, metric, target, source, comparator in self.rows("goals")
        )
        self._goals_of: dict[Workload, list[Goal]] = {}
        for goal in self.goals:
            self._goals_of.setdefault(goal.workload, []).append(goal)
        self._changing = threading.Lock()
        self._matches: LRUCache[Any, tuple[WorkloadFacts, ...]] = LRUCache(_MOST_PATTERNS)
        self._pools: LRUCache[Any, Pool] = LRUCache(_MOST_POOLED_BYTES, attrgetter("n_bytes"))
        self._tables: LRUCache[Any, pa.Table] = LRUCache(_MOST_TABLE_BYTES, _table_bytes)
        self._kept: LRUCache[Hashable, Any] = LRUCache(_MOST_KEPT)

    @staticmethod
    def open(lake: Lake, release: Release) -> ReleaseView:
        """Open a release, building its serving files first if need be; raises LakeBroken."""
        database = serving_file(lake, release)
        connection = connect(lake, database, release)
        workloads = open_workloads(lake, release, connection)
        return ReleaseView(release, connection, workloads, lake.store, database)

    @functools.cached_property
    def counts(self) -> Mapping[Workload, Counts]:
        """The counts of each workload, by which the cost of answers is estimated."""
        return {Workload(*row[:4]): Counts(1, *row[4:]) for row in self.rows("counts_of_workloads")}

    @functools.cached_property
    def largest_counts(self) -> Counts:
        """The counts of the workloads together that a pattern may match, if it matches the largest ones."""
        return largest([*self.counts.values()])

    @functools.cached_property
    def listed(self) -> Mapping[Workload, WorkloadFacts]:
        """The workloads that pages list and propose: all but references, unless the release has nothing else."""
        others = {name: facts for name, facts in self.workloads.items() if not facts.is_reference}
        return others or self.workloads

    @functools.cached_property
    def words(self) -> WorkloadWords:
        """The words by which people find its workloads."""
        texts: dict[Workload, list[str]] = {name: list(facts.measured) for name, facts in self.workloads.items()}
        for workload, _, text, _ in self.searched_facts():
            texts[workload].append(text)
        return WorkloadWords(texts, {name: facts.fixed_sizes for name, facts in self.workloads.items()})

    def searched_facts(self) -> Iterator[tuple[Workload, str, str, int]]:
        """Yield the facts of trials by which people search: the workload, the fact, its text, and how many trials."""
        for *keys, fact, text, n_trials in zip(*self.table("searched_facts", {}).to_pydict().values(), strict=True):
            yield Workload(*keys), fact, text, n_trials

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the release, for one thread."""
        return self._connection.cursor()

    def query(self, name: str, parameters: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyConnection:
        """Run the statement `losslake/questions/queries/<name>.sql`; the result is to be fetched by the same thread."""
        return self._connection.cursor().execute(sql(name), parameters or {})

    def rows(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        return self.query(name, parameters).fetchall()

    @cachedmethod(attrgetter("_tables"), key=_table_key, lock=attrgetter("_changing"))
    def table(self, name: str, parameters: Mapping[str, Any]) -> pa.Table:
        """Return the result of a statement as an Arrow table; those used last are kept, as a release never changes."""
        return self._connection.cursor().sql(sql(name), params=dict(parameters)).to_arrow_table().combine_chunks()

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for a key, made now if it wasn't; those used last are kept, as a release never changes.

        make: returns a small value, never None. The bound is a number of values, not of bytes.
        """
        with self._changing:
            value: T | None = self._kept.get(key)
        if value is None:
            value = make()
            with self._changing:
                self._kept[key] = value
        return value

    def batch_units(self, facts: WorkloadFacts) -> list[str]:
        """Return what the batch size of each study of a workload counts."""
        units: list[str] = self._study_settings(facts).column("batch_unit").to_pylist()
        return units

    def train_steps(self, facts: WorkloadFacts) -> Integers:
        """Return the steps that the trials of each study of a workload had to run; 0 where they aren't known."""
        return np.asarray(self._study_settings(facts).column("train_steps"), np.int64)

    def schedule_name(self, facts: WorkloadFacts) -> str:
        """Return the name of the schedule that the trials share whose batch size changes; how many, if they differ."""
        names = {text for (text,) in self.rows("schedule_names", {"workloads": list(map(str, facts.workloads))})}
        return names.pop() if len(names) == 1 else f"{len(names)} schedules"

    def _study_settings(self, facts: WorkloadFacts) -> pa.Table:
        # Those of all studies are read once: a statement for each workload takes as long as for all of them.
        settings, first = self.table("study_settings", {}), facts.study_ids["first_study"]
        start = int(np.searchsorted(settings.column("study_id").to_numpy(), first))
        return settings.slice(start, len(facts.batch_sizes))

    def metaparameters(self) -> Mapping[str, bool]:
        """Return the metaparameters of all trials by name, True for numbers; computed once."""
        if self._metaparameters is None:
            # A name that is a number in some trials and something else in others filters as the number.
            rows = sorted(self.rows("metaparameter_names"), key=lambda row: bool(row[1]))
            self._metaparameters = dict(rows)
        return self._metaparameters

    def workload(self, workload: Workload) -> WorkloadFacts:
        """Return the facts of a workload; raises UnknownName, and BadParameter for a pattern that matches any."""
        facts = self.workloads.get(workload)
        if facts is None:
            if is_pattern(workload) and (matching := matches(workload, self.workloads)):
                raise BadParameter(
                    "workload", f"'{workload}' is a pattern: give one workload here, such as {matching[0]}"
                )
            near = near_workloads(str(workload), self.workloads)
            raise UnknownName("workload", str(workload), near, f"release {self.number}")
        return facts

    def matching(self, pattern: Workload) -> tuple[WorkloadFacts, ...]:
        """Return the workload of that name, or else those that a pattern matches, in order.

        Raises UnknownName and BadParameter.
        """
        facts = self.workloads.get(pattern)
        return self._matching(pattern) if facts is None else (facts,)

    @cachedmethod(attrgetter("_matches"), lock=attrgetter("_changing"))
    def _matching(self, pattern: Workload) -> tuple[WorkloadFacts, ...]:
        matching = matches(pattern, self.workloads) if is_pattern(pattern) else []
        return tuple(map(self.workload, matching)) or (self.workload(pattern),)

    def members(self, pattern: Workload, metric: str) -> list[WorkloadFacts]:
        """Return those of `matching` that measure a metric; raises UnknownName, if none does too, and BadParameter."""
        matching = self.matching(pattern)
        members = [facts for facts in matching if metric in facts.measured]
        if not members:
            near = near_names(metric, sorted({name for facts in matching for name in facts.measured}))
            raise UnknownName("metric", metric, near, f"workload {pattern}")
        return members

    def measuring(self, pattern: Workload, metric: str) -> WorkloadFacts:
        """Return the workload of that name, or else the pool of those that a pattern matches and that measure a metric.

        Raises UnknownName, and BadParameter for workloads whose batch sizes count different things.
        """
        facts = self.workloads.get(pattern)
        if facts is None:
            return self._pool(pattern, metric)
        self.metric(facts, metric)
        return facts

    @cachedmethod(attrgetter("_pools"), lock=attrgetter("_changing"))
    def _pool(self, pattern: Workload, metric: str) -> Pool:
        members = self.members(pattern, metric)
        units = {
            unit: facts.workload
            for facts in members
            for unit, metrics in zip(self.batch_units(facts), facts.metrics, strict=True)
            if metric in metrics
        }
        if len(units) > 1:
            counted = " and ".join(f"{unit} (as in {name})" for unit, name in sorted(units.items()))
            why = f"'{pattern}' pools no batch sizes that count {counted}: give a narrower pattern"
            raise BadParameter("workload", why)
        return pooled(pattern, members, metric, self.metrics[metric].direction)

    def goals_of(self, workload: Workload, metric: str = "") -> list[Goal]:
        """Return the goals of a workload, those on validation data first. metric: only those in it."""
        return [goal for goal in self._goals_of.get(workload, ()) if metric in ("", goal.metric)]

    def comparators(self, pattern: Workload, metric: str) -> set[Comparator]:
        """Return the comparators of the workloads that a pattern matches and that measure a metric."""
        if not is_pattern(pattern):
            return {self.comparator(pattern, metric)}
        matching = self.matching(pattern)
        members = [facts for facts in matching if metric in facts.measured] or matching
        return {self.comparator(facts.workload, metric) for facts in members}

    def comparator(self, workload: Workload, metric: str) -> Comparator:
        """Return what reaches a target unless a question says: inclusive if the metric's goals are, else strict."""
        used = {goal.comparator for goal in self.goals_of(workload, metric)}
        return "inclusive" if used == {"inclusive"} else "strict"

    def study(self, study: Study) -> tuple[WorkloadFacts, int]:
        """Return the workload of a study and the study's index in it; raises UnknownName."""
        facts = self.workload(study.workload)
        return facts, self.index_of(facts, study.batch_size)

    def index_of(self, facts: WorkloadFacts, batch_size: int) -> int:
        """Return the index of the study of that batch size; raises UnknownName."""
        if batch_size not in facts.batch_sizes:
            raise self._unknown_study(Study(facts.workload, batch_size), facts.fixed_sizes)
        return facts.batch_sizes.index(batch_size)

    def studies(self, study: Study, metrics: Sequence[str] = ()) -> list[Study]:
        """Return the study of that name, or those that a pattern matches and that measure these metrics, if any do.

        Raises UnknownName and BadParameter.
        """
        size = study.batch_size
        matching = self.matching(study.workload)
        of_size = [facts for facts in matching if size in facts.batch_sizes]
        if not of_size:
            raise self._unknown_study(study, sorted({each for facts in matching for each in facts.fixed_sizes}))
        measuring = [facts for facts in of_size if set(metrics).issubset(facts.metrics[facts.batch_sizes.index(size)])]
        return [Study(facts.workload, size) for facts in measuring or of_size]

    def _unknown_study(self, study: Study, batch_sizes: Sequence[int]) -> UnknownName:
        near = near_numbers(study.batch_size, batch_sizes)
        names = [str(Study(study.workload, other)) for other in near]
        return UnknownName("study", str(study), names, f"release {self.number}")

    def trial(self, trial: Trial) -> None:
        """Raise UnknownName unless the trial exists."""
        facts, study = self.study(trial.study)
        trial_ids = facts.trials.trial_id[facts.rows_of(study)].tolist()
        if trial.trial_id not in trial_ids:
            near = [str(Trial(trial.study, number)) for number in near_numbers(trial.trial_id, trial_ids)]
            raise UnknownName("trial", str(trial), near, f"release {self.number}")

    def metric(self, facts: WorkloadFacts, name: str, study: int | None = None) -> Metric:
        """Return a metric that the workload, or its study of that index, measures; raises UnknownName."""
        measured = facts.measured if study is None else facts.metrics[study]
        if name not in measured:
            near = near_names(name, measured)
            where = f"workload {facts.workload}"
            if study is not None:
                where = f"study {Study(facts.workload, facts.batch_sizes[study])}"
            raise UnknownName("metric", name, near, where)
        return self.metrics[name]

    def measurement_files(self, facts: WorkloadFacts, study: int | None = None) -> list[MeasurementFile]:
        """Return the files with the measurements of a workload, or of its study of that index."""
        studies = range(len(facts.batch_sizes)) if study is None else (study,)
        return [file for each in studies for file in facts.files(each)]
