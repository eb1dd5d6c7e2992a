"""Values in the lines of a text log, by the expressions of a mapping: blocks of lines are matched by RE2, in C++.

Matching takes linear time. It is refused where it is so slow that it would stall an ingest.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import CUT_ADVICE, NOT_ENDED, NOT_UTF8, Damage, LoggedRows, Scalar, is_utf8
from losslake_ingest.mapping.expressions import TextLines
from losslake_ingest.readers.plain_text import in_utf8
from losslake_ingest.readers.tables.cells import is_number
from losslake_ingest.readers.text_logs.matches import Block, Matches
from losslake_ingest.readers.text_logs.rows import rows_of, table_of
from losslake_ingest.readers.text_logs.skipped import CUT, SkippedLines

LONGEST_LINE = 1 << 16
LARGEST_BLOCK = 1 << 22
MOST_RUNS = 10_000  # of one file
SLOWEST = 4_000_000  # bytes a second and expression, after the first seconds
FIRST_SECONDS = 2.0
UNMATCHED = "line that no expression matches: skipped"
TOO_LONG = f"line of more than {LONGEST_LINE:,} bytes: skipped"
CUT_VALUE = f"{CUT}, so its last value may be cut: left out"
_FIRST_BLOCK = 1 << 16
_QUICK = 0.05
_COLOURS = re.compile(rb"\x1b\[[0-9;]{0,20}m")
_PRODUCT = re.compile(r"[0-9][0-9_,]{0,17}(?: *\* *[0-9][0-9_,]{0,17}){0,9}")
_SEPARATORS = str.maketrans("", "", "_,")


@dataclass(frozen=True)
class TextRun:
    """A run of a text log. rows: one for the expressions with the same axes. fields: its constants.

    refusal: why its rows can't be read, if so.
    """

    rows: Sequence[LoggedRows]
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None


def lines_of(data: bytes) -> bytes:
    """Return the text with newlines only, without colours and byte order marks; UTF-16 becomes UTF-8."""
    data = in_utf8(data)
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


def read_text(data: bytes, text: TextLines, axes: frozenset[str], elapsed: str | None = None) -> list[TextRun]:
    """Read the runs in a log. Raises Refusal.

    axes: the names of columns with positions. elapsed: that of the column with the time.
    """
    log = _Log(lines_of(data), text, axes, elapsed)
    bounds = [0, *log.starts.tolist(), np.iinfo(np.int64).max]
    if len(bounds) > MOST_RUNS:
        most = f"at most {MOST_RUNS:,} are read: correct [text] starts"
        raise Refusal(Rule.FILE_TOO_LARGE, f"it has {len(bounds) - 2:,} lines that start a run, {most}")
    stretches = [
        (stretch, tables)
        for stretch in pairwise(bounds)
        if (tables := [table_of(part, axes, elapsed) for each in log.lines if (part := each.between(*stretch)).n_rows])
    ]
    fields = fields_of(log.constants, [stretch for stretch, _ in stretches])
    remarks = log.remarks([first for (first, _), _ in stretches])
    runs = []
    for (stretch, tables), constants, counts in zip(stretches, fields, remarks, strict=True):
        try:
            steps = [(frozenset(table.columns), table.steps(axes)) for table in tables]
            rows = rows_of(tables, text, axes, partial(log.skipped.naming, stretch))
        except Refusal as refusal:
            runs.append(TextRun([], refusal=refusal))
            continue
        last = max(int(table.lines[-1]) for table in tables)
        lost = [*log.skipped.lost(stretch, steps, log.cut), log.skipped.error_after(last, stretch[1])]
        counts.update({damage: 1 for damage in lost if damage is not None})
        runs.append(TextRun(rows, constants, counts))
    return runs


def falls(run: TextRun, axes: frozenset[str]) -> bool:
    """Return True if positions fall, as where a second run begins."""
    columns = [rows.columns[name][rows.known(name)] for rows in run.rows for name in axes & rows.columns.keys()]
    return any(bool((column[1:] < column[:-1]).any()) for column in columns)


class _Log:
    """The matches in a log. starts: lines that start a run; unmatched, too_long: lines.

    cut: the last line, if it has no end; else -1. file_remarks: on the file.
    """

    def __init__(self, data: bytes, text: TextLines, axes: frozenset[str], elapsed: str | None) -> None:
        """Match the lines of a log with the expressions of a mapping. Raises Refusal."""
        self.lines = [Matches(line, elapsed) for line in text.lines]
        self.constants = [Matches(line, elapsed) for line in text.constants]
        self.skipped = SkippedLines(text, axes)
        nothing = np.zeros(0, np.int64)
        starts, unmatched, too_long, last = [nothing], [nothing], [nothing], 0
        clock, is_cut = _Clock(len(self.lines) + len(self.constants) + 2), bool(data) and not data.endswith(b"\n")
        for first, some, is_last in _blocks(data, clock):
            last = first
            if isinstance(some, int):
                too_long.append(np.array([first]))
                continue
            last = first + len(some) - 1
            block = Block(some, is_cut and is_last)
            is_unmatched = np.asarray(pc.greater(pc.binary_length(some), 1))
            for matches in (*self.lines, *self.constants):
                is_unmatched[matches.add(first, block)] = False
            if is_unmatched.any():
                unmatched.append(np.flatnonzero(is_unmatched) + first)
                self.skipped.add(unmatched[-1], some.filter(pa.array(is_unmatched)))
            if text.starts is not None:
                begins = pc.match_substring_regex(some, f"(?m){text.starts}")
                starts.append(np.flatnonzero(begins.to_numpy(zero_copy_only=False)) + first)
        self.starts, self.unmatched, self.too_long = map(np.concatenate, (starts, unmatched, too_long))
        self.cut = last if is_cut else -1
        self.file_remarks: dict[str, int] = {}
        if any(each.is_cut for each in self.lines):
            self.file_remarks[Damage(CUT_VALUE, last, CUT_ADVICE)] = 1
        elif is_cut:
            self.file_remarks[NOT_ENDED] = 1
        if not data.isascii() and not is_utf8(data):
            self.file_remarks[NOT_UTF8] = 1

    def remarks(self, firsts: Sequence[int]) -> list[dict[str, int]]:
        """Return the remarks on each run. firsts: their first lines; lines before them belong to the first run."""
        if not firsts:
            return []
        remarks: list[dict[str, int]] = [{} for _ in firsts]
        for what, lines in ((UNMATCHED, self.unmatched), (TOO_LONG, self.too_long)):
            runs = (np.searchsorted(firsts, lines, "right") - 1).clip(0)
            for run, count in enumerate(np.bincount(runs, minlength=len(firsts)).tolist()):
                remarks[run] |= {what: count} if count else {}
        for remark, count in self.file_remarks.items():
            remarks[0 if remark == NOT_UTF8 else -1][remark] = count
        return remarks


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


def _blocks(data: bytes, clock: _Clock) -> Iterator[tuple[int, pa.Array | int, bool]]:
    """Yield blocks of lines with the number of their first line, from 1; 1 in place of a line that is too long.

    The flag says that it is the last one.

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
                yield first + at, lines[at:place], stop == len(data) and place == n_lines
            if place < n_lines:
                yield first + place, 1, False
            at = place + 1
        start, first = stop, first + n_lines
        clock.n_bytes = start
        after = clock.check()
        size = min(2 * size, LARGEST_BLOCK) if after - before < _QUICK else size
        before = after


