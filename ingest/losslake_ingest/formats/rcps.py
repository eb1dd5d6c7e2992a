"""MLPerf's reference convergence points: a run for each number of epochs or samples to convergence.

Source: mlcommons/logging, mlperf_logging/rcp_checker. A file has the records of one benchmark and round. Most are
repeated in the files of later rounds, where each counts once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.formats.csv_and_jsonl import read_tables
from losslake_ingest.formats.format import BundledFormat, Glimpse
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.repeated_keys import distinct_pairs
from losslake_ingest.readers.safe_parsing import flattened, nearest_float, printable, scalars
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.sources.member import Source
from losslake_schema.statuses import COMPLETE

MOST_BYTES = 10_000_000
UNITS = {"Epochs to converge": "epochs", "samples to converge": "samples"}
_START, _ENDINGS = "rcps_", (".json",)
_HYPERPARAMETERS = "Hyperparams"
_FACTS = ("Creator", "When", "Platform", "Precision")
_CONVERGED = np.ones(1)
# A record by its batch size and runs: later rounds rename benchmarks, and change what else a record says.
_Key = tuple[int, tuple[float, ...]]


class Rcps(BundledFormat):
    """The format of MLPerf's reference convergence points."""

    name = "rcps"

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


class ReferenceRuns(NamedTuple):
    """The runs of a benchmark's reference at one batch size: a record of the file.

    unit: of the runs, epochs or samples to convergence, as the file names them; some files say epochs but contain
    samples. stated: the whole record.
    """

    name: str
    benchmark: str
    unit: str
    batch_size: int
    runs: list[float]
    stated: Mapping[str, Any]


def reference_runs(text: bytes, where: str = "the file") -> list[ReferenceRuns]:
    """Return the records in the text of a file rcps_*.json, by ascending batch size.

    Raises ValueError, naming `where` and the record, for invalid JSON, records without batch size or runs, numbers that
    aren't finite and above 0, repeated batch sizes or names, and more than one benchmark.
    """
    try:
        if len(text) > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
        return _records(json.loads(text, object_pairs_hook=distinct_pairs, parse_constant=_no_constant))
    except RecursionError:
        raise ValueError(f"{where}: it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError(f"{where}: it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _records(document: object) -> list[ReferenceRuns]:
    if not isinstance(document, dict) or not document:
        raise ValueError("it is not an object with one record or more")
    by_size: dict[int, ReferenceRuns] = {}
    for name, stated in document.items():
        try:
            record = _record(name, stated)
        except ValueError as error:
            raise ValueError(f"record {name[:60]!r}: {error}") from None
        if by_size.setdefault(record.batch_size, record) is not record:
            raise ValueError(f"record {name[:60]!r}: batch size {record.batch_size} is in another record already")
    benchmarks = {record.benchmark for record in by_size.values()}
    if len(benchmarks) > 1:
        raise ValueError(f"it has {len(benchmarks)} benchmarks: give each a file of its own")
    if len({record.unit for record in by_size.values()}) > 1:
        raise ValueError("some records count epochs, others samples: give all in one unit")
    return [by_size[size] for size in sorted(by_size)]


def _record(name: str, stated: object) -> ReferenceRuns:
    if not isinstance(stated, dict):
        raise ValueError("it is not an object")
    benchmark = stated.get("Benchmark")
    if not isinstance(benchmark, str) or not benchmark:
        raise ValueError("'Benchmark' has to be a name")
    batch_size = stated.get("BS")
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or not 0 < batch_size < 2**53:
        raise ValueError("'BS' has to be a whole number above 0")
    keys = [key for key in UNITS if key in stated]
    if len(keys) != 1:
        raise ValueError(f"it has to have one of {' and '.join(map(repr, UNITS))}")
    runs = stated[keys[0]]
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"'{keys[0]}' has to be a list of one run or more")
    return ReferenceRuns(name, benchmark, UNITS[keys[0]], batch_size, list(map(_run, runs)), stated)


def _run(run: object) -> float:
    value = nearest_float(run) if isinstance(run, int | float) and not isinstance(run, bool) else 0.0
    if not 0 < value < math.inf:
        raise ValueError("a run has to be a finite number above 0")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


FORMAT = Rcps()
