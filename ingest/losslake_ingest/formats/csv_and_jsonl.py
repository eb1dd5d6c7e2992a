"""Logs in tables with a row per evaluation: wide CSV (Keras, Lightning, Ultralytics, …) and JSON lines (DETR, MAE)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats import dvclive
from losslake_ingest.formats.format import GLIMPSE, BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.metrics import metric_line
from losslake_ingest.mapping.row_keys import columns_used
from losslake_ingest.readers.plain_text import in_utf8
from losslake_ingest.readers.tables.cells import is_number
from losslake_ingest.readers.tables.csv_layout import find_layout, with_newlines
from losslake_ingest.readers.tables.csv_table import read_csv
from losslake_ingest.readers.tables.json_table import parse_line, read_json_lines, starts_with_objects
from losslake_ingest.readers.tables.runs import RowRules, runs_of
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.sources.member import Member, Source, normalize_path

TABLE_ENDINGS = (".csv", ".tsv")
_KERAS_METRICS = {"loss", "val_loss", "accuracy", "val_accuracy"}
_BY_NAME = (".jsonl", ".ndjson")
_BY_FIRST_LINE = (".txt", ".log")
_BY_TWO_LINES = (".json",)  # A single line is more likely the settings of a run than its log.
_DEEPEST = 4
_ASSUMED_SPLIT = "table_split"  # of columns whose name has none, in defaults/csv.toml

# Returns the runs of a file. Raises Refusal.
Read = Callable[[TableFile, bytes], Iterable[RunLog | Quarantined]]


class WideCsv(BundledFormat):
    """The format of CSV tables with a column per axis and metric."""

    name = "csv"

    def detect(self, file: Glimpse) -> float:
        """Recognize a table of evaluations by its header and first row."""
        if not file.name.lower().endswith(TABLE_ENDINGS):
            return 0.0
        start = with_newlines(file.start)
        try:
            layout = find_layout(start)
        except Refusal:
            return 0.0
        if len(layout.names) < 2:
            return 0.0
        first, newline, _ = start[layout.start :].partition(b"\n")
        if newline or len(file.start) < GLIMPSE:
            cells = first.decode("utf-8", "replace").split(layout.delimiter)
            if first.strip() and not any(is_number(cell.strip().strip('"')) for cell in cells):
                return 0.0
        is_keras = layout.names[0] == "epoch" and not _KERAS_METRICS.isdisjoint(layout.names)
        return 0.5 if is_keras or file.name in ("metrics.csv", "results.csv") else 0.3

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per file, or per value of the mapping's run column."""
        run_column = mapping.run.column or None
        axes = {axis.column for sections in (mapping, *mapping.when) for axis in sections.axis}

        def read(file: TableFile, data: bytes) -> Iterator[RunLog | Quarantined]:
            _check_metric_known(source, file.path, data, mapping)
            table = read_csv(data, run_column, axes)
            runs = runs_of(table, file, run_column, row_rules(mapping))
            return map(_with_keras_epochs, runs)

        return read_tables(source, TABLE_ENDINGS, mapping, read)


