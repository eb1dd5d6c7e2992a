"""A CSV as a table: pyarrow parses the columns of numbers straight to float64, and the others to distinct words.

Which columns are numbers is guessed from the first row; where a later row proves the guess wrong, the file is read once
more as text to tell. Lines that repeat the header are left out, and a last line that was cut short is parsed apart.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.tables.table import (
    CHANGING_TEXT,
    LARGEST_COLUMNS,
    LARGEST_WORDS,
    Codes,
    Numbers,
    Table,
    Words,
    check_run_column,
    check_size,
    is_number,
)

LONGEST_LINE = 1 << 20
DELIMITERS = ",;\t"
HEADER_REPEATED = "header line repeated"
CUT_SHORT = "the last line is cut short: left out"
NOT_ENDED = "the last line doesn't end in a newline: taken as it stands"
NO_NAME = "a column without a name is left out"
# Keras writes NA, R too; None and null come from programs that format their values themselves.
EMPTY_WORDS = ("", "NA", "None", "null")
_MOST_COMMENTS = 10_000
_UTF8_MARK = b"\xef\xbb\xbf"
_LARGEST_PADDING = 64
_BLANKS = " \t"
_BLOCK = 1 << 22
_WORTH_THREADS = 1 << 20
_ENOUGH_WORDS = 64
# A longer list costs small files time.
_NULLS = [*EMPTY_WORDS, *(" " * width for width in range(1, _LARGEST_PADDING + 1))]


def read_csv(data: bytes, run_column: str | None = None) -> Table:
    """Return the table that a CSV holds; raises Refusal. The run column is words even where it holds numbers."""
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    layout = find_layout(data)
    check_run_column(run_column, layout.names)
    rows = _rows_of(data, layout)
    check_size(data.count(b"\n", layout.start) + 1, len(layout.names))
    parser = _Parser(layout, rows.is_quoted, data.find(b" ", layout.start) >= 0, _guess(rows, layout, run_column))
    remarks = {HEADER_REPEATED: rows.headers_repeated} if rows.headers_repeated else {}
    nameless = sum(not name for name in layout.names[1:])
    if nameless:
        remarks[NO_NAME] = nameless
    parsed = [_parse_whole(data, rows, parser, run_column)] if len(rows.whole) else []
    if rows.last.strip():
        last = _parse_last(rows.last, parser)
        parsed += [last] if last is not None else []
        remarks[CUT_SHORT if last is None else NOT_ENDED] = 1
    if not sum(part.num_rows for part in parsed):
        raise Refusal(Rule.NO_MEASUREMENTS, "there is no row below the header")
    return _table(pa.concat_tables(parsed), parser, run_column, remarks)


@dataclass(frozen=True)
class Layout:
    """The header of a CSV.

    names: of all columns in their order, stripped; an empty one has no name. line: the header's line without its end.
    line_number: of the header, from 1. start: where the rows begin.
    """

    delimiter: str
    names: tuple[str, ...]
    line: bytes
    line_number: int
    start: int


def find_layout(data: bytes) -> Layout:
    """Return the layout of a CSV, by its header line; raises Refusal when there is none."""
    start, line, line_number = _header_line(data)
    text = line.decode("utf-8", "replace")
    bare = "".join(text.split('"')[::2])
    delimiter = max(DELIMITERS, key=bare.count)  # of equally many, the first
    try:
        cells = _split_line(text, delimiter)
    except csv.Error as error:
        raise Refusal(Rule.BAD_HEADER, f"the header can't be read ({error})", line_number) from None
    names = tuple(cell.strip() for cell in cells)
    _check_names(names, line_number)
    return Layout(delimiter, names, line, line_number, start)


def _header_line(data: bytes) -> tuple[int, bytes, int]:
    """Where the rows begin, the first line that is neither empty nor a comment, and its number."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refusal(Rule.BAD_HEADER, "the file is UTF-16: save it as UTF-8", 1)
    start = len(_UTF8_MARK) if data.startswith(_UTF8_MARK) else 0
    for line_number in range(1, _MOST_COMMENTS + 1):
        if start >= len(data):
            raise Refusal(Rule.EMPTY_FILE, "there is no header line", 1)
        end = data.find(b"\n", start, start + LONGEST_LINE)
        if end < 0:
            if len(data) - start > LONGEST_LINE:
                message = f"the line is longer than {LONGEST_LINE:,} bytes: is this a CSV?"
                raise Refusal(Rule.BAD_HEADER, message, line_number)
            end = len(data)
        line = data[start:end].strip(b"\r\n")
        start = end + 1
        if line.strip() and not line.lstrip().startswith(b"#"):
            return min(start, len(data)), line, line_number
    raise Refusal(Rule.BAD_HEADER, f"there is no header in the first {_MOST_COMMENTS:,} lines", 1)


