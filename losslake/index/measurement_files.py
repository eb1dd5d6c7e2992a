"""Places of measurements in the data files of a workload: found once, when its serving files are made.

So a curve is read without looking for it: neither the footers of other files nor the trials of other curves are read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.index.study_files import reading
from losslake.lake.store.store import DataFile, Store
from losslake_schema.reached import Integers

COLUMNS = ("trial_id", "step", "value", "elapsed_s")
# The rows of one metric in a row group, from first_row on: of each trial n_rows, by ascending trial_id and step.
# has_times: False if elapsed_s is null in all of them.
_RUN = pa.struct(
    [
        ("metric", pa.string()),
        ("row_group", pa.int32()),
        ("first_row", pa.int32()),
        ("has_times", pa.bool_()),
        ("trial_id", pa.list_(pa.int64())),
        ("n_rows", pa.list_(pa.int32())),
    ]
)
# A row per data file. study: its index in the workload, ascending.
FILES = pa.schema(
    [
        ("study", pa.int64()),
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("footer", pa.binary()),
        ("runs", pa.list_(_RUN)),
    ]
)


@dataclass(frozen=True)
class _Run:
    """Rows of one metric in a row group: of trial_id[i] those from start[i] up to start[i] + n_rows[i]."""

    row_group: int
    has_times: bool
    trial_id: Integers
    start: Integers
    n_rows: Integers

    def of(self, trials: Sequence[int]) -> _Run:
        """Return the rows of these trials."""
        at = self.trial_id.searchsorted(trials)
        at = at[self.trial_id.take(at, mode="clip") == trials]
        return _Run(self.row_group, self.has_times, self.trial_id[at], self.start[at], self.n_rows[at])

    def read(self, file: pq.ParquetFile, columns: Sequence[str]) -> pa.RecordBatch:
        """Return the rows with these columns. file: that of the row group."""
        stored = [name for name in columns if name != "trial_id" and (self.has_times or name != "elapsed_s")]
        rows = file.read_row_group(self.row_group, stored, use_threads=False)
        if rows.num_columns < len(stored) or rows.num_rows < self.start[-1] + self.n_rows[-1]:
            raise pa.ArrowInvalid("it has changed since its release was opened")
        arrays = {name: self._rows_of(column) for name, column in zip(stored, rows.columns, strict=True)}
        if "trial_id" in columns:
            arrays["trial_id"] = pa.array(np.repeat(self.trial_id, self.n_rows))
        if "elapsed_s" in columns and not self.has_times:
            arrays["elapsed_s"] = pa.nulls(int(self.n_rows.sum()), pa.float64())
        return pa.RecordBatch.from_arrays([arrays[name] for name in columns], names=columns)

    def _rows_of(self, column: pa.ChunkedArray) -> pa.Array:
        starts, sizes = self.start.tolist(), self.n_rows.tolist()
        if starts[-1] + sizes[-1] - starts[0] == sum(sizes):  # the trials follow each other
            starts, sizes = starts[:1], [sum(sizes)]
        parts = map(column.slice, starts, sizes)
        chunks = [chunk for part in parts for chunk in part.chunks]
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


class MeasurementFiles:
    """The data files with the measurements of a workload, by study."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Take rows of FILES."""
        study, path, size, self.footer, runs = batch.columns
        self.study, self.path, self.bytes = study.to_pylist(), path.to_pylist(), size.to_pylist()
        self.run_offsets = runs.offsets.to_pylist()
        *by_run, trial_id, n_rows = runs.values.flatten()
        self.metric, self.row_group, self.first_row, self.has_times = (column.to_pylist() for column in by_run)
        self.trial_offsets = trial_id.offsets.to_pylist()
        self.trial_id, self.n_rows = trial_id.values.to_numpy(), n_rows.values.to_numpy()

    def of_study(self, study: int) -> list[MeasurementFile]:
        """Return the files of the study of that index."""
        rows = range(bisect_left(self.study, study), bisect_right(self.study, study))
        return [MeasurementFile(self.path[row], self.bytes[row], self, row) for row in rows]


