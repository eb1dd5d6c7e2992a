"""The header of a CSV: its delimiter, the names of its columns, and where its rows begin."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.readers.plain_text import check_nuls, in_utf8
from losslake_ingest.readers.tables.cells import LARGEST_COLUMNS, is_number

LONGEST_LINE = 1 << 20
DELIMITERS = ",;\t"
_MOST_COMMENTS = 10_000
# Excel's first line, which states the delimiter.
_STATED_DELIMITER = re.compile(r'"?sep=([^\w\s".+-]|\t)"?[ ,;]*', re.IGNORECASE)


def with_newlines(data: bytes) -> bytes:
    """Return a CSV in UTF-8 whose lines end in newlines: some have UTF-16, or carriage returns only."""
    data = in_utf8(data)
    return data.replace(b"\r", b"\n") if b"\r" in data and b"\n" not in data else data


@dataclass(frozen=True)
class Layout:
    """The header of a CSV.

    names: of all columns in order, stripped; empty for a column without a name. line: the header line without its line
    end. line_number: of the header, from 1. start: the offset of the first row.
    """

    delimiter: str
    names: tuple[str, ...]
    line: bytes
    line_number: int
    start: int


def find_layout(data: bytes) -> Layout:
    """Return the layout of a CSV in UTF-8 with newlines. Raises Refusal if it has no header line."""
    check_nuls(data)
    start, line, line_number = _header_line(data, 0, 1)
    text = line.decode("utf-8", "replace")
    stated = _STATED_DELIMITER.fullmatch(text)
    if stated:
        start, line, line_number = _header_line(data, start, line_number + 1)
        text = line.decode("utf-8", "replace")
    bare = "".join(text.split('"')[::2])
    delimiter = stated[1] if stated else max(DELIMITERS, key=bare.count)  # of equally many, the first
    try:
        cells = split_line(text, delimiter)
    except csv.Error as error:
        raise Refusal(Rule.BAD_HEADER, f"the header can't be read ({error})", line_number) from None
    names = tuple(cell.strip() for cell in cells)
    _check_names(names, line_number)
    return Layout(delimiter, names, line, line_number, start)


def _header_line(data: bytes, start: int, first: int) -> tuple[int, bytes, int]:
    """Return the offset of the rows, the first line that isn't empty or a comment, and its number.

    start: the offset of the line with the number `first`, where the search begins.
    """
    for line_number in range(first, first + _MOST_COMMENTS):
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
    duplicates = [name for name, count in Counter(named).items() if count > 1]
    if duplicates:
        message = f"the column {shown(duplicates[0])} occurs more than once: rename or remove one of them in the file"
        raise Refusal(Rule.BAD_HEADER, message, line_number)


def split_line(line: str, delimiter: str) -> list[str]:
    """Split a line into cells. Raises csv.Error."""
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != "\t", strict=True), [])