class JsonLines(BundledFormat):
    """The format of logs with a JSON object per line."""

    name = "jsonl"

    def detect(self, file: Glimpse) -> float:
        """Recognize a log by its first lines, one of which must be an object with a number."""
        name = file.name.lower()
        if not name.endswith(_BY_NAME + _BY_FIRST_LINE + _BY_TWO_LINES):
            return 0.0
        by_name = name.endswith(_BY_NAME)
        *lines, last = in_utf8(file.start).split(b"\n")
        is_cut = len(file.start) >= GLIMPSE
        if not lines and is_cut:
            return 0.5 if by_name and last.lstrip(b" \t").startswith(b"{") else 0.0
        if not by_name and not _is_log(name, file.start):
            return 0.0
        objects = [parse_line(line) for line in [*lines, *([] if is_cut else [last])]]
        if not any(line is not None and _has_number(line) for line in objects):
            return 0.0
        return 0.5 if by_name else 0.3

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per file, or per value of the mapping's run column; skip files that aren't JSON lines."""
        run_column = mapping.run.column or None

        def read(file: TableFile, data: bytes) -> Iterable[RunLog | Quarantined]:
            if not _is_log(file.path, data):
                return ()
            return runs_of(read_json_lines(data, run_column), file, run_column, row_rules(mapping))

        return read_tables(source, _BY_NAME + _BY_FIRST_LINE + _BY_TWO_LINES, mapping, read)


def read_tables(
    source: Source, endings: tuple[str, ...], mapping: LogMapping, read: Read
) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of every file with such an ending, but not of side files and lookup tables of the mapping."""
    sides = set(mapping.files.side)
    lookups = {normalize_path(lookup.file) for lookup in mapping.lookup}
    seen: set[str] = set()

    def is_wanted(path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.lower().endswith(endings) and name not in sides and path not in lookups

    def runs(member: Member) -> Iterator[RunLog | Quarantined]:
        file = TableFile(source.name, member.path, hashlib.sha256(member.data).hexdigest())
        if member.path in seen:
            yield file.quarantined(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
            return
        seen.add(member.path)
        try:
            items = read(file, member.data)
        except Refusal as fault:
            yield file.quarantined(fault.rule, fault.message, fault.line)
            return
        del member
        yield from items

    return read_files(source, is_wanted, runs)


def row_rules(mapping: LogMapping) -> RowRules:
    """Return what a mapping says of the rows of a table: it is wide if its column of values is a metric of its own."""
    long = mapping.long
    is_long = long.name and long.value and long.value not in mapping.metrics
    carried = {axis.column: axis.carried for axis in mapping.axis if axis.carried}
    conditions = {column: {} if condition is True else condition for column, condition in carried.items()}
    return RowRules(long if is_long else None, columns_used(mapping), conditions, mapping.run.within)


def _check_metric_known(source: Source, path: str, data: bytes, mapping: LogMapping) -> None:
    """Raise Refusal for a file of DVCLive without its layout, whose folders say what the mapping doesn't: the split."""
    column = dvclive.metric_in(path, data)
    line = mapping.metrics.get(column) if column is not None else None
    if column is None or line is None or line.metric is None or _ASSUMED_SPLIT not in line.metric.names:
        return
    what = f"DVCLive's folders say which metric {column} is, as in {dvclive.LAYOUT}"
    above = dvclive.folder_above(source.path)
    offer = f"offer the folder {above}" if above is not None else f"offer the folder that holds {dvclive.LAYOUT}"
    missing = MissingField(what, metric_line(column))
    raise Refusal(Rule.MISSING_FACT, f"{what}: {offer}, or add to the mapping: {missing.add}", missing=(missing,))


def _with_keras_epochs(run: RunLog | Quarantined) -> RunLog | Quarantined:
    """Return the run; if Keras' CSVLogger wrote it, with guessed fields that say how it counts epochs.

    It writes epoch, then the logs by name, after each epoch; the first is epoch 0, or `initial_epoch` if it
    goes on. fit() keeps an epoch's last batch. Logs from epoch 1 are others', who count from 1.
    """
    if isinstance(run, Quarantined):
        return run
    first, *others = run.rows[0].columns if run.rows else [""]
    if first != "epoch" or "loss" not in others or others != sorted(others):
        return run
    epochs = np.unique(np.concatenate([rows.columns[first][rows.known(first)] for rows in run.rows]))
    if 0 in epochs:
        return replace(run, guessed={"epoch_offset": 1, "epoch_last_batch": "kept"})
    goes_on = len(epochs) > 0 and epochs[0] > 1 and np.array_equal(epochs, epochs[0] + np.arange(len(epochs)))
    return replace(run, doubtful_epochs=others) if goes_on else run


def _is_log(path: str, data: bytes) -> bool:
    """Return True if the name or the first lines are those of JSON lines."""
    name = path.lower()
    return name.endswith(_BY_NAME) or starts_with_objects(data, 2 if name.endswith(_BY_TWO_LINES) else 1)


def _has_number(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict) and depth < _DEEPEST:
        return any(_has_number(inner, depth + 1) for inner in value.values())
    return isinstance(value, (int, float)) and not isinstance(value, bool)


CSV = WideCsv()
JSON_LINES = JsonLines()
