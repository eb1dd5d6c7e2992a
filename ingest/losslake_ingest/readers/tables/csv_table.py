"""Parser of CSV tables: pyarrow parses number columns to float64 and other columns to distinct words.

The first row shows which columns are numbers; if a later row contradicts it, the file is read again as text. Lines that
repeat the header are dropped, and an unfinished last line is parsed separately.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import CUT_ADVICE, CUT_SHORT, NOT_ENDED, NOT_UTF8, Damage, check_size, is_utf8
from losslake_ingest.mapping.row_keys import named_key, row_key
from losslake_ingest.readers.tables.cells import EMPTY_WORDS, ENOUGH_WORDS, LARGEST_WORDS, NUMBER, is_number
from losslake_ingest.readers.tables.csv_layout import LONGEST_LINE, Layout, find_layout, split_line, with_newlines
from losslake_ingest.readers.tables.table import Codes, Numbers, Table, Words, check_run_column, text_left_out
from losslake_schema.reached import Flags

HEADER_REPEATED = "header line repeated"
CUT_CELL = "the last line has no line end, so its last cell may be cut: left out"
CUT_KEY = "the last line has no line end, so its last cell, which tells rows apart, may be cut: the line is left out"
LONE_RETURN = "a carriage return without a newline: read as the end of a line"
NO_NAME = "a column without a name: left out"
MOST_BLANK_LINES = 100_000
_LARGEST_PADDING = 64
_BLANKS = " \t"
_BLOCK = 1 << 22
_WORTH_THREADS = 1 << 20
# With all words, a file takes a fifth longer.
_COMMON_WORDS = ("", "NA")
# A longer list would slow down small files.
_PADDING = [" " * width for width in range(1, _LARGEST_PADDING + 1)]


def read_csv(data: bytes, run_column: str | None = None, axes: Collection[str] = ()) -> Table:
    """Parse a CSV. The run column is read as words even if it holds numbers. Raises Refusal.

    axes: columns whose numbers are steps, so that 1.000 may be written with a point for thousands.
    """
    data = with_newlines(data)
    layout = find_layout(data)
    check_run_column(run_column, layout.names)
    n_blank = data.count(b"\n\n", layout.start) + data.count(b"\n\r\n", layout.start)
    if n_blank > MOST_BLANK_LINES:
        message = f"it has more than {MOST_BLANK_LINES:,} blank lines: remove them"
        raise Refusal(Rule.BLANK_LINE, message)
    rows = _Rows(data, layout, run_column)
    check_size(data.count(b"\n", layout.start) + 1, len(layout.names))
    remarks = {HEADER_REPEATED: rows.headers_repeated} if rows.headers_repeated else {}
    if not is_utf8(layout.line):
        remarks[NOT_UTF8] = 1
    if b"\r" in data and (n_lone := data.count(b"\r") - data.count(b"\r\n")):
        remarks[LONE_RETURN] = n_lone
    nameless = sum(not name for name in layout.names[1:])
    if nameless:
        remarks[NO_NAME] = nameless
    parsed = [_parse_complete_rows(data, rows)] if len(rows.whole) else []
    end = None
    if rows.last.strip():
        last, end = _parse_last(rows, parsed, data.count(b"\n") + 1)
        parsed += [last] if last is not None else []
        remarks[end] = 1
    elif rows.headers_repeated and not data.endswith(b"\n"):
        remarks[NOT_ENDED] = 1
    if not sum(part.num_rows for part in parsed):
        raise Refusal(Rule.NO_MEASUREMENTS, "there are no rows below the header")
    table = _table(pa.concat_tables(parsed), rows, remarks)
    _find_thousands(table, rows, axes)
    if end is not None:
        table.end, table.end_run = end, _run_of_last(rows)
    table.lines = _lines_of(data, layout, table.n_rows)
    return table


def long_line(data: bytes, start: int) -> int | None:
    """Return the offset of a window of LONGEST_LINE bytes without a newline, None if there is none."""
    windows = range(start, len(data) - LONGEST_LINE + 1, LONGEST_LINE)
    return next((at for at in windows if data.find(b"\n", at, at + LONGEST_LINE) < 0), None)


def _without_headers(data: bytes, layout: Layout) -> tuple[bytes | memoryview, int]:
    """Return the rows without repeated header lines, which restarted jobs write, and their number."""
    if data.find(layout.line, layout.start) < 0:
        return memoryview(data)[layout.start :], 0
    body, repeated = b"\n" + data[layout.start :], 0
    for end in (b"\n", b"\r\n"):
        # Consecutive headers share a newline, so each pass removes only every second one.
        while count := body.count(b"\n" + layout.line + end):
            body, repeated = body.replace(b"\n" + layout.line + end, b"\n"), repeated + count
    if body.endswith(b"\n" + layout.line):
        body, repeated = body.removesuffix(layout.line), repeated + 1
    return memoryview(body)[1:], repeated


def _last_newline(body: bytes | memoryview) -> int:
    """Return the offset of the last newline, or -1. Lines are known to be short."""
    window = bytes(body[-2 * LONGEST_LINE :])
    at = window.rfind(b"\n")
    return at if at < 0 else at + len(body) - len(window)


def _start_of_last_line(body: bytes, layout: Layout) -> int:
    """Return the offset of the unfinished last line; a newline in a quoted cell ends no line.

    Only one such newline is accepted: an open quote with more lines after it is an error in its line.
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
    """The type of a column. PADDED numbers have blank cells that only slower parsing recognizes."""

    NUMBERS = pa.float64()
    PADDED = pa.string()
    WORDS = pa.dictionary(pa.int32(), pa.binary())


