"""Parser of metric files in MLflow's file store: a line per value, `timestamp_ms value step`.

Older ones have no step, newer ones may add the name and digest of a data set.
Source: mlflow/store/tracking/file_store.py, `_get_metric_from_line` and `_log_run_metric`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from losslake_ingest.contracts.run_log import Damage, remarks_in
from losslake_ingest.readers.mlflow_stores.stored_run import Metric, as_floats
from losslake_schema.names import real_number

CUT = Damage("last line of a metric file left out: it has no line end")
NOT_A_VALUE = Damage("line of a metric file left out: it isn't `timestamp value step`")
NO_STEP = "value without a step, as an old MLflow wrote it"
DATA_SET = "name of a value's data set: ignored"
_SMALL = 4096
# The characters in Python's integers and floats. Arrow accepts more, such as 0x10, and a lone \r as a line end.
_WRITTEN = b"0123456789.+-einfa \n"
_STAMP = re.compile(rb"-?[0-9]{1,30}")
_READ = pa_csv.ReadOptions(use_threads=False, column_names=["timestamp", "value", "step"], block_size=1 << 22)
_PARSE = pa_csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False)
_CONVERT = pa_csv.ConvertOptions(
    column_types={"timestamp": pa.int64(), "value": pa.float64(), "step": pa.int64()}, null_values=[]
)


def parse_metric_files(files: Mapping[str, bytes], remarks: Counter[str]) -> list[Metric]:
    """Parse each file, by its path; invalid lines are dropped and counted in the remarks."""
    if sum(map(len, files.values())) > _SMALL and all(data.endswith(b"\n") for data in files.values()):
        whole = _parse_whole(b"".join(files.values()))
        if whole is not None:
            ends = list(accumulate(data.count(b"\n") for data in files.values()))
            places = [slice(start, end) for start, end in pairwise([0, *ends])]
            return [Metric(whole.steps[at], whole.milliseconds[at], whole.values[at]) for at in places]
    return [_parse_file(path, data, remarks) for path, data in files.items()]


def _parse_file(path: str, data: bytes, remarks: Counter[str]) -> Metric:
    whole, end, rest = data.rpartition(b"\n")
    noted: Counter[str] = Counter({CUT: 1} if rest else {})
    parsed = _parse_whole(whole + end) if len(whole) > _SMALL else None
    metric = parsed or _parse_lines(whole.split(b"\n") if end else [], noted)
    remarks.update(remarks_in(noted, path))
    return metric


def _parse_whole(text: bytes) -> Metric | None:
    """Parse lines that all have three columns; return None if any has not."""
    if text.translate(None, _WRITTEN):
        return None
    try:
        table = pa_csv.read_csv(pa.py_buffer(text), _READ, _PARSE, _CONVERT)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != text.count(b"\n"):
        return None
    stamps, values, steps = (column.to_numpy() for column in table.columns)
    return Metric(as_floats(steps), as_floats(stamps), as_floats(values))


def _parse_lines(lines: Sequence[bytes], remarks: Counter[str]) -> Metric:
    """Parse lines of which some are unusual."""
    rows: list[tuple[int, int, float, bool]] = []
    for line in lines:
        parts = line.strip().split(b" ")
        value = real_number(parts[1]) if len(parts) in (2, 3) or len(parts) > 4 else None
        step = parts[2] if len(parts) > 2 else b"0"
        if value is None or not _STAMP.fullmatch(parts[0]) or not _STAMP.fullmatch(step):
            remarks[NOT_A_VALUE] += 1
            continue
        remarks[NO_STEP] += len(parts) == 2
        remarks[DATA_SET] += len(parts) > 3
        rows.append((int(step), int(parts[0]), value, len(parts) == 2))
    steps, stamps, values, no_step = zip(*rows, strict=True) if rows else [()] * 4
    return Metric(as_floats(steps), as_floats(stamps), as_floats(values), np.array(no_step) if any(no_step) else None)
