"""A release opened for questions: its DuckDB file, and in memory the names and trials that every question needs.

The text of the statements in `losslake/questions/queries/`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from losslake.index.serving import connect, serving_file
from losslake.index.workloads import KnownWorkload, open_workloads
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile, Store
from losslake.questions.errors import UnknownName, near_names, near_numbers
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.database import Release
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.registry import Goal


@functools.cache
def sql(name: str) -> str:
    """The statement of `losslake/questions/queries/<name>.sql`, without the comment above it."""
    lines = resources.files("losslake.questions.queries").joinpath(f"{name}.sql").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


@dataclass(frozen=True)
class Metric:
    """A metric of the release; direction is None when nobody has said which way is better."""

    name: str
    metric_id: int
    direction: str | None


class ReleaseView:
    """An open release, to be shared by threads: each query runs on a cursor of its own."""

    def __init__(
        self,
        number: int,
        connection: duckdb.DuckDBPyConnection,
        workloads: Iterable[KnownWorkload],
        store: Store,
        digest: str = "",
        serving_file: Path = Path(),
    ) -> None:
        """
        Args:
            number: of the release.
            connection: to its serving file; kept.
            workloads: of the release, in the numbering of the connection's `base` tables.
            store: where its files are.
            digest: tells the bytes of this release from any other's.
            serving_file: what the connection is to.
        """
        self.number = number
        self.digest = digest
        self.serving_file = serving_file
        self._connection = connection
        self.store = store
        self._metaparameters: dict[str, bool] | None = None
        self.metrics = {
            name: Metric(name, metric_id, direction) for name, metric_id, direction in self.rows("metric_facts")
        }
        self.workloads = {
            known.studies.workload: WorkloadFacts(**vars(known.studies), open=known.opened, files=known.files)
            for known in workloads
        }
        self.goals = tuple(
            Goal(Workload(*keys), metric, target, source) for *keys, metric, target, source in self.rows("goals")
        )

    @staticmethod
    def open(lake: Lake, release: Release) -> ReleaseView:
        """Open a release, building its serving files first if need be; raises LakeBroken."""
        database = serving_file(lake, release)
        connection = connect(lake, database, release)
        workloads = open_workloads(lake, release, connection)
        return ReleaseView(release.number, connection, workloads, lake.store, release.manifest_sha256, database)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of one's own to the release, for one thread."""
        return self._connection.cursor()

    def query(self, name: str, parameters: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyConnection:
        """Run the statement `losslake/questions/queries/<name>.sql`; the result is to be fetched by the same thread."""
        return self._connection.cursor().execute(sql(name), parameters or {})

    def rows(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a statement's result."""
        return self.query(name, parameters).fetchall()

    def table(self, name: str, parameters: Mapping[str, Any]) -> pa.Table:
        """A statement's result as an Arrow table."""
        return self._connection.cursor().sql(sql(name), params=dict(parameters)).to_arrow_table()

    def metaparameters(self) -> Mapping[str, bool]:
        """The metaparameters of any trial by name, and whether each is a number; found once, then kept."""
        if self._metaparameters is None:
            # A name that is a number in some trials and something else in others filters as the number.
            rows = sorted(self.rows("metaparameter_names"), key=lambda row: bool(row[1]))
            self._metaparameters = dict(rows)
        return self._metaparameters

    def workload(self, workload: Workload) -> WorkloadFacts:
        """What is known of a workload; raises UnknownName."""
        found = self.workloads.get(workload)
        if found is None:
            near = near_names(str(workload), map(str, self.workloads))
            raise UnknownName("workload", str(workload), near, f"release {self.number}")
        return found

    def study(self, study: Study) -> tuple[WorkloadFacts, int]:
        """The workload of a study and the study's index in it; raises UnknownName."""
        facts = self.workload(study.workload)
        if study.batch_size not in facts.batch_sizes:
            near = near_numbers(study.batch_size, facts.batch_sizes)
            names = [str(Study(study.workload, batch_size)) for batch_size in near]
            raise UnknownName("study", str(study), names, f"release {self.number}")
        return facts, facts.batch_sizes.index(study.batch_size)

    def trial(self, trial: Trial) -> None:
        """Check that there is such a trial; raises UnknownName."""
        facts, study = self.study(trial.study)
        known = facts.trials[facts.rows_of(study)].trial_id.tolist()
        if trial.trial_id not in known:
            near = [str(Trial(trial.study, number)) for number in near_numbers(trial.trial_id, known)]
            raise UnknownName("trial", str(trial), near, f"release {self.number}")

    def metric(self, facts: WorkloadFacts, name: str, study: int | None = None) -> Metric:
        """A metric that the workload, or its study of that index, measures; raises UnknownName."""
        measured = facts.measured if study is None else facts.metrics[study]
        if name not in measured:
            near = near_names(name, measured)
            where = (
                f"workload {facts.workload}" if study is None else f"study {facts.workload}/{facts.batch_sizes[study]}"
            )
            raise UnknownName("metric", name, near, where)
        return self.metrics[name]

    def measurement_files(self, facts: WorkloadFacts, study: int | None = None) -> list[DataFile]:
        """The files with the measurements of a workload, or of its study of that index."""
        studies = range(len(facts.batch_sizes)) if study is None else (study,)
        return [file for each in studies for file in facts.files(each)]
