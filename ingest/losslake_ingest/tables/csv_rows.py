"""The rows of a CSV as bytes: without repeated headers, and with a last line that was cut short set apart.

How a CSV is written: its delimiter, its header, and where its rows begin. Nothing here depends on the rows.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.tables.table import LARGEST_COLUMNS, is_number

LONGEST_LINE = 1 << 20
DELIMITERS = ",;\t"
_MOST_COMMENTS = 10_000
_UTF8_MARK = b"\xef\xbb\xbf"


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
    """The layout of a CSV, told from its header line; raises Refusal when there is none."""
    start, line, line_number = _header_line(data)
    text = line.decode("utf-8", "replace")
    delimiter = _delimiter(text)
    try:
        cells = split_line(text, delimiter)
    except csv.Error as error:
        raise Refusal(Rule.BAD_HEADER, f"the header can't be read ({error})", line_number) from None
    names = tuple(cell.strip() for cell in cells)
    _check_names(names, line_number)
    return Layout(delimiter, names, line, line_number, start)


def split_line(line: str, delimiter: str) -> list[str]:
    """The cells of one line; raises csv.Error."""
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True), [])


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


def _delimiter(header: str) -> str:
    """The delimiter that the header holds most often outside of quotes; of equally many, the first of DELIMITERS."""
    bare = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


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


HEADER_REPEATED = "header line repeated"
CUT_SHORT = "the last line is cut short: left out"
NOT_ENDED = "the last line doesn't end in a newline: taken as it stands"
_NEWLINE = 10


@dataclass(frozen=True)
class Rows:
    """The rows that end in a newline, and the last one if it doesn't."""

    whole: bytes | memoryview
    last: bytes
    headers_repeated: int
    is_quoted: bool


def rows_of(data: bytes, layout: Layout) -> Rows:
    """The rows below the header; raises Refusal if a line is too long to be one of a log."""
    _check_line_lengths(data, layout)
    body, repeated = _without_headers(data, layout)
    is_quoted = data.find(b'"', layout.start) >= 0
    cut = _start_of_last_line(bytes(body), layout) if is_quoted else _last_newline(body) + 1
    return Rows(memoryview(body)[:cut], bytes(body[cut:]), repeated, is_quoted)


def diagnose(rows: bytes | memoryview, layout: Layout) -> Refusal | None:
    """The first row that can't be split into as many cells as the header has; read slowly, line by line."""
    reader = csv.reader(_lines(rows), delimiter=layout.delimiter, strict=True)
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


def _lines(rows: bytes | memoryview) -> Iterator[str]:
    return (line.decode("utf-8", "replace") for line in io.BytesIO(rows))


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
