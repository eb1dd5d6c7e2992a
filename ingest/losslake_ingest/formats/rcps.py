"""MLPerf's reference convergence points: a run for each number of epochs or samples to convergence.

Source: mlcommons/logging, mlperf_logging/rcp_checker. A file has the records of one benchmark and round. Most are
repeated in the files of later rounds, where each counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.formats.csv_and_jsonl import read_tables
from losslake_ingest.formats.format import Glimpse, defaults_of
from losslake_ingest.formats.rcp_file import UNITS, ReferenceRuns, reference_runs
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import flattened, printable, scalars
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.sources.member import Source
from losslake_schema.statuses import COMPLETE

_START, _ENDINGS = "rcps_", (".json",)
_HYPERPARAMETERS = "Hyperparams"
_FACTS = ("Creator", "When", "Platform", "Precision")
_CONVERGED = np.ones(1)
# A record by its batch size and runs: later rounds rename benchmarks, and change what else a record says.
_Key = tuple[int, tuple[float, ...]]


class Rcps:
    """The format of MLPerf's reference convergence points."""

    name = "rcps"
    reads = "rcps_*.json: MLPerf's reference convergence points, a run for each number of epochs or samples to converge"
    needs = "collection, dataset, model, optimizer, and the examples per epoch, unless samples were counted"
    defaults = defaults_of("rcps")

    def detect(self, file: Glimpse) -> float:
        """Recognize a file by its name and the keys of a record."""
        has_keys = any(f'"{key}"'.encode() in file.start for key in (_HYPERPARAMETERS, *UNITS))
        return 0.9 if file.name.startswith(_START) and file.name.endswith(_ENDINGS) and has_keys else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of each record; a record that another file has already is quarantined."""
        files: dict[_Key, str] = {}

        def read(file: TableFile, data: bytes) -> Iterator[RunLog | Quarantined]:
            if not file.path.rpartition("/")[2].startswith(_START):
                return iter(())
            try:
                return _runs(reference_runs(data), file, files)
            except ValueError as error:
                raise Refusal(Rule.UNREADABLE_LOG, str(error)) from None

        return read_tables(source, _ENDINGS, mapping, read)


def _runs(records: Sequence[ReferenceRuns], file: TableFile, files: dict[_Key, str]) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of a file's records. files: the file of each record read so far; this file's are added."""
    for name, benchmark, unit, batch_size, runs, stated in records:
        first = files.setdefault((batch_size, tuple(runs)), file.path)
        if first != file.path:
            yield file.quarantined(Rule.DUPLICATE_SOURCE, f"{shown(name)} is also in {first}, which is used", name=name)
            continue
        fields: dict[str, Scalar] = {"benchmark": benchmark, "record": printable(name)}
        fields |= {key.lower(): printable(value) for key in _FACTS if isinstance(value := stated.get(key), str)}
        hyperparameters = flattened(stated.get(_HYPERPARAMETERS) or {}, 4)
        parameters = scalars((name, value) for name, value in hyperparameters if name)
        for number, run in enumerate(runs, start=1):
            columns = {unit: np.array([run]), "converged": _CONVERGED}
            yield RunLog(
                f"{file.path}#{name}/{number}",
                {file.path: file.sha256},
                [LoggedRows(columns)],
                {**parameters, **fields, "global_batch_size": batch_size},
                {**parameters, **{key: fields[key] for key in ("record", "creator", "when") if key in fields}},
                status=COMPLETE,
            )


FORMAT = Rcps()