@dataclass(frozen=True)
class MeasurementFile:
    """A data file with measurements of a study. path: relative to the lake."""

    path: str
    bytes: int
    files: MeasurementFiles
    row: int

    def runs(self, metric: str, trials: Sequence[int] | None) -> Iterator[_Run]:
        """Yield the runs of a metric that have rows, of any of these trials. trials: ascending; None for all."""
        files = self.files
        for run in range(*files.run_offsets[self.row : self.row + 2]):
            if files.metric[run] == metric:
                of_run = slice(*files.trial_offsets[run : run + 2])
                trial_id, n_rows = files.trial_id[of_run], files.n_rows[of_run]
                if trials is None or (trials and trial_id[0] <= trials[-1] and trials[0] <= trial_id[-1]):
                    start = files.first_row[run] + n_rows.cumsum() - n_rows
                    every = _Run(files.row_group[run], files.has_times[run], trial_id, start, n_rows)
                    chosen = every if trials is None else every.of(trials)
                    if len(chosen.trial_id):
                        yield chosen


def measurements(
    store: Store,
    files: Sequence[MeasurementFile],
    metric: str,
    trials: Sequence[int] | None,
    columns: Sequence[str] = COLUMNS,
) -> Iterator[pa.RecordBatch]:
    """Yield the evaluations of one metric by trial and step, a row group at a time.

    files: of one study. trials: trial_ids, ascending; None for all. columns: a subset of COLUMNS with step or value.
    Raises LakeBroken if a file is missing or can't be read.
    """
    for file in files:
        runs = [*file.runs(metric, trials)]
        if runs:
            with reading(store, file.path):
                opened = _open(store, file)
                for run in runs:
                    yield run.read(opened, columns)


def _open(store: Store, file: MeasurementFile) -> pq.ParquetFile:
    """Open a file: without a thread if it is on this machine; elsewhere what is read of it is one range."""
    source = store.open(file.path, file.bytes)
    if store.local_folder:
        return pq.ParquetFile(source, pre_buffer=False)
    footer = pa.BufferReader(file.files.footer[file.row].as_buffer())
    return pq.ParquetFile(source, metadata=pq.read_metadata(footer), pre_buffer=True)


@dataclass(frozen=True)
class Scanned:
    """A data file, read once for its serving files.

    runs: the values of _RUN, by run. ends: of each run its metric, and the last step of each of its trials.
    """

    file: DataFile
    footer: bytes
    runs: Sequence[dict[str, Any]]
    ends: Sequence[tuple[str, Integers, Integers]]


def scan(store: Store, file: DataFile) -> Scanned:
    """Return where the runs of a data file of measurements are. Raises LakeBroken if it is missing or can't be read."""
    with reading(store, file.path):
        opened = pq.ParquetFile(store.open(file.path, file.bytes), read_dictionary=["metric"], pre_buffer=False)
        footer = pa.BufferOutputStream()
        opened.metadata.write_metadata_file(footer)
        runs = [run for group in range(opened.num_row_groups) for run in _runs_of(opened, group)]
    ends = [(run["metric"], run["trial_id"], last_step) for run, last_step in runs]
    return Scanned(file, footer.getvalue().to_pybytes(), [run for run, _ in runs], ends)


def batch_of_files(studies: Sequence[Sequence[Scanned]]) -> pa.RecordBatch:
    """Return rows of FILES from the files of each study."""
    rows = [
        {"study": study, "path": each.file.path, "bytes": each.file.bytes, "footer": each.footer, "runs": each.runs}
        for study, files in enumerate(studies)
        for each in files
    ]
    return pa.RecordBatch.from_pylist(rows, FILES)


def _runs_of(file: pq.ParquetFile, group: int) -> Iterator[tuple[dict[str, Any], Integers]]:
    """Yield the runs of a row group, with the last step of each of its trials."""
    columns = ["metric", "trial_id", "step", "elapsed_s"]
    rows = file.read_row_group(group, columns, use_threads=False).unify_dictionaries()
    trial_id, step = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("trial_id", "step"))
    names = rows["metric"].combine_chunks()
    metric = names.indices.to_numpy()
    # Rows are sorted by metric, trial and step.
    ends = 1 + np.flatnonzero(np.append((np.diff(metric) != 0) | (np.diff(trial_id) != 0), len(step) > 0))
    starts = np.append(0, ends[:-1])
    for of_metric in np.split(np.arange(len(ends)), np.flatnonzero(np.diff(metric[starts[: len(ends)]])) + 1):
        if len(of_metric):
            first, end = int(starts[of_metric[0]]), int(ends[of_metric[-1]])
            times = rows["elapsed_s"].slice(first, end - first)
            run = {
                "metric": names.dictionary[metric[first]].as_py(),
                "row_group": group,
                "first_row": first,
                "has_times": times.null_count < len(times),
                "trial_id": trial_id[starts[of_metric]],
                "n_rows": (ends - starts)[of_metric],
            }
            yield run, step[ends[of_metric] - 1]
