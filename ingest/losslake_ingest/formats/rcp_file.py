"""MLPerf's files rcps_*.json: where the runs of a reference converged, by batch size."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from losslake_ingest.readers.repeated_keys import distinct_pairs
from losslake_ingest.readers.safe_parsing import nearest_float

MOST_BYTES = 10_000_000
UNITS = {"Epochs to converge": "epochs", "samples to converge": "samples"}


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
