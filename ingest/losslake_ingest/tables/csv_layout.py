"""How a CSV is written: its delimiter, its header, and where its rows begin. Nothing here depends on the rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from losslake_ingest.rules import Rule
from losslake_ingest.tables.table import LARGEST_COLUMNS, BadTable, shown

LONGEST_LINE = 1 << 20
DELIMITERS = ",;\t"
_MOST_COMMENTS = 10_000
_UTF8_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)[ \t]*", re.ASCII | re.IGNORECASE
)


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
    """The layout of a CSV, told from its header line; raises BadTable when there is none."""
    start, line, line_number = _header_line(data)
    text = line.decode("utf-8", "replace")
    delimiter = _delimiter(text)
    try:
        cells = split_line(text, delimiter)
    except csv.Error as error:
        raise BadTable(Rule.BAD_HEADER, f"the header can't be read ({error})", line_number) from None
    names = tuple(cell.strip() for cell in cells)
    _check_names(names, line_number)
    return Layout(delimiter, names, line, line_number, start)


def split_line(line: str, delimiter: str) -> list[str]:
    """The cells of one line; raises csv.Error."""
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True), [])


def is_number(cell: str) -> bool:
    """Whether a cell says a float64, with spaces around it or not."""
    return _NUMBER.fullmatch(cell) is not None


def _header_line(data: bytes) -> tuple[int, bytes, int]:
    """Where the rows begin, the first line that is neither empty nor a comment, and its number."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadTable(Rule.BAD_HEADER, "the file is UTF-16: save it as UTF-8", 1)
    start = len(_UTF8_MARK) if data.startswith(_UTF8_MARK) else 0
    for line_number in range(1, _MOST_COMMENTS + 1):
        if start >= len(data):
            raise BadTable(Rule.EMPTY_FILE, "there is no header line", 1)
        end = data.find(b"\n", start, start + LONGEST_LINE)
        if end < 0:
            if len(data) - start > LONGEST_LINE:
                message = f"the line is longer than {LONGEST_LINE:,} bytes: is this a CSV?"
                raise BadTable(Rule.BAD_HEADER, message, line_number)
            end = len(data)
        line = data[start:end].strip(b"\r\n")
        start = end + 1
        if line.strip() and not line.lstrip().startswith(b"#"):
            return min(start, len(data)), line, line_number
    raise BadTable(Rule.BAD_HEADER, f"there is no header in the first {_MOST_COMMENTS:,} lines", 1)


def _delimiter(header: str) -> str:
    """The delimiter that the header holds most often outside of quotes; of equally many, the first of DELIMITERS."""
    bare = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def _check_names(names: tuple[str, ...], line_number: int) -> None:
    if len(names) > LARGEST_COLUMNS:
        message = f"there are {len(names):,} columns; at most {LARGEST_COLUMNS:,} are read"
        raise BadTable(Rule.BAD_HEADER, message, line_number)
    named = [name for name in names if name]
    if not named or all(is_number(name) for name in named):
        message = "the first line holds no names: write a line with the names of the columns above the rows"
        raise BadTable(Rule.BAD_HEADER, message, line_number)
    twice = [name for name, count in Counter(named).items() if count > 1]
    if twice:
        raise BadTable(Rule.BAD_HEADER, f"the column {shown(twice[0])} is there more than once", line_number)
