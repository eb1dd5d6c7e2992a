"""Values in the lines of a text log, by the expressions of a mapping: blocks of lines are matched by RE2, in C++.

Matching takes linear time. It is refused where it is so slow that it would stall an ingest.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import NOT_ENDED, NOT_UTF8, LoggedRows, Scalar, TextCell, check_size, is_utf8
from losslake_ingest.mapping.expressions import TextLines
from losslake_ingest.readers.tables.table import EMPTY_WORDS, NUMBER, is_number
from losslake_ingest.readers.text_logs.matches import AT, END, Block, Matches
from losslake_schema.reached import Flags, Floats, Integers

LONGEST_LINE = 1 << 16
LARGEST_BLOCK = 1 << 22
MOST_RUNS = 10_000  # of one file
SLOWEST = 4_000_000  # bytes a second and expression, after the first seconds
FIRST_SECONDS = 2.0
UNMATCHED = "line that no expression matches: skipped"
TOO_LONG = f"line of more than {LONGEST_LINE:,} bytes: skipped"
_FIRST_BLOCK = 1 << 16
_QUICK = 0.05
_COLOURS = re.compile(rb"\x1b\[[0-9;]{0,20}m")
_PRODUCT = re.compile(r"[0-9][0-9_,]{0,17}(?: *\* *[0-9][0-9_,]{0,17}){0,9}")
_GROUPED = "^[1-9][0-9]{0,2}(?:,[0-9]{3})+$"
_SEPARATORS = str.maketrans("", "", "_,")
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(frozen=True)
class TextLog:
    """The values of a text log. runs: each has rows for the expressions with the same axes; fields: its constants."""

    runs: Sequence[Sequence[LoggedRows]]
    fields: dict[str, Scalar]
    remarks: dict[str, int]


def lines_of(data: bytes) -> bytes:
    """Return the text with newlines only, without colours and byte order marks; UTF-16 becomes UTF-8."""
    coding = _MARKS.get(data[:2])
    if coding is not None:
        data = data[2:].decode(coding, "replace").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\x1b" in data:
        data = b"".join(_without_colours(data))
    # A progress bar returns to the start of its line: what stands there is a line as well.
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _without_colours(data: bytes) -> Iterator[bytes]:
    """Yield the text in parts, each of which begins with a colour: what is between two takes 60 bytes as an object."""
    start = 0
    while start < len(data):
        stop = data.find(b"\x1b", start + _FIRST_BLOCK)
        stop = len(data) if stop < 0 else stop
        yield _COLOURS.sub(b"", data[start:stop])
        start = stop


def read_text(data: bytes, text: TextLines, axes: frozenset[str]) -> TextLog:
    """Read the lines of a log. axes: the names of columns with positions. Raises Refusal."""
    data = lines_of(data)
    lines, constants = [Matches() for _ in text.lines], [Matches() for _ in text.constants]
    starts: list[Integers] = []
    remarks: Counter[str] = Counter()
    clock = _Clock(len(lines) + len(constants) + 1)
    for first, some in _blocks(data, clock):
        if isinstance(some, int):
            remarks[TOO_LONG] += some
            continue
        block = Block.of(some)
        unmatched = np.asarray(pc.greater(pc.binary_length(some), 1))
        for expressions, groups in ((text.lines, lines), (text.constants, constants)):
            for expression, matches in zip(expressions, groups, strict=True):
                unmatched[matches.add(first, block, expression)] = False
        if n_unmatched := int(unmatched.sum()):
            remarks[UNMATCHED] += n_unmatched
        if text.starts is not None:
            begins = pc.match_substring_regex(some, f"(?m){text.starts}")
            starts.append(np.flatnonzero(begins.to_numpy(zero_copy_only=False)) + first)
    if data and not data.endswith(b"\n"):
        remarks[NOT_ENDED] = 1
    if not data.isascii() and not is_utf8(data):
        remarks[NOT_UTF8] = 1
    bounds = [0, *(np.concatenate(starts).tolist() if starts else []), np.iinfo(np.int64).max]
    if len(bounds) > MOST_RUNS:
        message = (
            f"it has {len(bounds) - 2:,} lines that start a run, at most {MOST_RUNS:,} are read: correct [text] starts"
        )
        raise Refusal(Rule.FILE_TOO_LARGE, message)
    runs = [
        _rows(tables, text.carried, axes)
        for first, stop in pairwise(bounds)
        if (tables := _tables(lines, axes, first, stop))
    ]
    return TextLog(runs, _fields(constants), dict(remarks))


@dataclass
class _Clock:
    """A limit to the time of matching."""

    n_expressions: int
    n_bytes: int = 0
    started: float = field(default_factory=time.thread_time)

    def check(self) -> float:
        """Return the seconds of CPU so far. Raises Refusal if matching is too slow."""
        seconds = time.thread_time() - self.started
        if seconds > FIRST_SECONDS + self.n_bytes * self.n_expressions / SLOWEST:
            message = f"matching took {seconds:.1f} s for {self.n_bytes:,} bytes: simplify the expressions of [text]"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        return seconds


def _blocks(data: bytes, clock: _Clock) -> Iterator[tuple[int, pa.Array | int]]:
    """Yield blocks of lines with the number of their first line, from 1; 1 in place of a line that is too long.

    Blocks grow while they are matched quickly, so that the clock is read often.
    """
    start, first, size, buffer = 0, 1, _FIRST_BLOCK, pa.py_buffer(data)
    before = clock.check()
    while start < len(data):
        stop = data.rfind(b"\n", start, start + size) + 1 if start + size < len(data) else len(data)
        if not stop:
            stop = data.find(b"\n", start + size) + 1 or len(data)
        block = np.frombuffer(data, np.uint8, stop - start, start)
        offsets = np.concatenate(([0], np.flatnonzero(block[:-1] == ord("\n")) + 1, [stop - start])).astype(np.int32)
        lengths = np.diff(offsets)
        n_lines = len(lengths)
        lines = pa.Array.from_buffers(pa.binary(), n_lines, [None, pa.py_buffer(offsets), buffer.slice(start)])
        too_long = np.flatnonzero(lengths > LONGEST_LINE)
        at = 0
        for place in [*too_long.tolist(), n_lines]:
            if place > at:
                yield first + at, lines[at:place]
            if place < n_lines:
                yield first + place, 1
            at = place + 1
        start, first = stop, first + n_lines
        clock.n_bytes = start
        after = clock.check()
        size = min(2 * size, LARGEST_BLOCK) if after - before < _QUICK else size
        before = after


@dataclass
class _Table:
    """The values of one expression, by line. texts: the first text that is no number in a column."""

    lines: Integers
    columns: dict[str, tuple[Floats, Flags]]
    texts: dict[str, TextCell]

    def carry(self, names: Sequence[str], tables: Sequence[_Table]) -> None:
        """Add the columns that it lacks, each with the last value in the lines before."""
        for name in names:
            others = [table for table in tables if name in table.columns and table is not self]
            if name in self.columns or not others:
                continue
            lines = np.concatenate([table.lines for table in others])
            order = np.argsort(lines, kind="stable")
            values, missing = (np.concatenate([table.columns[name][at] for table in others])[order] for at in (0, 1))
            at = np.searchsorted(lines[order], self.lines, "right") - 1
            self.columns[name] = values[at], missing[at] | (at < 0)


def _table(matches: Matches, axes: frozenset[str]) -> _Table:
    """Return the numbers of the columns. In an axis other than epochs, `1,000` is a number."""
    table = _Table(np.concatenate(matches.lines), {}, {})
    for name, texts in matches.columns():
        if name in (AT, END):
            continue
        empty = pc.is_in(texts, value_set=pa.array(EMPTY_WORDS, texts.type))
        try:
            numbers = pc.if_else(empty, None, texts).cast(pa.float64())
        except pa.ArrowInvalid:
            if name in axes and "epoch" not in name:
                grouped = pc.match_substring_regex(texts, _GROUPED)
                texts = pc.if_else(grouped, pc.replace_substring(texts, ",", ""), texts)
            numeric = pc.match_substring_regex(texts, f"^(?:{NUMBER.pattern})$", ignore_case=True)
            wrong = np.flatnonzero(~(pc.or_(empty, numeric).to_numpy(zero_copy_only=False)))
            if len(wrong):
                row = int(wrong[0])
                text = texts[row].cast(pa.large_binary()).as_py().decode("utf-8", "replace")
                table.texts[name] = TextCell(text, int(table.lines[row]))
            unsigned = pc.ascii_ltrim(pc.if_else(numeric, texts, None), characters="+")
            numbers = unsigned.cast(pa.float64())
        missing = numbers.is_null().to_numpy(zero_copy_only=False)
        if missing.all() and name not in table.texts:
            table.texts[name] = TextCell("", int(table.lines[0]))
        table.columns[name] = numbers.fill_null(np.nan).to_numpy(), missing
    return table


def _tables(lines: Sequence[Matches], axes: frozenset[str], first: int, stop: int) -> list[_Table]:
    """Return the tables of the expressions that match between two lines."""
    return [_table(matches, axes) for each in lines if (matches := each.between(first, stop)).n_rows]


def _rows(tables: Sequence[_Table], carried: Sequence[str], axes: frozenset[str]) -> list[LoggedRows]:
    """Return the rows of a run, with those of expressions that have the same axes in one. Raises Refusal."""
    by_axes: dict[frozenset[str], list[_Table]] = {}
    for table in tables:
        table.carry(carried, tables)
        by_axes.setdefault(axes & set(table.columns), []).append(table)
    return [_merged(group) for group in by_axes.values()]


def _merged(tables: Sequence[_Table]) -> LoggedRows:
    """Return the rows of tables with the same axes in the order of their lines. Raises Refusal if they are too many."""
    lines = np.concatenate([table.lines for table in tables])
    names = dict.fromkeys(name for table in tables for name in table.columns)
    check_size(len(lines), len(names))
    order = np.argsort(lines, kind="stable")
    columns: dict[str, tuple[Floats, Flags | None]] = {}
    for name in names:
        empty = [(np.full(len(table.lines), np.nan), np.ones(len(table.lines), np.bool_)) for table in tables]
        parts = [table.columns.get(name, none) for table, none in zip(tables, empty, strict=True)]
        columns[name] = tuple(np.concatenate([part[at] for part in parts])[order] for at in (0, 1))  # type: ignore[assignment]
    cells = [cell for table in tables for cell in table.texts.items() if cell[1].text]
    texts = dict(sorted(cells, key=lambda item: -(item[1].line or 0)))
    for name, (_, missing) in columns.items():
        if missing is not None and missing.all() and name not in texts:
            texts[name] = TextCell("", int(lines[order[0]]))
    rows = LoggedRows.of(columns)
    return LoggedRows(rows.columns, rows.missing, texts)


def _fields(constants: Sequence[Matches]) -> dict[str, Scalar]:
    """Return the constants by name; of several expressions, the first one that matches. Raises Refusal."""
    fields: dict[str, Scalar] = {}
    for name, texts in (group for matches in constants if matches.n_rows for group in matches.columns()):
        words = [word.decode("utf-8", "replace") for word in pc.unique(texts).cast(pa.large_binary()).to_pylist()]
        values = list(dict.fromkeys(constant(word) for word in words if word))
        if len(values) > 1 and name not in fields:
            both = f"{shown(values[0])} in one line and {shown(values[1])} in another"
            raise Refusal(Rule.FACTS_DISAGREE, f"{name} is {both}: narrow its expression in [text] constants")
        fields = dict.fromkeys([name], values[0]) | fields if values else fields
    return fields


def constant(text: str) -> Scalar:
    """Return the value of a constant: a product such as `8 * 64` or `524,288`, a number, or the text without quotes."""
    text = text.strip()
    if _PRODUCT.fullmatch(text):
        return math.prod(int(factor.translate(_SEPARATORS)) for factor in text.split("*"))
    return float(text) if is_number(text) else text.strip("'\"")
