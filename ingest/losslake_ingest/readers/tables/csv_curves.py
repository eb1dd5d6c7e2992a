"""Parser of trial CSVs, `step` and a column per metric: all trials of a study are parsed at once.

Files that can't be parsed together are parsed one by one; a file that fails is read line by line to find the fault.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LARGEST_CELLS, LARGEST_ROWS, check_size
from losslake_ingest.contracts.study import Curves, concatenate, offsets_of
from losslake_ingest.readers.tables.csv_layout import LONGEST_LINE
from losslake_ingest.readers.tables.csv_table import long_line
from losslake_schema.errors import LossLakeError
from losslake_schema.names import natural_number
from losslake_schema.reached import Flags, Floats, Integers
from losslake_schema.registry import Metric, metric_named

STEP = "step"
_LONGEST_HEADER = 1 << 16
_LONGEST_QUOTE = 40
_COUNTED_AT_ONCE = 1 << 20
MOST_BLANK_LINES = 10
_BLANK_ENDS = (b"\n\n", b"\n\r\n")


class _Header(NamedTuple):
    """The columns of a file in order, and where its rows begin."""

    columns: tuple[str, ...]
    length: int


class _Block(NamedTuple):
    """Trials that were parsed together, by their positions among the files."""

    positions: Sequence[int]
    curves: Curves

    def bad_positions(self) -> list[int]:
        """Return the positions of trials with missing, negative or non-ascending steps."""
        steps, offsets = self.curves.steps, self.curves.offsets
        bad = steps < 0
        bad[1:] |= np.diff(steps) <= 0
        starts = offsets[:-1][np.diff(offsets) > 0]
        bad[starts] = steps[starts] < 0
        trials = np.searchsorted(offsets, np.flatnonzero(bad), side="right") - 1
        return [self.positions[index] for index in np.unique(trials).tolist()]

    def out_of_range(self) -> dict[int, Refusal]:
        """Return why trials are refused that have values beyond the range of their metric, by position."""
        faults: dict[int, Refusal] = {}
        for name, values in self.curves.values.items():
            metric = metric_named(name)
            if math.isinf(metric.largest):
                continue
            rows = np.flatnonzero(_out_of_range(metric, values, self.curves.offsets))
            trials, first = np.unique(np.searchsorted(self.curves.offsets, rows, side="right") - 1, return_index=True)
            for trial, row in zip(trials.tolist(), rows[first].tolist(), strict=True):
                what = f"{name} is {values[row]:.17g}, and {metric.range_in_words}: correct it (unit: {metric.unit})"
                line = row - int(self.curves.offsets[trial]) + 2
                faults.setdefault(self.positions[trial], Refusal(Rule.OUT_OF_RANGE, what, line))
        return faults


def _out_of_range(metric: Metric, values: Floats, offsets: Integers) -> Flags:
    """Flag the values that the metric can't have; of a trial without any that its best one can be, all."""
    lowest, highest = metric.limits
    is_finite = np.isfinite(values)
    bad: Flags = is_finite & ~((values >= lowest) & (values <= highest))
    if metric.is_largest_best:
        fits = offsets_of(is_finite & (values <= metric.largest))[offsets]
        bad |= is_finite & np.repeat(np.diff(fits) == 0, np.diff(offsets))
    return bad


def read_curves(files: Sequence[bytes]) -> tuple[Curves, list[int], dict[int, Refusal]]:
    """Parse the CSV files of one study's trials.

    Returns the curves of the valid files, their positions in `files` in ascending order, and the errors of the others
    by position. A file whose set of columns differs from that of most files is invalid; the order of columns is free.
    """
    headers, faults = _headers(files)
    _refuse_odd_columns(headers, faults)
    with_header: dict[_Header, list[int]] = {}
    for position, header in headers.items():
        with_header.setdefault(header, []).append(position)
    blocks: list[_Block] = []
    for header, positions in with_header.items():
        block = _parse(files, positions, header)
        parsed = [block] if block else [_parse(files, [position], header) for position in positions]
        faults |= {p: _first_error(files[p], header) for p, b in zip(positions, parsed, strict=False) if b is None}
        blocks += [block for block in parsed if block is not None]
    for block in blocks:
        faults |= block.out_of_range()
    faults |= {p: _first_error(files[p], headers[p]) for block in blocks for p in block.bad_positions()}
    good = sorted(position for block in blocks for position in block.positions if position not in faults)
    return _assemble(blocks, good), good, faults


