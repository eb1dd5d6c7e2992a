"""Tables with a row per evaluation: wide CSV (Keras, Lightning, Ultralytics, hand-made) and JSON lines (DETR, MAE)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from losslake_ingest.formats.format import GLIMPSE, Glimpse, defaults_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Refused, Source, plain
from losslake_ingest.tables.csv_table import find_layout, read_csv
from losslake_ingest.tables.json_table import parse_line, read_json_lines, starts_with_objects
from losslake_ingest.tables.table import Table, TableFile, is_number, runs_of

_ENDINGS = (".csv", ".tsv")
_KNOWN_FILES = ("metrics.csv", "results.csv")
_KERAS_METRICS = {"loss", "val_loss", "accuracy", "val_accuracy"}
_BY_NAME = (".jsonl", ".ndjson")
_BY_FIRST_LINE = (".txt", ".log")
_BY_TWO_LINES = (".json",)  # A single line is more likely the settings of a run than its log.
_DEEPEST = 4

Parse = Callable[[str, bytes, str | None], Table | None]


class WideCsv:
    """Tables with a column per axis and metric."""

    name = "csv"
    reads = "a .csv or .tsv with a header and a row per evaluation (Keras, Lightning, Ultralytics, any wide table)"
    needs = "collection, dataset, model, optimizer, batch_size, metrics, and the axis if it is no step or epoch"
    defaults = defaults_of("csv")

    def detect(self, file: Glimpse) -> float:
        """How surely this is a table of evaluations: by its header and its first row."""
        if not file.name.lower().endswith(_ENDINGS):
            return 0.0
        try:
            layout = find_layout(file.start)
        except Refusal:
            return 0.0
        if len(layout.names) < 2:
            return 0.0
        first, newline, _ = file.start[layout.start :].partition(b"\n")
        if newline or len(file.start) < GLIMPSE:
            cells = first.decode("utf-8", "replace").split(layout.delimiter)
            if first.strip() and not any(is_number(cell.strip().strip('"')) for cell in cells):
                return 0.0
        is_keras = layout.names[0] == "epoch" and not _KERAS_METRICS.isdisjoint(layout.names)
        return 0.5 if is_keras or file.name in _KNOWN_FILES else 0.3

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """One run per file, or per value of the mapping's run column."""
        return _read_tables(source, _ENDINGS, lambda _, data, run_column: read_csv(data, run_column), mapping)


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
        if not any(line is not None and _has_number(line) for line in objects):
            return 0.0
        return 0.5 if by_name else 0.3

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """One run per file, or per value of the mapping's run column; files that are no JSON lines are passed over."""
        return _read_tables(source, _BY_NAME + _BY_FIRST_LINE + _BY_TWO_LINES, _parse, mapping)


def _read_tables(
    source: Source, endings: tuple[str, ...], parse: Parse, mapping: LogMapping
) -> Iterator[RunLog | Quarantined]:
    """The runs of every file with such an ending, as they come; parse returns None for a file that is no table.

    Side files and lookup tables of the mapping are not logs.
    """
    sides = set(mapping.files.side)
    lookups = {plain(lookup.file) for lookup in mapping.lookup}
    seen: set[str] = set()

    def is_wanted(path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.lower().endswith(endings) and name not in sides and path not in lookups

    for member in source.members(is_wanted):
        if isinstance(member, Refused):
            yield Quarantined(source.name, member.path, member.rule, member.message)
            continue
        file = TableFile(source.name, member.path, hashlib.sha256(member.data).hexdigest())
        if member.path in seen:
            yield file.quarantined(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one counts")
            continue
        seen.add(member.path)
        try:
            table = parse(member.path, member.data, mapping.run.column or None)
        except Refusal as fault:
            yield file.quarantined(fault.rule, fault.message, fault.line)
            continue
        if table is not None:
            yield from runs_of(table, file, mapping.run.column or None)


def _parse(path: str, data: bytes, run_column: str | None) -> Table | None:
    return read_json_lines(data, run_column) if _is_log(path.lower(), data) else None


def _is_log(path: str, data: bytes) -> bool:
    """Whether the name says so, or the first lines do."""
    return path.endswith(_BY_NAME) or starts_with_objects(data, 2 if path.endswith(_BY_TWO_LINES) else 1)


def _has_number(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict) and depth < _DEEPEST:
        return any(_has_number(inner, depth + 1) for inner in value.values())
    return isinstance(value, (int, float)) and not isinstance(value, bool)


CSV = WideCsv()
JSON_LINES = JsonLines()
