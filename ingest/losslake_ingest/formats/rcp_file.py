"""MLPerf's files rcps_*.json: where the runs of a reference converged, by batch size."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from losslake_ingest.readers.repeated_keys import distinct_pairs
from losslake_schema.reached import Floats

MOST_BYTES = 10_000_000
UNITS = {"Epochs to converge": "epochs", "samples to converge": "samples"}


@dataclass(frozen=True)
class ReferenceRuns:
    """The runs of a benchmark's reference.

    batch_sizes: ascending, each once. runs: of each batch size, epochs or samples to convergence.
    unit: epochs or samples, as the file names them; some files say epochs but contain samples. records: the name and
    the whole record of each batch size.
    """

    benchmark: str
    unit: str
    batch_sizes: Floats
    runs: tuple[Floats, ...]
    records: tuple[tuple[str, Mapping[str, Any]], ...]


def reference_runs(text: bytes, where: str = "the file") -> ReferenceRuns:
    """Return the reference runs in the text of a file rcps_*.json.

    Raises ValueError, naming `where` and the record, for invalid JSON, records without batch size or runs, numbers that
    aren't finite and above 0, repeated batch sizes or names, and more than one benchmark.
    """
    try:
        if len(text) > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
        document = json.loads(text, object_pairs_hook=distinct_pairs, parse_constant=_no_constant)
        return _reference(document)
    except RecursionError:
        raise ValueError(f"{where}: it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError(f"{where}: it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _reference(document: object) -> ReferenceRuns:
    if not isinstance(document, dict) or not document:
        raise ValueError("it is not an object with one record or more")
    by_size: dict[int, tuple[Floats, tuple[str, Mapping[str, Any]]]] = {}
    benchmarks, units = set(), set()
    for name, record in document.items():
        try:
            benchmark, batch_size, unit, runs = _record(record)
        except ValueError as error:
            raise ValueError(f"record {name[:60]!r}: {error}") from None
        if batch_size in by_size:
            raise ValueError(f"record {name[:60]!r}: batch size {batch_size} is in another record already")
        by_size[batch_size] = runs, (name, record)
        benchmarks.add(benchmark)
        units.add(unit)
    if len(benchmarks) > 1:
        raise ValueError(f"it has {len(benchmarks)} benchmarks: give each a file of its own")
    if len(units) > 1:
        raise ValueError("some records count epochs, others samples: give all in one unit")
    sizes = sorted(by_size)
    runs, records = zip(*(by_size[size] for size in sizes), strict=True)
    return ReferenceRuns(benchmarks.pop(), units.pop(), np.array(sizes, np.float64), runs, records)


def _record(record: object) -> tuple[str, int, str, Floats]:
    if not isinstance(record, dict):
        raise ValueError("it is not an object")
    benchmark = record.get("Benchmark")
    if not isinstance(benchmark, str) or not benchmark:
        raise ValueError("'Benchmark' has to be a name")
    batch_size = record.get("BS")
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or not 0 < batch_size < 2**53:
        raise ValueError("'BS' has to be a whole number above 0")
    keys = [key for key in UNITS if key in record]
    if len(keys) != 1:
        raise ValueError(f"it has to have one of {' and '.join(map(repr, UNITS))}")
    runs = record[keys[0]]
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"'{keys[0]}' has to be a list of one run or more")
    return benchmark, batch_size, UNITS[keys[0]], np.array([_run(run) for run in runs], np.float64)


def _run(run: Any) -> float:
    if isinstance(run, int | float) and not isinstance(run, bool):
        try:
            value = float(run)
        except OverflowError:
            value = math.inf
        if math.isfinite(value) and value > 0:
            return value
    raise ValueError("a run has to be a finite number above 0")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