class _Rows:
    """The rows below the header, and how they are parsed.

    whole: those that end in a newline. last: the last one if it doesn't. has_blanks: rows contain spaces. kinds: of
    each named column by position.
    """

    def __init__(self, data: bytes, layout: Layout, run_column: str | None) -> None:
        """Take the rows of a CSV. Raises Refusal if a line is too long for a log."""
        at = long_line(data, layout.start)
        if at is not None:
            message = f"the line is longer than {LONGEST_LINE:,} bytes: is this a CSV?"
            raise Refusal(Rule.UNREADABLE_CSV, message, data.count(b"\n", 0, at) + 1)
        self.layout, self.run_column = layout, run_column
        body, self.headers_repeated = _without_headers(data, layout)
        self.is_quoted = data.find(b'"', layout.start) >= 0
        end = _start_of_last_line(bytes(body), layout) if self.is_quoted else _last_newline(body) + 1
        self.whole, self.last = memoryview(body)[:end], bytes(body[end:])
        self.has_blanks = data.find(b" ", layout.start) >= 0
        self.kinds = _guess(self.whole, self.last, layout, run_column)

    def parse(self, lines: bytes | memoryview, empty_words: Sequence[str] = _COMMON_WORDS) -> pa.Table:
        """Parse some of the rows. Raises pa.ArrowInvalid."""
        kinds = {str(place): kind.value for place, kind in self.kinds.items()}
        nulls = [*empty_words, *_PADDING] if self.has_blanks else empty_words
        convert = pa.csv.ConvertOptions(
            column_types=kinds, include_columns=list(kinds), null_values=nulls, check_utf8=False
        )
        reading = self._reading(len(lines), len(lines) > _WORTH_THREADS)
        try:
            return pa.csv.read_csv(pa.py_buffer(lines), reading, self._splitting(), convert)
        except pa.ArrowInvalid:
            if empty_words is EMPTY_WORDS:
                raise
            return self.parse(lines, EMPTY_WORDS)

    def infer_kinds(self) -> None:
        """Determine every column's kind from all of its cells in the complete rows. Raises pa.ArrowInvalid."""
        places = [place for place in self.kinds if self.layout.names[place] != self.run_column]
        kinds = dict.fromkeys(places, _Kind.NUMBERS)
        for batch in self.as_text(places):
            for place, kind in kinds.items():
                if kind is not _Kind.WORDS:
                    batch_kind = _kind_of(batch[str(place)])
                    kinds[place] = kind if batch_kind is _Kind.NUMBERS else batch_kind
        self.kinds |= kinds

    def as_text(self, places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        names = [str(place) for place in places]
        kinds = dict.fromkeys(names, pa.string())
        convert = pa.csv.ConvertOptions(column_types=kinds, include_columns=names, check_utf8=False)
        if names:
            reading = self._reading(len(self.whole), True)
            yield from pa.csv.open_csv(pa.py_buffer(self.whole), reading, self._splitting(), convert)

    def _reading(self, size: int, use_threads: bool) -> pa.csv.ReadOptions:
        names = [str(place) for place in range(len(self.layout.names))]
        return pa.csv.ReadOptions(use_threads=use_threads, column_names=names, block_size=min(_BLOCK, size + 1))

    def _splitting(self) -> pa.csv.ParseOptions:
        return pa.csv.ParseOptions(delimiter=self.layout.delimiter, newlines_in_values=self.is_quoted)


def _guess(whole: memoryview, last: bytes, layout: Layout, run_column: str | None) -> dict[int, _Kind]:
    """Guess the kinds of the named columns from the first row."""
    end = bytes(whole[:_BLOCK]).find(b"\n")
    first = bytes(whole[:end]) if end >= 0 else last
    try:
        cells = split_line(first.decode("utf-8", "replace"), layout.delimiter)
    except csv.Error:
        cells = []
    kinds = {}
    for place, name in enumerate(layout.names):
        cell = cells[place] if place < len(cells) else ""
        is_text = name == run_column or not (is_number(cell) or cell.strip() in EMPTY_WORDS)
        if name:
            kinds[place] = _Kind.WORDS if is_text else _Kind.NUMBERS
    return kinds


def _parse_complete_rows(data: bytes, rows: _Rows) -> pa.Table:
    """Parse the complete rows; if the guessed kinds are wrong, infer them from all cells and parse again."""
    as_written = memoryview(data)[rows.layout.start : len(data) - len(rows.last)]
    if rows.is_quoted and data.count(b'"', rows.layout.start) % 2:
        fault = _fault_of(as_written, rows.layout)
        if fault:
            raise fault
    try:
        return rows.parse(rows.whole)
    except pa.ArrowInvalid:
        try:
            rows.infer_kinds()
            return rows.parse(rows.whole)
        except pa.ArrowInvalid:
            message = "its rows can't be separated: write one row per line, and close every quote"
            raise (_fault_of(as_written, rows.layout) or Refusal(Rule.UNREADABLE_CSV, message)) from None


def _parse_last(rows: _Rows, parsed: Sequence[pa.Table], line: int) -> tuple[pa.Table | None, str]:
    """Return the unfinished last line, None if it is left out, and a remark. Its last cell may be cut: it is empty.

    parsed: the complete rows, if there are some. line: its number.
    """
    names = rows.layout.names
    is_closed = not names[-1] or rows.last.endswith((b"\r", b'"'))
    before, delimiter, _ = rows.last.rpartition(rows.layout.delimiter.encode())
    try:
        table = rows.parse(rows.last if is_closed else before + delimiter)
    except pa.ArrowInvalid:
        return None, Damage(CUT_SHORT, line)
    if not table.num_rows:
        return None, Damage(CUT_SHORT, line)
    if is_closed:
        return table, NOT_ENDED
    place = str(len(names) - 1)
    words = parsed[0][place].unique().to_pylist() if parsed and pa.types.is_dictionary(table[place].type) else []
    texts = [text for word in words[:ENOUGH_WORDS] if word is not None and (text := _text(word))]
    is_key = names[-1] == rows.run_column or named_key(names[-1]) or row_key(names[-1], texts)
    return (None, Damage(CUT_KEY, line, CUT_ADVICE)) if is_key else (table, Damage(CUT_CELL, line, CUT_ADVICE))


def _run_of_last(rows: _Rows) -> str | None:
    """Return the run that the unfinished last line names in a whole cell."""
    if rows.run_column is not None:
        with suppress(csv.Error):
            cells = split_line(rows.last.decode("utf-8", "replace"), rows.layout.delimiter)
            place = rows.layout.names.index(rows.run_column)
            return cells[place].strip() if place < len(cells) - 1 else None
    return None


def _find_thousands(table: Table, rows: _Rows, axes: Collection[str]) -> None:
    """Note the axes whose cells may have a point for thousands; those with 500 and 1.000 hold no numbers."""
    for place in rows.kinds if len(rows.whole) else ():
        name = rows.layout.names[place]
        numbers = table.numbers.get(name) if name in axes and name not in table.words else None
        if numbers is None:
            continue
        values = numbers.values if numbers.missing is None else numbers.values[~numbers.missing]
        if not len(values) or not values.max() < 1000 or (np.abs(np.round(values * 1000) / 1000 - values) > 0).any():
            continue
        texts = pa.chunked_array([batch[str(place)] for batch in rows.as_text([place])], pa.string())
        texts = pc.ascii_trim(texts, characters=_BLANKS)
        has_point = pc.match_substring_regex(texts, r"^[1-9]\d{0,2}\.\d{3}$").to_numpy()
        is_plain = pc.match_substring_regex(texts, r"^[1-9]\d{0,2}$").to_numpy()
        is_other = ~(has_point | is_plain | pc.is_in(texts, value_set=pa.array(["0", *EMPTY_WORDS])).to_numpy())
        if not has_point.any() or is_other.any():
            continue
        if not is_plain.any():
            table.thousands |= {name}
        elif (values == np.floor(values)).all():
            has_point = np.append(has_point, np.zeros(table.n_rows - len(has_point), np.bool_))
            codes = np.where(has_point, 0, -1).astype(np.int32)
            table.words[name] = Words(codes, [texts[int(has_point.argmax())].as_py()])


def _kind_of(texts: pa.Array) -> _Kind:
    """Return the kind of the cells: numbers, padded numbers that pyarrow doesn't recognize, or words."""
    trimmed = pc.ascii_trim(texts, characters=_BLANKS)
    is_empty = pc.is_in(trimmed, value_set=pa.array(EMPTY_WORDS))
    try:
        pc.if_else(is_empty, None, trimmed).cast(pa.float64())
    except pa.ArrowInvalid:
        return _Kind.WORDS
    is_known = pc.is_in(texts, value_set=pa.array([*EMPTY_WORDS, *_PADDING])).equals(is_empty)
    return _Kind.NUMBERS if is_known else _Kind.PADDED


def _table(parsed: pa.Table, rows: _Rows, remarks: dict[str, int]) -> Table:
    """Convert the columns to arrays, freeing Arrow's memory column by column."""
    n_rows = parsed.num_rows
    columns = parsed.unify_dictionaries().columns
    del parsed
    table = Table(n_rows, {}, {}, remarks)
    room = LARGEST_WORDS
    for at, (place, kind) in enumerate(rows.kinds.items()):
        name, column, columns[at] = rows.layout.names[place], columns[at], None
        if kind is not _Kind.WORDS:
            table.numbers[name] = _numbers(column, kind)
            continue
        array = column.combine_chunks()
        distinct = len(array.dictionary)
        if not _are_utf8(array.dictionary):
            remarks[NOT_UTF8] = 1
        if name == rows.run_column:
            if distinct > LARGEST_WORDS:
                message = f"the column {shown(name)} has {distinct:,} runs; at most {LARGEST_WORDS:,} are read"
                raise Refusal(Rule.FILE_TOO_LARGE, message)
            table.words[name] = _words(array, ("",), np.zeros(distinct, np.bool_))
            continue
        is_numeric = _is_numeric(array.dictionary)
        if is_numeric.any():
            table.numbers[name] = _numbers_among_text(array, is_numeric)
        room -= distinct
        if room >= 0 and (rows.run_column or distinct <= ENOUGH_WORDS):
            table.words[name] = _words(array, EMPTY_WORDS, is_numeric)
        else:
            table.first_texts[name] = _first_text(array, is_numeric)
            remarks[text_left_out(name, name in table.numbers)] = 1
    return table


def _are_utf8(words: pa.Array) -> bool:
    try:
        words.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _is_numeric(words: pa.Array) -> Flags:
    flags = pc.match_substring_regex(words, f"^{NUMBER.pattern}$", ignore_case=True)
    return np.asarray(flags.to_numpy(zero_copy_only=False), np.bool_)


def _numbers_among_text(array: pa.DictionaryArray, is_numeric: Flags) -> Numbers:
    """Return the numbers of a column; its other cells are missing."""
    values = np.full(len(is_numeric), np.nan)
    numbers = pc.ascii_trim(array.dictionary.filter(pa.array(is_numeric)).cast(pa.string()), characters=_BLANKS)
    values[is_numeric] = numbers.cast(pa.float64()).to_numpy(zero_copy_only=False)
    codes = array.indices.to_numpy(zero_copy_only=False)
    return Numbers(values[codes], ~is_numeric[codes])


def _first_text(array: pa.DictionaryArray, is_numeric: Flags) -> tuple[int, str]:
    """Return the row and the text of the first cell that holds neither a number nor a word for a missing value."""
    codes = array.indices.to_numpy(zero_copy_only=False)
    cells = ((row, _text(array.dictionary[int(codes[row])].as_py())) for row in np.flatnonzero(~is_numeric[codes]))
    return next((int(row), text) for row, text in cells if text not in EMPTY_WORDS)


def _text(word: bytes) -> str:
    return word.decode("utf-8", "replace").strip()


def _numbers(column: pa.ChunkedArray, kind: _Kind) -> Numbers:
    if kind is _Kind.PADDED:
        trimmed = pc.ascii_trim(column, characters=_BLANKS)
        column = pc.if_else(pc.is_in(trimmed, value_set=pa.array(EMPTY_WORDS)), None, trimmed).cast(pa.float64())
    array = column.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Numbers(array.to_numpy(zero_copy_only=False), missing)


def _words(array: pa.DictionaryArray, empty: Sequence[str], is_numeric: Flags) -> Words:
    """Return the words that aren't numbers, stripped; words that become equal or empty by that are merged."""
    places = dict.fromkeys(empty, -1)
    texts = map(_text, array.dictionary.to_pylist())
    word_codes = [
        -1 if numeric else places.setdefault(text, len(places) - len(empty))
        for text, numeric in zip(texts, is_numeric.tolist(), strict=True)
    ]
    codes: Codes = np.array(word_codes, np.int32)
    return Words(codes[array.indices.to_numpy(zero_copy_only=False)], list(places)[len(empty) :])


def _lines_of(data: bytes, layout: Layout, n_rows: int) -> Sequence[tuple[int, int]]:
    """Return rows and their lines, as in a Table: the first row, and each after a line that isn't one row."""
    first = layout.line_number + 1
    if n_rows == data.count(b"\n", layout.start) + (not data.endswith(b"\n")):
        return ((0, first),)
    reader = csv.reader(_decoded(memoryview(data)[layout.start :]), delimiter=layout.delimiter)
    header = split_line(layout.line.decode("utf-8", "replace"), layout.delimiter)
    lines = [(0, first)]
    row, at = 0, 0
    with suppress(csv.Error):
        for cells in reader:
            if cells and cells != header:
                if at - row != lines[-1][1] - lines[-1][0] - first:
                    lines.append((row, first + at))
                row += 1
            at = reader.line_num
    return lines


def _decoded(rows: bytes | memoryview) -> Iterator[str]:
    return (line.decode("utf-8", "replace") for line in io.BytesIO(rows))


def _fault_of(rows: bytes | memoryview, layout: Layout) -> Refusal | None:
    """Return the error of the first row with the wrong number of cells, reading line by line."""
    reader = csv.reader(_decoded(rows), delimiter=layout.delimiter, strict=True)
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
