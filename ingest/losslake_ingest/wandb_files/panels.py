"""The CSV that W&B exports from a line panel: an x axis, and for each run and metric a column with its bounds.

    "Step","<run> - <metric>","<run> - <metric>__MIN","<run> - <metric>__MAX",…

Rows are the union of all runs' steps, so that most cells of a run may be empty. The name of a run can hold ` - ` too.
Source: https://docs.wandb.ai/guides/app/features/panels/line-plot ("Export CSV").

The runs behind the panels of one folder: a column's name split into run and metric, a run's columns put together.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from losslake_ingest.rules import Rule
from losslake_ingest.run_log import LoggedRows, RunLog
from losslake_ingest.wandb_files.private import clean_text, private_text
from losslake_schema.reached import Flags, Floats, Integers

BETWEEN = " - "
_BOUNDS = ("__MIN", "__MAX")
_BLOCK = 1 << 22
_LONGEST_HEADER = 1 << 22
_MOST_COLUMNS = 50_000
_SLOW_BATCH = 1 << 20
_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"\s*[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)\s*", re.ASCII | re.IGNORECASE)
BOUND = "a column of bounds (__MIN, __MAX): left out"
BAD_CELL = "a cell that is no number: left out"
BAD_ROW = "a line with too few or too many cells: left out"


Batch = dict[int, tuple[Floats, Flags]]


class NoPanel(Exception):
    """A CSV that is something else."""


class BadPanel(Exception):
    """A panel that can't be used; rule and line say more."""

    def __init__(self, rule: Rule, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.rule, self.line = rule, line


@dataclass(frozen=True)
class Header:
    """The columns of a panel: the x axis, and by its position each `<run> - <metric>` that is no bound.

    bounds: how many columns of bounds a curve has, by its name. twice: names that more than one curve has.
    """

    names: list[str]
    curves: Mapping[int, str]
    bounds: Mapping[str, int]
    twice: list[str]

    @property
    def axis(self) -> str:
        return self.names[0]


@dataclass
class Panel:
    """A panel's x axis, and its curves by their column's whole name: the places on the axis, and the values there."""

    axis: str
    x: Floats
    curves: dict[str, tuple[Integers, Floats]]
    bounds: Mapping[str, int]
    twice: list[str]
    remarks: Counter[str]


def parse_header(text: str) -> Header | None:
    """The columns of a panel's first line; None if it is no panel."""
    try:
        names = next(csv.reader([text], strict=True), [])
    except csv.Error:
        return None
    if len(names) < 2 or BETWEEN in names[0] or not names[0].strip():
        return None
    known = set(names)
    width = len(_BOUNDS[0])
    bounds = {name: name[:-width] for name in names if name.endswith(_BOUNDS) and name[:-width] in known}
    curves = {at: name for at, name in enumerate(names) if at and name not in bounds}
    if not all(BETWEEN in name.strip() for name in curves.values()):
        return None
    count = Counter(curves.values())
    return Header(
        names,
        {at: name for at, name in curves.items() if count[name] == 1},
        Counter(clean_text(name) for name in bounds.values()),
        [name for name, times in count.items() if times > 1],
    )


def how_surely_a_panel(start: bytes, is_whole: bool) -> float:
    """How surely bytes are the start of a panel export; a header that goes beyond them is judged by what is seen."""
    text = start.decode("utf-8-sig", "replace")
    end = _end_of_line(text)
    if end is None and not is_whole:
        # The last cell may be cut anywhere.
        cells = text.rfind('","') if text.startswith('"') else text.rfind(",")
        text = text[: cells + 1] if cells > 0 and text.startswith('"') else text[: max(cells, 0)]
    header = parse_header((text if end is None else text[:end]).rstrip("\r\n"))
    if header is None:
        return 0.0
    return 0.95 if header.bounds else 0.6


def _end_of_line(text: str) -> int | None:
    """Where the first line ends; a line break between quotes ends none."""
    end = -1
    quotes = 0
    while True:
        following = text.find("\n", end + 1)
        if following < 0:
            return None
        quotes += text.count('"', end + 1, following)
        end = following
        if quotes % 2 == 0:
            return end


def read_panel(data: bytes) -> Panel:
    """The curves of a panel export; raises BadPanel, or NoPanel for what doesn't look like one."""
    header, start = _header(data)
    remarks: Counter[str] = Counter()
    data = _without_cut_line(data, start, remarks)
    try:
        read = _gathered(_batches(data, start, header), header)
    except pa.ArrowException:
        read = _gathered(_batches_slowly(data, start, header, remarks), header)
    x, curves, rows = read
    axis = clean_text(header.axis)
    if rows and not len(x):
        why = f"the first column ({axis[:100]}) holds no numbers: choose Step as the x axis and export again"
        raise BadPanel(Rule.NOT_A_NUMBER, why, 2)
    if rows > len(x):
        remarks["a line with nothing on the x axis: left out"] += rows - len(x)
    return Panel(axis, x, curves, header.bounds, [clean_text(name) for name in header.twice], remarks)


def _header(data: bytes) -> tuple[Header, int]:
    """The header, and the byte at which the rows begin; raises BadPanel and NoPanel."""
    text = data[:_LONGEST_HEADER].decode("utf-8-sig", "surrogateescape")
    end = _end_of_line(text)
    line = text if end is None else text[: end + 1]
    raw = line.encode("utf-8", "surrogateescape")
    header = parse_header(raw.decode("utf-8", "replace").rstrip("\r\n"))
    if header is None or (end is None and len(data) > _LONGEST_HEADER):
        if not (BETWEEN in line and _BOUNDS[0] in line):
            raise NoPanel
        why = "its columns behind the first are not all named `<run> - <metric>`: export the panel again"
        raise BadPanel(Rule.BAD_HEADER, why, 1)
    if len(header.names) > _MOST_COLUMNS:
        raise BadPanel(
            Rule.BAD_HEADER, f"{len(header.names):,} columns; at most {_MOST_COLUMNS:,} are read: split it", 1
        )
    return header, len(raw) + (len(_MARK) if data.startswith(_MARK) else 0)


def _without_cut_line(data: bytes, start: int, remarks: Counter[str]) -> bytes:
    """The file without a last line whose last quotes are open: its last number may be cut short too."""
    last = max(data.rfind(b"\n") + 1, start)
    if data.count(b'"', last) % 2 == 0:
        return data
    remarks[BAD_ROW] += 1
    return data[:last]


def _gathered(batches: Iterator[Batch], header: Header) -> tuple[Floats, dict[str, tuple[Integers, Floats]], int]:
    """The x axis, the filled cells of each curve, and how many lines there were; empty cells take no memory."""
    axis: list[Floats] = []
    pieces: dict[int, list[tuple[Integers, Floats]]] = {at: [] for at in header.curves}
    lines = placed = 0
    for batch in batches:
        x, no_x = batch[0]
        for at in header.curves:
            y, no_y = batch[at]
            filled = np.flatnonzero(~no_y[~no_x])
            if len(filled):
                pieces[at].append((filled + placed, y[~no_x][filled]))
        axis.append(x[~no_x])
        lines += len(x)
        placed += len(axis[-1])
    curves = {
        clean_text(header.curves[at]): (
            np.concatenate([places for places, _ in found]),
            np.concatenate([values for _, values in found]),
        )
        for at, found in pieces.items()
        if found
    }
    return np.concatenate(axis) if axis else np.empty(0), curves, lines


def _batches(data: bytes, start: int, header: Header) -> Iterator[Batch]:
    """The wanted columns with their holes, read by Arrow; raises ArrowException where a line or a cell is bad."""
    if not data[start : start + _BLOCK].strip() and not data[start:].strip():
        return
    wanted = [0, *header.curves]
    reader = pa_csv.open_csv(
        pa.BufferReader(pa.py_buffer(data).slice(start)),
        read_options=pa_csv.ReadOptions(column_names=[str(at) for at in range(len(header.names))], block_size=_BLOCK),
        convert_options=pa_csv.ConvertOptions(
            column_types={str(at): pa.float64() for at in wanted},
            include_columns=[str(at) for at in wanted],
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    for batch in reader:
        yield {at: _floats(column) for at, column in zip(wanted, batch.columns, strict=True)}


def _floats(column: pa.Array) -> tuple[Floats, Flags]:
    holes = np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64), holes


def _batches_slowly(data: bytes, start: int, header: Header, remarks: Counter[str]) -> Iterator[Batch]:
    """The same, line by line, for a file in which some lines or cells are bad; these are left out and counted."""
    wanted = [0, *header.curves]
    cells: dict[int, list[float | None]] = {at: [] for at in wanted}
    taken = 0
    for line in io.TextIOWrapper(io.BytesIO(data[start:]), "utf-8", "replace", newline=None):
        if not line.strip():
            continue
        row = _cells(line.rstrip("\n"))
        if len(row) != len(header.names):
            remarks[BAD_ROW] += 1
            continue
        for at in wanted:
            cells[at].append(_number(row[at], remarks))
        taken += len(row)
        if taken > _SLOW_BATCH:
            yield _arrays(cells)
            cells, taken = {at: [] for at in wanted}, 0
    yield _arrays(cells)


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _arrays(cells: dict[int, list[float | None]]) -> Batch:
    return {
        at: (np.array(column, np.float64), np.fromiter((value is None for value in column), np.bool_, len(column)))
        for at, column in cells.items()
    }


def _number(cell: str, remarks: Counter[str]) -> float | None:
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if cell:
        remarks[BAD_CELL] += 1
    return None


_MOST_SPLITS = 16


@dataclass(frozen=True)
class PanelFile:
    """A panel export that was read."""

    path: str
    sha256: str
    panel: Panel


def panel_runs(folder: str, files: list[PanelFile]) -> list[RunLog]:
    """The runs of a folder's panels, each with its columns of all files, in order of their names."""
    files = sorted(files, key=lambda file: file.path)
    splits = _decided([list(file.panel.curves) for file in files])
    found: dict[str, list[tuple[PanelFile, dict[str, str]]]] = {}
    for file, split in zip(files, splits, strict=True):
        columns: dict[str, dict[str, str]] = {}
        for column, (run, metric) in split.items():
            columns.setdefault(run, {})[column] = metric
        for run, own in columns.items():
            found.setdefault(run, []).append((file, own))
    return [_run_log(folder, run, number, found[run]) for number, run in enumerate(sorted(found), 1)]


def _run_log(folder: str, run: str, number: int, parts: list[tuple[PanelFile, dict[str, str]]]) -> RunLog:
    kind = private_text(run)
    name = f"run {number}" if kind else run
    remarks: Counter[str] = Counter()
    for file, columns in parts:
        remarks.update(file.panel.remarks)
        remarks[BOUND] += sum(file.panel.bounds.get(column, 0) for column in columns)
    return RunLog(
        f"{folder}#{name}",
        {file.path: file.sha256 for file, _ in parts},
        [_rows(file.panel, columns) for file, columns in parts],
        {"run": name, "run_name": name},
        private=[kind] if kind else [],
        remarks=dict(+remarks),
    )


def _rows(panel: Panel, columns: Mapping[str, str]) -> LoggedRows:
    """A run's columns of one panel, at the places where any of them is filled."""
    curves = [(metric, *panel.curves[column]) for column, metric in columns.items()]
    places = curves[0][1]
    for _, others, _ in curves[1:]:
        if not np.array_equal(places, others):
            places = np.union1d(places, others)
    found: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for metric, own, values in curves:
        found[metric], holes = _spread(places, own, values)
        if holes.any():
            missing[metric] = holes
    # Where the axis is one of the run's own columns, the axis is the one that is never empty.
    missing.pop(panel.axis, None)
    return LoggedRows({panel.axis: panel.x[places]} | found | {panel.axis: panel.x[places]}, missing)


def _spread(places: Integers, own: Integers, values: Floats) -> tuple[Floats, Flags]:
    if len(own) == len(places):
        return values, np.zeros(len(places), np.bool_)
    at = np.searchsorted(places, own)
    floats = np.full(len(places), np.nan)
    floats[at] = values
    holes = np.ones(len(places), np.bool_)
    holes[at] = False
    return floats, holes


def _decided(files: list[list[str]]) -> list[dict[str, tuple[str, str]]]:
    """Run and metric of every column of every file.

    A name that can be split in one place only is certain. Where there are several, the metric of a certain column of
    the same file decides (a file's columns share it mostly), then a run that is certain elsewhere in the folder, then a
    metric that is; and otherwise the last place, since runs are named more freely than metrics.
    """
    ways = [{column: _ways(column) for column in columns} for columns in files]
    certain = [[found[0] for found in file.values() if len(found) == 1] for file in ways]
    runs = {run for file in certain for run, _ in file}
    metrics = {metric for file in certain for _, metric in file}
    decided = []
    for file, own in zip(ways, certain, strict=True):
        own_metrics = {metric for _, metric in own}
        decided.append({column: _best(found, own_metrics, runs, metrics) for column, found in file.items()})
    return decided


def _ways(column: str) -> list[tuple[str, str]]:
    """The ways to split a column's name, the last place first."""
    ways: list[tuple[str, str]] = []
    at = len(column)
    while len(ways) < _MOST_SPLITS and (at := column.rfind(BETWEEN, 0, at)) > 0:
        run, metric = column[:at].strip(), column[at + len(BETWEEN) :].strip()
        if run and metric:
            ways.append((run, metric))
    return ways or [(column.strip(), column.strip())]


def _best(ways: list[tuple[str, str]], own_metrics: set[str], runs: set[str], metrics: set[str]) -> tuple[str, str]:
    for way in ways:
        if way[1] in own_metrics:
            return way
    for way in ways:
        if way[0] in runs:
            return way
    return next((way for way in ways if way[1] in metrics), ways[0])
