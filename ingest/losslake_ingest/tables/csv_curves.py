"""The wide CSV of a trial, `step` and then a column per metric: a whole study is parsed in one go.

What can't be parsed that way is parsed trial by trial, and what fails even so is read line by line to name the fault.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv

from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.study import Curves, concatenated, offsets_of
from losslake_schema.errors import LossLakeError
from losslake_schema.names import natural_number
from losslake_schema.registry import metric_named

STEP = "step"
_LONGEST_HEADER = 1 << 16
_LONGEST_QUOTE = 40


@dataclass(frozen=True)
class _Header:
    """The columns of a file in their order, and where its rows begin."""

    columns: tuple[str, ...]
    length: int


@dataclass(frozen=True)
class _Block:
    """Some trials, by their positions among the files, parsed together."""

    positions: Sequence[int]
    curves: Curves

    def faulty(self) -> list[int]:
        """The positions of the trials whose steps are missing, negative or not strictly ascending."""
        steps, offsets = self.curves.steps, self.curves.offsets
        bad = steps < 0
        bad[1:] |= np.diff(steps) <= 0
        starts = offsets[:-1][np.diff(offsets) > 0]
        bad[starts] = steps[starts] < 0
        trials = np.searchsorted(offsets, np.flatnonzero(bad), side="right") - 1
        return [self.positions[index] for index in np.unique(trials).tolist()]


def read_curves(files: Sequence[bytes]) -> tuple[Curves, list[int], dict[int, Refusal]]:
    """Parse the CSV files of one study's trials.

    Returns the curves of the good ones, their positions in `files` in ascending order, and the faults of the others by
    position. A file whose set of columns is not that of most files is faulty; their order is free.
    """
    headers, faults = _headers(files)
    _refuse_odd_columns(headers, faults)
    with_header: dict[_Header, list[int]] = {}
    for position, header in headers.items():
        with_header.setdefault(header, []).append(position)
    blocks: list[_Block] = []
    for header, positions in with_header.items():
        together = _parse(files, positions, header)
        alone = [together] if together else [_parse(files, [position], header) for position in positions]
        faults |= {p: _diagnosis(files[p], header) for p, b in zip(positions, alone, strict=False) if b is None}
        blocks += [block for block in alone if block is not None]
    faults |= {p: _diagnosis(files[p], headers[p]) for block in blocks for p in block.faulty()}
    good = sorted(position for block in blocks for position in block.positions if position not in faults)
    return _assembled(blocks, good), good, faults


def _headers(files: Sequence[bytes]) -> tuple[dict[int, _Header], dict[int, Refusal]]:
    """The header of each file that has a good one, and the faults of the others; equal headers are read once."""
    known: dict[bytes, _Header | Refusal] = {}
    headers: dict[int, _Header] = {}
    faults: dict[int, Refusal] = {}
    for position, data in enumerate(files):
        end = data.find(b"\n", 0, _LONGEST_HEADER)
        line = data[: end + 1] if end >= 0 else data[: _LONGEST_HEADER + 1]
        if line not in known:
            try:
                known[line] = _read_header(line)
            except Refusal as refusal:
                known[line] = refusal
        header = known[line]
        if isinstance(header, Refusal):
            faults[position] = header
        else:
            headers[position] = header
    return headers, faults


def _read_header(line: bytes) -> _Header:
    """Read a header line; raises Refusal."""
    if not line.strip():
        raise Refusal(Rule.EMPTY_FILE, "there is no header line: write 'step' and the metrics", 1)
    if len(line) > _LONGEST_HEADER:
        raise Refusal(Rule.BAD_HEADER, f"the header is longer than {_LONGEST_HEADER:,} bytes: is this a CSV?", 1)
    try:
        columns = next(csv.reader([line.decode("utf-8-sig").strip("\r\n")], strict=True), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refusal(Rule.BAD_HEADER, f"the header can't be read ({error})", 1) from None
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if STEP not in columns:
        raise Refusal(Rule.BAD_HEADER, f"there is no column '{STEP}'", 1)
    if twice:
        raise Refusal(Rule.BAD_HEADER, f"the column '{twice[0]}' is there more than once", 1)
    try:
        for name in columns:
            if name != STEP:
                metric_named(name)
    except LossLakeError as error:
        raise Refusal(Rule.BAD_HEADER, str(error), 1) from None
    if len(columns) == 1:
        raise Refusal(Rule.BAD_HEADER, f"there is no metric, only '{STEP}'", 1)
    return _Header(tuple(columns), len(line))


def _refuse_odd_columns(headers: dict[int, _Header], faults: dict[int, Refusal]) -> None:
    """Move the files whose columns are not those of most to `faults`; of equally many, the first file's are right."""
    sets = Counter(frozenset(header.columns) for header in headers.values())
    if len(sets) < 2:
        return
    usual = max(sets, key=lambda columns: sets[columns])
    for position, header in list(headers.items()):
        columns = frozenset(header.columns)
        if columns != usual:
            differences = {"lacks": sorted(usual - columns), "adds": sorted(columns - usual)}
            parts = [f"{verb} {', '.join(names)}" for verb, names in differences.items() if names]
            faults[position] = Refusal(Rule.COLUMNS_DIFFER, f"against the other trials it {' and '.join(parts)}", 1)
            del headers[position]


def _parse(files: Sequence[bytes], positions: Sequence[int], header: _Header) -> _Block | None:
    """The rows of these files as one block, or None if anything about them is out of the ordinary."""
    bodies = [memoryview(files[position])[header.length :] for position in positions]
    is_ended = [not body or body[-1] == ord("\n") for body in bodies]
    joined = b"".join(body if ended else bytes(body) + b"\n" for body, ended in zip(bodies, is_ended, strict=True))
    if b"\r" in joined:
        joined = joined.replace(b"\r\n", b"\n")
        if b"\r" in joined:
            return None
    if b'"' in joined and len(positions) > 1:
        return None
    counts = [files[p].count(b"\n", header.length) + (not e) for p, e in zip(positions, is_ended, strict=True)]
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
    except pa.ArrowInvalid:
        return None


def _assembled(blocks: Sequence[_Block], good: Sequence[int]) -> Curves:
    """The rows of the good trials, in ascending order of position."""
    if len(blocks) == 1 and list(blocks[0].positions) == list(good):
        return blocks[0].curves
    place = {position: (block, index) for block in blocks for index, position in enumerate(block.positions)}
    return concatenated([block.curves.trial(index) for block, index in (place[position] for position in good)])


def _diagnosis(data: bytes, header: _Header) -> Refusal:
    """The first fault of a CSV file that can't be stored; it is read slowly, line by line."""
    columns, at_step = header.columns, header.columns.index(STEP)
    previous: int | None = None
    for number, line in enumerate(data.split(b"\n")[1:], start=2):
        if not line and number == data.count(b"\n") + 1:
            break
        cells = _cells(line)
        if cells is None or len(cells) != len(columns):
            what = "can't be split into cells" if cells is None else f"has {len(cells)} cells"
            return Refusal(Rule.WRONG_CELL_COUNT, f"the row {what}, the header has {len(columns)}", number)
        step = cells[at_step].strip()
        fault = _step_fault(step, previous) or _value_fault(cells, columns)
        if fault:
            return Refusal(*fault, number)
        previous = int(step)
    return Refusal(Rule.UNREADABLE_CSV, "its rows can't be told apart: write plain lines that end in a newline")


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
