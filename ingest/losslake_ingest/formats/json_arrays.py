"""Runs in JSON documents: a list for each metric (DeepOBS, Keras' `History.history`), or a list of entries.

A file can have several runs: entries of a list, or lines, that are such documents with a list for each metric.

A metric can also be an object with its value at each position, `{"5": 2.5, "10": 2.25}` (Megatron-LM's golden values).
Source: DeepOBS, `StandardRunner._run` in deepobs/tensorflow/runners/standard_runner.py; Keras, `History` in
src/callbacks/history.py; transformers, `Trainer.log`, whose `log_history` is a list of entries; NVIDIA/Megatron-LM,
`GoldenValueMetric` in tests/functional_tests/python_test_utils/common.py.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar, TextCell, check_size
from losslake_ingest.formats.csv_and_jsonl import read_tables, row_rules
from losslake_ingest.formats.format import BundledFormat, Glimpse
from losslake_ingest.mapping.mapping import LogMapping, mapping_for
from losslake_ingest.mapping.metrics import metric_of
from losslake_ingest.mapping.template import UnknownField
from losslake_ingest.readers.plain_text import LONGEST_LINE, UTF8_MARK
from losslake_ingest.readers.safe_parsing import clean_text, flattened, printable, read_document, scalars
from losslake_ingest.readers.tables.cells import LARGEST_COLUMNS
from losslake_ingest.readers.tables.json_table import list_column, read_json_entries, starts_with_objects
from losslake_ingest.readers.tables.runs import runs_of
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.sources.member import Source, most_unpacked
from losslake_schema.reached import Flags, Floats

INDEX = "index"
KEY = "key"
LEAST_KEYS = 10
_DEEPEST = 16
_LINES = (".jsonl.gz", ".jsonl")
_ENDINGS = (".json", *_LINES)
_NUMBER = rb"(?:-?[0-9][-+.0-9eE]{0,30}|NaN|-?Infinity|null)"
_NAME = (
    rb'(?:"(?:_?step|global_step|iteration|iter|epoch)s?|'
    rb'(?i:loss|acc|err|perplexity|ppl|bleu|wer|auc|f1|score|reward|metric)[^"\n]{0,100})"'
)
_LISTS = re.compile(rb'%b\s*:\s*\[\s*%b|"\s*:\s*\[\s*%b(?:\s*,\s*%b){9}' % (_NAME, *[_NUMBER] * 3))
_POSITION = re.compile(r"[0-9]{1,16}")
_WORD = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_CELL = rb'"[0-9]{1,16}"\s*:\s*(?:%b|"[-+A-Za-z]{1,9}")' % _NUMBER
_KEYED = re.compile(rb"\{\s*%b(?:\s*,\s*%b){%d}" % (_CELL, _CELL, LEAST_KEYS - 1))
_ENTRIES = re.compile(rb"\s*\[\s*\{[^\[\]]{0,2000}%b\s*:\s*%b" % (_NAME, _NUMBER))
_BETWEEN = re.compile(r"[\s,]*")
_EMPTY_LIST = "an empty list left out: {name}"
_NOT_LISTS = "the document has no list of numbers: it isn't a log, or what it logs is nested in lists"


class JsonArrays(BundledFormat):
    """The format of JSON documents with a list or an object for each metric, or with a list of entries."""

    name = "json_arrays"

    def detect(self, file: Glimpse) -> float:
        """Recognize a document by a list of numbers with a name of a metric, or by its first entry."""
        return 0.3 if file.name.lower().endswith(".json") and _is_log(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per file; of a list of entries, one per value of the mapping's run column.

        Entries and lines that are runs are read where the mapping names the field that tells them apart.
        """
        run_column = mapping.run.column or None

        def read(file: TableFile, data: bytes) -> Iterable[RunLog | Quarantined]:
            if file.path.lower().endswith(_LINES):
                return _runs(_lines(data), file, mapping) if run_column is not None else ()
            if run_column is not None and _has_runs(data):
                return _runs(_entries(data), file, mapping)
            if not _is_log(data):
                return ()
            document = read_document(data)
            if isinstance(document, list):
                table = read_json_entries([document], run_column)
                return runs_of(table, file, run_column, row_rules(mapping))
            return [_run(document, file, mapping)]

        return read_tables(source, _ENDINGS, mapping, read)