def _check_names(names: tuple[str, ...], line_number: int) -> None:
    if len(names) > LARGEST_COLUMNS:
        message = f"there are {len(names):,} columns; at most {LARGEST_COLUMNS:,} are read"
        raise Refusal(Rule.BAD_HEADER, message, line_number)
    named = [name for name in names if name]
    if not named or all(is_number(name) for name in named):
        message = "the first line holds no names: write a line with the names of the columns above the rows"
        raise Refusal(Rule.BAD_HEADER, message, line_number)
    twice = [name for name, count in Counter(named).items() if count > 1]
    if twice:
        raise Refusal(Rule.BAD_HEADER, f"the column {shown(twice[0])} is there more than once", line_number)


def _split_line(line: str, delimiter: str) -> list[str]:
    """The cells of a line; raises csv.Error."""
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True), [])


@dataclass(frozen=True)
class _Rows:
    """The rows that end in a newline, and the last one if it doesn't."""

    whole: bytes | memoryview
    last: bytes
    headers_repeated: int
    is_quoted: bool


def _rows_of(data: bytes, layout: Layout) -> _Rows:
    """The rows below the header; raises Refusal if a line is too long to be one of a log."""
    _check_line_lengths(data, layout)
    body, repeated = _without_headers(data, layout)
    is_quoted = data.find(b'"', layout.start) >= 0
    cut = _start_of_last_line(bytes(body), layout) if is_quoted else _last_newline(body) + 1
    return _Rows(memoryview(body)[:cut], bytes(body[cut:]), repeated, is_quoted)


def _check_line_lengths(data: bytes, layout: Layout) -> None:
    """Refuse a line so long that whole windows lie within it, before anything is parsed."""
    for start in range(layout.start, len(data) - LONGEST_LINE + 1, LONGEST_LINE):
        if data.find(b"\n", start, start + LONGEST_LINE) < 0:
            line_number = data.count(b"\n", 0, start) + 1
            message = f"the line is longer than {LONGEST_LINE:,} bytes: is this a CSV?"
            raise Refusal(Rule.UNREADABLE_CSV, message, line_number)


def _without_headers(data: bytes, layout: Layout) -> tuple[bytes | memoryview, int]:
    """The rows without lines that repeat the header, as a restarted job writes it again."""
    if data.find(layout.line, layout.start) < 0:
        return memoryview(data)[layout.start :], 0
    body, repeated = b"\n" + data[layout.start :], 0
    for end in (b"\n", b"\r\n"):
        # The newline that ends a header begins the next: of several in a row, each pass leaves every second one.
        while count := body.count(b"\n" + layout.line + end):
            body, repeated = body.replace(b"\n" + layout.line + end, b"\n"), repeated + count
    if body.endswith(b"\n" + layout.line):
        body, repeated = body.removesuffix(layout.line), repeated + 1
    return memoryview(body)[1:], repeated


def _last_newline(body: bytes | memoryview) -> int:
    """The place of the last newline, or -1; lines are known to be short."""
    window = bytes(body[-2 * LONGEST_LINE :])
    at = window.rfind(b"\n")
    return at if at < 0 else at + len(body) - len(window)


