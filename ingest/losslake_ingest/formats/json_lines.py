"""JSON lines, one object per evaluation, as DETR, MAE and many hand-written training loops log.

Sources: https://jsonlines.org/; `log.txt` in main.py of facebookresearch/detr and main_pretrain.py of
facebookresearch/mae.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from losslake_ingest.formats.defaults_of import defaults_of
from losslake_ingest.formats.format import GLIMPSE, Glimpse
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Source
from losslake_ingest.tables.files import read_tables
from losslake_ingest.tables.json_table import parse_line, read_json_lines, starts_with_objects
from losslake_ingest.tables.table import Table

_BY_NAME = (".jsonl", ".ndjson")
_BY_FIRST_LINE = (".txt", ".log")
_BY_TWO_LINES = (".json",)  # A single line is more likely the settings of a run than its log.
_DEEPEST = 4


class JsonLines:
    """Logs with a JSON object per line."""

    name = "jsonl"
    reads = (
        "JSON lines, an object per evaluation: .jsonl, .ndjson, or a .json, .txt or .log that begins with such lines"
    )
    needs = "collection, dataset, model, optimizer, batch_size, metrics, and the axis if it is no step or epoch"
    defaults = defaults_of("jsonl")

    def detect(self, file: Glimpse) -> float:
        """How surely this is a log: by its first lines, one of which must be an object with a number."""
        name = file.name.lower()
        if not name.endswith(_BY_NAME + _BY_FIRST_LINE + _BY_TWO_LINES):
            return 0.0
        by_name = name.endswith(_BY_NAME)
        *lines, last = file.start.split(b"\n")
        is_cut = len(file.start) >= GLIMPSE
        if not lines and is_cut:
            return 0.5 if by_name and last.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") else 0.0
        if not by_name and not _is_log(name, file.start):
            return 0.0
        objects = [parse_line(line) for line in [*lines, *([] if is_cut else [last])]]
        if not any(found is not None and _has_number(found) for found in objects):
            return 0.0
        return 0.5 if by_name else 0.3

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """One run per file, or per value of the mapping's run column; files that are no JSON lines are passed over."""
        return read_tables(source, _BY_NAME + _BY_FIRST_LINE + _BY_TWO_LINES, _parse, mapping)


def _parse(path: str, data: bytes, run_column: str | None) -> Table | None:
    return read_json_lines(data, run_column) if _is_log(path.lower(), data) else None


def _is_log(path: str, data: bytes) -> bool:
    """Whether the name says so, or the first lines do."""
    return path.endswith(_BY_NAME) or starts_with_objects(data, 2 if path.endswith(_BY_TWO_LINES) else 1)


def _has_number(found: Any, depth: int = 0) -> bool:
    if isinstance(found, dict) and depth < _DEEPEST:
        return any(_has_number(value, depth + 1) for value in found.values())
    return isinstance(found, (int, float)) and not isinstance(found, bool)


FORMAT = JsonLines()