def _is_log(data: bytes) -> bool:
    if starts_with_objects(data, 2):  # JSON lines
        return False
    start = data[:100].removeprefix(UTF8_MARK).lstrip()
    if start.startswith(b"{"):
        return _LISTS.search(data) is not None or _KEYED.search(data) is not None
    return _ENTRIES.match(data.removeprefix(UTF8_MARK)) is not None


def _has_runs(data: bytes) -> bool:
    """Return True for a list of objects of which the first one has a list of numbers."""
    if not data[:100].removeprefix(UTF8_MARK).lstrip().startswith(b"["):
        return False
    try:
        first = read_document(next(_entries(data), (0, b"null"))[1])
    except Refusal:
        return False
    values = [value for _, value in flattened(first, _DEEPEST)] if isinstance(first, dict) else []
    return any(isinstance(value, list) and value and type(value[0]) in (int, float) for value in values)


def _entries(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the entries of a JSON list as JSON, with their numbers, one at a time. Raises Refusal."""
    text = data.removeprefix(UTF8_MARK).decode("utf-8", "replace")
    at, number = text.index("[") + 1, 0
    while (begin := _BETWEEN.match(text, at).end()) < len(text) and text[begin] != "]":  # type: ignore[union-attr]
        number += 1
        piece = text[begin : begin + LONGEST_LINE]
        try:
            _, end = json.JSONDecoder().raw_decode(piece)
        except (ValueError, RecursionError):
            what = f"entry {number:,} of the list is damaged, or has more than {LONGEST_LINE:,} characters"
            raise Refusal(Rule.UNREADABLE_LOG, f"{what}: it and those after it are left out") from None
        yield number, piece[:end].encode()
        at = begin + end


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the documents of JSON lines, which may be compressed by gzip, with their numbers. Raises Refusal."""
    stream = gzip.GzipFile(fileobj=BytesIO(data)) if data.startswith(b"\x1f\x8b") else BytesIO(data)
    size, number = 0, 0
    try:
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            size += len(line)
            if len(line) > LONGEST_LINE or size > most_unpacked(len(data)):
                message = f"a line has more than {LONGEST_LINE:,} bytes, or the file unpacks to too many: split it"
                raise Refusal(Rule.FILE_TOO_LARGE, message, number)
            if line.strip():
                yield number, line
    except (EOFError, OSError, zlib.error) as error:
        message = f"the file is damaged or cut short ({error}): copy it again"
        raise Refusal(Rule.DAMAGED_FILE, message, number) from None


def _runs(entries: Iterable[tuple[int, bytes]], file: TableFile, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
    """Yield the run of each entry or line, by the value of the mapping's run column."""
    seen: set[str] = set()
    number = 0
    try:
        for number, entry in entries:
            name: str | None = None
            try:
                document = read_document(entry)
                fields = scalars(flattened(document, _DEEPEST))
                if mapping.run.column not in fields:
                    message = f"entry {number:,} has no {shown(mapping.run.column)}, by which [run] column tells runs"
                    raise Refusal(Rule.MISSING_FACT, message)
                name = clean_text(str(fields[mapping.run.column]))
                if name in seen:
                    message = f"entry {number:,} is the second one of this run: the first one is used"
                    raise Refusal(Rule.DUPLICATE_FILE, message)
                seen.add(name)
                run = _run(document, file, mapping)
            except Refusal as refusal:
                yield file.quarantined(refusal.rule, refusal.message, name=name)
            else:
                yield replace(run, run=f"{file.path}#{name}")
    except Refusal as refusal:
        yield file.quarantined(refusal.rule, refusal.message, refusal.line)


def _run(document: Any, file: TableFile, mapping: LogMapping) -> RunLog:
    """Return the run of a document with a list or an object for each metric. Raises Refusal."""
    lists: dict[str, Sequence[Any]] = {}
    keyed: dict[str, Mapping[str, Any]] = {}
    remarks: Counter[str] = Counter()
    leaves = list(flattened(document, _DEEPEST, is_value=_is_keyed))
    for name, value in leaves:
        if isinstance(value, dict) and _is_keyed(value):
            keyed[printable(name)] = value
        elif isinstance(value, list) and value:
            lists[printable(name)] = value
        elif isinstance(value, list):
            remarks[_EMPTY_LIST.format(name=shown(name))] += 1
    fields = scalars(leaves)
    if len(lists) + len(keyed) > LARGEST_COLUMNS:
        n_lists = len(lists) + len(keyed)
        raise Refusal(Rule.UNREADABLE_LOG, f"it has {n_lists:,} lists; at most {LARGEST_COLUMNS:,} are read")
    rows = [*_rows(lists), *_keyed_rows(keyed)]
    if not any(each.columns.keys() - {INDEX, KEY} for each in rows):
        raise Refusal(Rule.NO_MEASUREMENTS, _NOT_LISTS)
    _check_axes(rows, fields, mapping)
    return RunLog(file.path, {file.path: file.sha256}, rows, fields, remarks=dict(remarks))


def _is_keyed(value: Mapping[Any, Any]) -> bool:
    """Return True for an object with a number, or a word for one, at each of many positions."""
    return (
        len(value) >= LEAST_KEYS
        and all(_POSITION.fullmatch(key) for key in value)
        and all(
            type(cell) in (float, int, type(None)) or (type(cell) is str and _WORD.fullmatch(cell))
            for cell in value.values()
        )
    )


def _keyed_rows(keyed: Mapping[str, Mapping[str, Any]]) -> list[LoggedRows]:
    """Return rows for the metrics that have values at the same positions, with these. Raises Refusal."""
    by_keys: dict[tuple[str, ...], dict[str, tuple[Floats, Flags | None]]] = {}
    for name, cells in keyed.items():
        column, _ = list_column([float(cell) if isinstance(cell, str) else cell for cell in cells.values()])
        if column is not None:
            by_keys.setdefault(tuple(cells), {})[name] = column
    rows = []
    for keys, columns in by_keys.items():
        check_size(len(keys), len(columns) + 1)
        rows.append(LoggedRows.of({KEY: (np.array(keys, np.float64), None)} | columns))
    return rows


def _rows(lists: Mapping[str, Sequence[Any]]) -> list[LoggedRows]:
    """Return rows for the lists of each length, with the place in the list, from 0. Raises Refusal."""
    by_length: dict[int, tuple[dict[str, tuple[Floats, Flags | None]], dict[str, TextCell]]] = {}
    for name, values in lists.items():
        column, text = list_column(values)
        columns, texts = by_length.setdefault(len(values), ({}, {}))
        if column is not None:
            columns[name] = column
        if text is not None:
            texts[name] = TextCell(text, None)
    rows = []
    for length, (columns, texts) in by_length.items():
        check_size(length, len(columns) + 1)
        index = np.arange(length, dtype=np.float64)
        rows.append(replace(LoggedRows.of({INDEX: (index, None)} | columns), texts=texts))
    return rows


def _check_axes(rows: Sequence[LoggedRows], fields: Mapping[str, Scalar], mapping: LogMapping) -> None:
    """Raise Refusal if metrics of several lengths take the place in the list as their step by one axis.

    Also if nothing says what the positions of a metric count.
    """
    mapping = mapping_for({**mapping.fields, **fields}, mapping)
    lengths: dict[int, dict[int, str]] = {}
    for each in rows:
        for name in each.columns:
            first = next((axis for axis in mapping.axis if axis.column in each.columns and axis.holds(name)), None)
            if first is None and KEY in each.columns and name != KEY and _is_metric(name, fields, mapping):
                add = f'[[axis]]\ncolumn = "{KEY}"\ncounts = "updates"   # or "examples" or "epochs"'
                raise mapping_lacks(Rule.STEP_UNKNOWN, f"it isn't known what the positions of {shown(name)} count", add)
            if first is not None and first.column == INDEX != name and _is_metric(name, fields, mapping):
                lengths.setdefault(id(first), {}).setdefault(len(each.columns[name]), name)
    for by_length in lengths.values():
        if len(by_length) > 1:
            some = " and ".join(f"{name} has {length:,} values" for length, name in list(by_length.items())[:2])
            add = f'column = "{INDEX}", metrics = ["{next(iter(by_length.values()))}"]'
            message = f"{some}, so their {INDEX} isn't the same step: give each its own [[axis]], as in {add}"
            raise Refusal(Rule.STEP_UNKNOWN, message)


def _is_metric(name: str, fields: Mapping[str, Scalar], mapping: LogMapping) -> bool:
    try:
        return metric_of(name, mapping.metrics, fields) is not None
    except KeyError:
        return False
    except UnknownField:
        return True


FORMAT = JsonArrays()