def _start_of_last_line(body: bytes, layout: Layout) -> int:
    """Where what follows the last whole line begins; a newline in a quoted cell ends no line.

    Only one such newline is taken for that: a quote that more lines follow is a fault of its line.
    """
    opened = body.rfind(b'"')
    is_open = body.count(b'"') % 2 and (opened == 0 or body[opened - 1 : opened] in (layout.delimiter.encode(), b"\n"))
    last = body.rfind(b"\n")
    if is_open and body.count(b"\n", opened) <= 1:
        return body.rfind(b"\n", 0, opened) + 1
    before = body.rfind(b"\n", 0, max(last, 0))
    if body.count(b'"', last + 1) % 2 and body.count(b'"', before + 1) % 2 == 0:
        return before + 1
    return last + 1


class _Kind(Enum):
    """What a column is parsed to; PADDED numbers have empty words among spaces, which only slower parsing knows."""

    NUMBERS = pa.float64()
    PADDED = pa.string()
    WORDS = pa.dictionary(pa.int32(), pa.binary())


@dataclass
class _Parser:
    """Parses rows of one layout; the kind of each column that has a name, by its place. has_blanks: spaces in rows."""

    layout: Layout
    is_quoted: bool
    has_blanks: bool
    kinds: dict[int, _Kind]

    def parse(self, rows: bytes | memoryview) -> pa.Table:
        """The rows; raises pa.ArrowInvalid."""
        kinds = {str(place): kind.value for place, kind in self.kinds.items()}
        return pa.csv.read_csv(
            pa.py_buffer(rows),
            self._reading(len(rows), len(rows) > _WORTH_THREADS),
            self._splitting(),
            pa.csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                null_values=_NULLS if self.has_blanks else EMPTY_WORDS,
                check_utf8=False,
            ),
        )

    def look_closer(self, rows: bytes | memoryview, run_column: str | None) -> None:
        """Tell every column's kind from all of its cells; raises pa.ArrowInvalid."""
        open_places = [place for place in self.kinds if self.layout.names[place] != run_column]
        found = dict.fromkeys(open_places, _Kind.NUMBERS)
        for batch in self._as_text(rows, open_places):
            for place, kind in found.items():
                if kind is not _Kind.WORDS:
                    here = _kind_of(batch[str(place)])
                    found[place] = kind if here is _Kind.NUMBERS else here
        self.kinds |= found

    def _as_text(self, rows: bytes | memoryview, places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        names = [str(place) for place in places]
        kinds = dict.fromkeys(names, pa.string())
        convert = pa.csv.ConvertOptions(column_types=kinds, include_columns=names, check_utf8=False)
        if names:
            yield from pa.csv.open_csv(pa.py_buffer(rows), self._reading(len(rows), True), self._splitting(), convert)

    def _reading(self, size: int, use_threads: bool) -> pa.csv.ReadOptions:
        names = [str(place) for place in range(len(self.layout.names))]
        return pa.csv.ReadOptions(use_threads=use_threads, column_names=names, block_size=min(_BLOCK, size + 1))

    def _splitting(self) -> pa.csv.ParseOptions:
        return pa.csv.ParseOptions(delimiter=self.layout.delimiter, newlines_in_values=self.is_quoted)


def _guess(rows: _Rows, layout: Layout, run_column: str | None) -> dict[int, _Kind]:
    """The kinds of the named columns, as the first row suggests them."""
    end = bytes(rows.whole[:_BLOCK]).find(b"\n")
    first = bytes(rows.whole[:end]) if end >= 0 else rows.last
    try:
        cells = _split_line(first.decode("utf-8", "replace"), layout.delimiter)
    except csv.Error:
        cells = []
    kinds = {}
    for place, name in enumerate(layout.names):
        cell = cells[place] if place < len(cells) else ""
        is_text = name == run_column or not (is_number(cell) or cell.strip() in EMPTY_WORDS)
        if name:
            kinds[place] = _Kind.WORDS if is_text else _Kind.NUMBERS
    return kinds


def _parse_whole(data: bytes, rows: _Rows, parser: _Parser, run_column: str | None) -> pa.Table:
    """The rows that end in a newline; a second try knows the kinds of the columns from all of their cells."""
    as_written = memoryview(data)[parser.layout.start : len(data) - len(rows.last)]
    if rows.is_quoted and data.count(b'"', parser.layout.start) % 2:
        fault = _fault_of(as_written, parser.layout)
        if fault:
            raise fault
    try:
        return parser.parse(rows.whole)
    except pa.ArrowInvalid:
        try:
            parser.look_closer(rows.whole, run_column)
            return parser.parse(rows.whole)
        except pa.ArrowInvalid:
            message = "its rows can't be told apart: write plain lines that end in a newline"
            raise (_fault_of(as_written, parser.layout) or Refusal(Rule.UNREADABLE_CSV, message)) from None


def _parse_last(line: bytes, parser: _Parser) -> pa.Table | None:
    """The line that doesn't end in a newline, or None if something of it is lacking."""
    try:
        table = parser.parse(line)
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows else None


def _kind_of(texts: pa.Array) -> _Kind:
    """Whether the cells are numbers, numbers that pyarrow's CSV reader does not know as such, or words."""
    empty = pa.array(EMPTY_WORDS)
    trimmed = pc.ascii_trim(texts, characters=_BLANKS)
    is_empty = pc.is_in(trimmed, value_set=empty)
    try:
        pc.if_else(is_empty, None, trimmed).cast(pa.float64())
    except pa.ArrowInvalid:
        return _Kind.WORDS
    known = pc.is_in(texts, value_set=pa.array(_NULLS))
    return _Kind.NUMBERS if known.equals(is_empty) else _Kind.PADDED


def _table(parsed: pa.Table, parser: _Parser, run_column: str | None, remarks: dict[str, int]) -> Table:
    """The columns as arrays; each leaves Arrow's memory as it comes."""
    n_rows = parsed.num_rows
    columns = parsed.unify_dictionaries().columns
    del parsed
    table = Table(n_rows, {}, {}, remarks)
    room = LARGEST_WORDS
    for at, (place, kind) in enumerate(parser.kinds.items()):
        name, column, columns[at] = parser.layout.names[place], columns[at], None
        if kind is not _Kind.WORDS:
            table.numbers[name] = _numbers(column, kind)
            continue
        distinct = len(column.chunk(0).dictionary)
        is_run = name == run_column
        if is_run and distinct > LARGEST_WORDS:
            message = f"the column {shown(name)} tells {distinct:,} runs apart; at most {LARGEST_WORDS:,} are read"
            raise Refusal(Rule.FILE_TOO_LARGE, message)
        room -= 0 if is_run else distinct
        if is_run or (room >= 0 and (run_column or distinct <= _ENOUGH_WORDS)):
            table.words[name] = _words(column)
        else:
            remarks[CHANGING_TEXT.format(name=shown(name))] = 1
    return table


def _numbers(column: pa.ChunkedArray, kind: _Kind) -> Numbers:
    if kind is _Kind.PADDED:
        trimmed = pc.ascii_trim(column, characters=_BLANKS)
        column = pc.if_else(pc.is_in(trimmed, value_set=pa.array(EMPTY_WORDS)), None, trimmed).cast(pa.float64())
    array = column.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Numbers(array.to_numpy(zero_copy_only=False), missing)


def _words(column: pa.ChunkedArray) -> Words:
    """The distinct words, stripped; those that become equal or empty by that are made one."""
    array = column.combine_chunks()
    places: dict[str, int] = {"": -1}
    texts = [word.decode("utf-8", "replace").strip() for word in array.dictionary.to_pylist()]
    codes: Codes = np.array([places.setdefault(text, len(places) - 1) for text in texts], np.int32)
    return Words(codes[array.indices.to_numpy(zero_copy_only=False)], list(places)[1:])


def _fault_of(rows: bytes | memoryview, layout: Layout) -> Refusal | None:
    """The first row that can't be split into as many cells as the header has; read slowly, line by line."""
    lines = (line.decode("utf-8", "replace") for line in io.BytesIO(rows))
    reader = csv.reader(lines, delimiter=layout.delimiter, strict=True)
    expected = len(layout.names)
    while True:
        line_number = layout.line_number + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            return Refusal(Rule.UNREADABLE_CSV, f"the row can't be split into cells ({error})", line_number)
        if cells is None:
            return None
        if cells and len(cells) != expected:
            message = f"the row has {len(cells):,} cells, the header has {expected:,}"
            return Refusal(Rule.WRONG_CELL_COUNT, message, line_number)