def _headers(files: Sequence[bytes]) -> tuple[dict[int, _Header], dict[int, Refusal]]:
    """Return the header of each file with a valid one, and the errors of the others; equal headers are parsed once."""
    by_line: dict[bytes, _Header | Refusal] = {}
    headers: dict[int, _Header] = {}
    faults: dict[int, Refusal] = {}
    for position, data in enumerate(files):
        end = data.find(b"\n", 0, _LONGEST_HEADER)
        line = data[: end + 1] if end >= 0 else data[: _LONGEST_HEADER + 1]
        if line not in by_line:
            try:
                by_line[line] = _read_header(line)
            except Refusal as refusal:
                by_line[line] = refusal.with_traceback(None)  # which would keep `files` until garbage is collected
        header = by_line[line]
        if isinstance(header, Refusal):
            faults[position] = header
        else:
            headers[position] = header
    return headers, faults


def _read_header(line: bytes) -> _Header:
    """Parse a header line. Raises Refusal."""
    if not line.strip():
        raise Refusal(Rule.EMPTY_FILE, "there is no header line: write 'step' and the metrics", 1)
    if len(line) > _LONGEST_HEADER:
        raise Refusal(Rule.BAD_HEADER, f"the header is longer than {_LONGEST_HEADER:,} bytes: is this a CSV?", 1)
    try:
        columns = next(csv.reader([line.decode("utf-8-sig").strip("\r\n")], strict=True), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refusal(Rule.BAD_HEADER, f"the header can't be read ({error})", 1) from None
    duplicates = [name for name, count in Counter(columns).items() if count > 1]
    if STEP not in columns:
        raise Refusal(Rule.BAD_HEADER, f"there is no column '{STEP}'", 1)
    if duplicates:
        raise Refusal(Rule.BAD_HEADER, f"the column '{duplicates[0]}' occurs more than once", 1)
    try:
        for name in columns:
            if name != STEP:
                metric_named(name)
    except LossLakeError as error:
        raise Refusal(Rule.BAD_HEADER, str(error), 1) from None
    if len(columns) == 1:
        raise Refusal(Rule.BAD_HEADER, f"there is no metric column, only '{STEP}'", 1)
    return _Header(tuple(columns), len(line))


def _refuse_odd_columns(headers: dict[int, _Header], faults: dict[int, Refusal]) -> None:
    """Move the files with other columns than most to `faults`; all files, if no columns are those of most."""
    sets = Counter(frozenset(header.columns) for header in headers.values())
    if len(sets) < 2:
        return
    (usual, most), (second, next_most), *_ = sets.most_common()
    for position, header in list(headers.items()):
        columns = frozenset(header.columns)
        if most == next_most:
            differing = ", ".join(sorted(usual ^ second))
            message = f"as many trials of the study have other columns, so it isn't known which are right: {differing}"
        elif columns != usual:
            differences = {"lacks": sorted(usual - columns), "adds": sorted(columns - usual)}
            parts = [f"{verb} {', '.join(names)}" for verb, names in differences.items() if names]
            message = f"compared with the other trials, it {' and '.join(parts)}"
        else:
            continue
        faults[position] = Refusal(Rule.COLUMNS_DIFFER, message, 1)
        del headers[position]


def _parse(files: Sequence[bytes], positions: Sequence[int], header: _Header) -> _Block | None:
    """Parse the rows of these files as one block; return None if anything about them is unusual."""
    bodies = [memoryview(_without_blank_end(files[position]))[header.length :] for position in positions]
    is_ended = [not body or body[-1] == ord("\n") for body in bodies]
    counts = [count(body, "\n") + (not ended) for body, ended in zip(bodies, is_ended, strict=True)]
    if max(counts) > LARGEST_ROWS or max(counts) * len(header.columns) > LARGEST_CELLS:
        return None
    if any(long_line(files[position], 0) is not None for position in positions):
        return None
    if sum(counts) * (len(header.columns) - 1) > sum(count(body, ",") for body in bodies):
        return None  # Some row lacks cells. pyarrow would need 50 times the memory of a blank line to say so.
    joined = b"".join(body if ended else bytes(body) + b"\n" for body, ended in zip(bodies, is_ended, strict=True))
    if b"\r" in joined:
        joined = joined.replace(b"\r\n", b"\n")
        if b"\r" in joined:
            return None
    if b'"' in joined and len(positions) > 1:
        return None
    table = _read_rows(joined, header.columns)
    if table is None or table.num_rows != sum(counts) or table[STEP].null_count:
        return None
    columns = {name: table[name].combine_chunks() for name in header.columns}
    steps = columns.pop(STEP).to_numpy(zero_copy_only=False)
    values = {name: column.to_numpy(zero_copy_only=False) for name, column in columns.items()}
    missing = {name: c.is_null().to_numpy(zero_copy_only=False) for name, c in columns.items() if c.null_count}
    return _Block(positions, Curves(offsets_of(counts), steps, values, missing))


def _read_rows(rows: bytes, columns: Sequence[str]) -> pa.Table | None:
    kinds = {name: pa.int64() if name == STEP else pa.float64() for name in columns}
    if not rows:
        return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    try:
        return pa.csv.read_csv(
            pa.py_buffer(rows),
            pa.csv.ReadOptions(use_threads=False, column_names=list(columns), block_size=len(rows) + 1),
            pa.csv.ParseOptions(ignore_empty_lines=False),
            pa.csv.ConvertOptions(column_types=kinds, null_values=[""]),
        )
    except (pa.ArrowInvalid, MemoryError):
        return None


def count(text: bytes | memoryview, character: str) -> int:
    """Count a character, five times as fast as bytes.count."""
    all_characters = np.frombuffer(text, np.uint8)
    pieces = (all_characters[at : at + _COUNTED_AT_ONCE] for at in range(0, len(text), _COUNTED_AT_ONCE))
    return sum(int(np.count_nonzero(piece == ord(character))) for piece in pieces)


def _without_blank_end(data: bytes) -> bytes:
    """Return the file without the few blank lines that are harmless at its end."""
    if not data.endswith(_BLANK_ENDS):
        return data
    end = data[-2 * MOST_BLANK_LINES - 4 :]
    rows = end.rstrip(b"\r\n")
    is_more = end.count(b"\n", len(rows)) > MOST_BLANK_LINES + 1
    return data if is_more else data[: len(data) - len(end)] + rows + b"\n"


def _assemble(blocks: Sequence[_Block], good: Sequence[int]) -> Curves:
    """Return the curves of the valid trials, in ascending order of position."""
    if len(blocks) == 1 and list(blocks[0].positions) == list(good):
        return blocks[0].curves
    place = {position: (block, index) for block in blocks for index, position in enumerate(block.positions)}
    return concatenate([block.curves.trial(index) for block, index in (place[position] for position in good)])


def _first_error(data: bytes, header: _Header) -> Refusal:
    """Return the first error of an invalid CSV file, read line by line."""
    columns, at_step = header.columns, header.columns.index(STEP)
    previous: int | None = None
    n_rows = count(data, "\n")
    if n_rows * (len(columns) - 1) <= count(data, ","):
        try:
            check_size(n_rows, len(columns))
        except Refusal as refusal:
            return refusal.with_traceback(None)
    lines = io.BytesIO(_without_blank_end(data))
    lines.seek(header.length)
    for number, ended in enumerate(iter(lambda: lines.readline(LONGEST_LINE + 2), b""), start=2):
        line = ended.removesuffix(b"\n")
        if not line.strip():
            message = f"the line is blank; at most {MOST_BLANK_LINES} are ignored, at the end: remove it"
            return Refusal(Rule.BLANK_LINE, message, number)
        if len(line) > LONGEST_LINE:
            message = f"the row is longer than {LONGEST_LINE:,} bytes: is this a CSV?"
            return Refusal(Rule.UNREADABLE_CSV, message, number)
        cells = _cells(line)
        if cells is None or len(cells) != len(columns):
            what = "can't be split into cells" if cells is None else f"has {len(cells)} cells"
            return Refusal(Rule.WRONG_CELL_COUNT, f"the row {what}, the header has {len(columns)}", number)
        step = cells[at_step].strip()
        fault = _step_fault(step, previous) or _value_fault(cells, columns)
        if fault:
            return Refusal(*fault, number)
        previous = int(step)
    message = "its rows can't be separated: write one row per line, without line breaks in cells"
    return Refusal(Rule.UNREADABLE_CSV, message)


def _cells(line: bytes) -> list[str] | None:
    try:
        return next(csv.reader([line.removesuffix(b"\r").decode("utf-8")], strict=True), [""])
    except (UnicodeDecodeError, csv.Error):
        return None


def _step_fault(step: str, previous: int | None) -> tuple[Rule, str] | None:
    if natural_number(step) is None:
        quoted = shown(step, _LONGEST_QUOTE)
        if step.startswith("-") and natural_number(step[1:]):
            return Rule.NEGATIVE_STEP, f"the step is {quoted}, less than 0"
        return Rule.BAD_STEP, f"the step is {quoted}, not an integer from 0 to 2^63 - 1"
    if previous is not None and int(step) <= previous:
        kind = "repeats" if int(step) == previous else "follows the larger"
        return Rule.STEPS_NOT_ASCENDING, f"the step {step} {kind} step {previous}"
    return None


def _value_fault(cells: Sequence[str], columns: Sequence[str]) -> tuple[Rule, str] | None:
    for name, cell in zip(columns, cells, strict=True):
        if name == STEP or not cell.strip():
            continue
        try:
            float(cell.replace("_", "?"))
        except ValueError:
            return Rule.NOT_A_NUMBER, f"{name} is {shown(cell, _LONGEST_QUOTE)}, not a number"
    return None