def fields_of(constants: Sequence[Matches], stretches: Sequence[tuple[int, int]]) -> list[dict[str, Scalar]]:
    """Return the constants of each run by name. stretches: the lines of each. Raises Refusal.

    A constant with one value is of all runs. Else each run must have one, and none may stand before the first run.
    """
    fields: list[dict[str, Scalar]] = [{} for _ in stretches]
    for matches in constants:
        for name, values in _values(matches).items():
            if any(name in each for each in fields):
                continue  # the first expression that matches counts
            if len(values) > 1:
                each_run = [_values(matches.between(*stretch)).get(name, []) for stretch in stretches]
                before = _values(matches.between(0, stretches[0][0])).get(name, []) if stretches else []
                if before or len(each_run) < 2 or any(len(of_run) != 1 for of_run in each_run):
                    both = f"{shown(values[0])} in one line and {shown(values[1])} in another"
                    raise Refusal(Rule.FACTS_DISAGREE, f"{name} is {both}: narrow its expression in [text] constants")
                for run, of_run in zip(fields, each_run, strict=True):
                    run[name] = of_run[0]
            elif values:
                for run in fields:
                    run[name] = values[0]
    return fields


def _values(matches: Matches) -> dict[str, list[Scalar]]:
    """Return the different values of each group."""
    values: dict[str, list[Scalar]] = {}
    for name, texts in matches.columns() if matches.n_rows else ():
        words = [word.decode("utf-8", "replace") for word in pc.unique(texts).cast(pa.large_binary()).to_pylist()]
        values[name] = list(dict.fromkeys(constant(word) for word in words if word))
    return values


def constant(text: str) -> Scalar:
    """Return the value of a constant: a product such as `8 * 64` or `524,288`, a number, or the text without quotes."""
    text = text.strip()
    if _PRODUCT.fullmatch(text):
        return math.prod(int(factor.translate(_SEPARATORS)) for factor in text.split("*"))
    return float(text) if is_number(text) else text.strip("'\"")
