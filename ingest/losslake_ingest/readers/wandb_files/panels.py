"""Reader of CSV exports of W&B line panels: an x axis, and a column with bounds for each run and metric.

    "Step","<run> - <metric>","<run> - <metric>__MIN","<run> - <metric>__MAX",…

Rows are the union of all runs' steps, so most cells of a run can be empty. The name of a run can contain ` - ` too: all
panels of a folder together determine where each column's name is split into run and metric.
Source: https://docs.wandb.ai/guides/app/features/panels/line-plot ("Export CSV").
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

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Damage, LoggedRows, RunLog, check_size, remarks_in
from losslake_ingest.readers.plain_text import UTF8_MARK
from losslake_ingest.readers.private import private_text
from losslake_ingest.readers.safe_parsing import clean_text
from losslake_ingest.readers.wandb_files.history import floats_of
from losslake_schema.reached import Flags, Floats, Integers

BETWEEN = " - "
_BOUNDS = ("__MIN", "__MAX")
_BLOCK = 1 << 22
_LONGEST_HEADER = 1 << 22
_MOST_COLUMNS = 20_000
_SLOW_BATCH = 1 << 20
_MOST_SPLITS = 16
_NUMBER = re.compile(r"\s*[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)\s*", re.ASCII | re.IGNORECASE)
BOUND = "a column of bounds (__MIN, __MAX): left out"
BAD_CELL = Damage("a cell that isn't a number: left out")
BAD_ROW = Damage("a line with too few or too many cells: left out")


Batch = dict[int, tuple[Floats, Flags]]
Curve = tuple[Integers, Floats]


@dataclass(frozen=True)
class Header:
    """The columns of a panel: the x axis, and each `<run> - <metric>` without bounds by position.

    bounds: the number of bounds columns of each curve, by name. duplicates: names that more than one curve has.
    """

    n_columns: int
    axis: str
    curves: Mapping[int, str]
    bounds: Mapping[str, int]
    duplicates: list[str]


@dataclass(frozen=True)
class Panel:
    """A panel export: its x axis, and its curves by column name, as positions on the axis and values."""

    path: str
    sha256: str
    header: Header
    x: Floats
    curves: Mapping[str, Curve]
    remarks: Counter[str]


def parse_header(text: str) -> Header | None:
    """Parse the first line of a panel; return None if it isn't one."""
    try:
        names = next(csv.reader([text], strict=True), [])
    except csv.Error:
        return None
    if len(names) < 2 or BETWEEN in names[0] or not names[0].strip():
        return None
    width, distinct = len(_BOUNDS[0]), set(names)
    bounds = {name: name[:-width] for name in names if name.endswith(_BOUNDS) and name[:-width] in distinct}
    curves = {at: name for at, name in enumerate(names) if at and name not in bounds}
    if not all(BETWEEN in name.strip() for name in curves.values()):
        return None
    count = Counter(curves.values())
    return Header(
        len(names),
        clean_text(names[0]),
        {at: clean_text(name) for at, name in curves.items() if count[name] == 1},
        Counter(clean_text(name) for name in bounds.values()),
        [clean_text(name) for name, times in count.items() if times > 1],
    )


def panel_confidence(start: bytes, is_whole: bool) -> float:
    """Return the confidence that the bytes start a panel export; of a longer header, the visible part is judged."""
    text = start.decode("utf-8-sig", "replace")
    end = _end_of_line(text)
    if end is None and not is_whole:
        # The last cell may be cut anywhere.
        is_quoted = text.startswith('"')
        text = text[: max(text.rfind('","' if is_quoted else ",") + is_quoted, 0)]
    header = parse_header((text if end is None else text[:end]).rstrip("\r\n"))
    if header is None:
        return 0.0
    return 0.95 if header.bounds else 0.6


def _end_of_line(text: str) -> int | None:
    """Return the end of the first line; a line break between quotes doesn't count."""
    end = text.find("\n")
    quotes = text.count('"', 0, max(end, 0))
    while end >= 0 and quotes % 2:
        following = text.find("\n", end + 1)
        quotes += text.count('"', end + 1, max(following, 0))
        end = following
    return end if end >= 0 else None


def read_panel(path: str, sha256: str, data: bytes) -> Panel | None:
    """Parse a panel export; return None if it doesn't look like one. Raises Refusal."""
    header, start = _header(data)
    if header is None:
        return None
    remarks: Counter[str] = Counter()
    data = _without_cut_line(data, start, remarks)
    try:
        x, curves, lines = _collect(_batches(data, start, header), header)
    except pa.ArrowException:
        x, curves, lines = _collect(_batches_slowly(data, start, header, remarks), header)
    if lines and not len(x):
        why = f"the first column ({header.axis[:100]}) contains no numbers: choose Step as the x axis and export again"
        raise Refusal(Rule.NOT_A_NUMBER, why, 2)
    remarks["a line with nothing on the x axis: left out"] += lines - len(x)
    return Panel(path, sha256, header, x, curves, remarks)


def _header(data: bytes) -> tuple[Header | None, int]:
    """Return the header (None if it isn't a panel) and the offset of the rows. Raises Refusal."""
    text = data[:_LONGEST_HEADER].decode("utf-8-sig", "surrogateescape")
    end = _end_of_line(text)
    line = text if end is None else text[: end + 1]
    raw = line.encode("utf-8", "surrogateescape")
    header = parse_header(raw.decode("utf-8", "replace").rstrip("\r\n"))
    if header is None or (end is None and len(data) > _LONGEST_HEADER):
        if not (BETWEEN in line and _BOUNDS[0] in line):
            return None, 0
        why = "the columns after the first are not all named `<run> - <metric>`: export the panel again"
        raise Refusal(Rule.BAD_HEADER, why, 1)
    if header.n_columns > _MOST_COLUMNS:
        raise Refusal(Rule.BAD_HEADER, f"{header.n_columns:,} columns; at most {_MOST_COLUMNS:,} are read: split it", 1)
    return header, len(raw) + (len(UTF8_MARK) if data.startswith(UTF8_MARK) else 0)


def _without_cut_line(data: bytes, start: int, remarks: Counter[str]) -> bytes:
    """Drop a last line with an open quote, or without one where cells are quoted: its last cell is cut."""
    last = max(data.rfind(b"\n") + 1, start)
    line = data[last:].strip()
    is_cut = line and data[start : start + 1] == b'"' and not line.endswith(b'"')
    if data.count(b'"', last) % 2 == 0 and not is_cut:
        return data
    remarks[BAD_ROW] += 1
    return data[:last]


def _collect(batches: Iterator[Batch], header: Header) -> tuple[Floats, dict[str, Curve], int]:
    """Return the x axis, the filled cells of each curve, and the number of lines."""
    axis: list[Floats] = []
    pieces: dict[int, list[Curve]] = {at: [] for at in header.curves}
    lines = placed = cells = 0
    for batch in batches:
        x, no_x = batch[0]
        for at in header.curves:
            y, no_y = batch[at]
            filled = np.flatnonzero(~no_y[~no_x])
            cells += len(filled)
            if len(filled):
                pieces[at].append((filled + placed, y[~no_x][filled]))
        check_size(lines, 1)
        check_size(1, cells)
        axis.append(x[~no_x])
        lines += len(x)
        placed += len(axis[-1])
    curves = {
        header.curves[at]: (np.concatenate([places for places, _ in parts]), np.concatenate([y for _, y in parts]))
        for at, parts in pieces.items()
        if parts
    }
    return np.concatenate(axis) if axis else np.empty(0), curves, lines


def _batches(data: bytes, start: int, header: Header) -> Iterator[Batch]:
    """Yield the columns with flags of empty cells, parsed by Arrow. Raises ArrowException for a bad line or cell."""
    if not data[start : start + _BLOCK].strip() and not data[start:].strip():
        return
    wanted = [0, *header.curves]
    reader = pa_csv.open_csv(
        pa.BufferReader(pa.py_buffer(data).slice(start)),
        read_options=pa_csv.ReadOptions(column_names=[str(at) for at in range(header.n_columns)], block_size=_BLOCK),
        convert_options=pa_csv.ConvertOptions(
            column_types={str(at): pa.float64() for at in wanted},
            include_columns=[str(at) for at in wanted],
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    for batch in reader:
        yield {at: floats_of(column) for at, column in zip(wanted, batch.columns, strict=True)}


def _batches_slowly(data: bytes, start: int, header: Header, remarks: Counter[str]) -> Iterator[Batch]:
    """Yield the same line by line; bad lines and cells are dropped and counted."""
    wanted = [0, *header.curves]
    rows: list[list[float | None]] = []
    for line in io.TextIOWrapper(io.BytesIO(data[start:]), "utf-8", "replace", newline=None):
        if not line.strip():
            continue
        cells = _cells(line.rstrip("\n"))
        if len(cells) != header.n_columns:
            remarks[BAD_ROW] += 1
            continue
        rows.append([_number(cells[at], remarks) for at in wanted])
        if len(rows) * header.n_columns > _SLOW_BATCH:
            yield _batch(wanted, rows)
            rows = []
    yield _batch(wanted, rows)


def _batch(wanted: list[int], rows: list[list[float | None]]) -> Batch:
    columns = np.array(rows, np.float64).reshape(-1, len(wanted)).T
    holes = np.array([[cell is None for cell in row] for row in rows], np.bool_).reshape(-1, len(wanted)).T
    return dict(zip(wanted, zip(columns, holes, strict=True), strict=True))


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _number(cell: str, remarks: Counter[str]) -> float | None:
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if cell:
        remarks[BAD_CELL] += 1
    return None


def panel_runs(folder: str, panels: list[Panel]) -> list[RunLog]:
    """Return the runs of a folder's panels, sorted by name, each with its columns from all files."""
    panels = sorted(panels, key=lambda panel: panel.path)
    runs: dict[str, dict[int, dict[str, str]]] = {}
    for at, split in enumerate(_split_columns([list(panel.curves) for panel in panels])):
        for column, (run, metric) in split.items():
            runs.setdefault(run, {}).setdefault(at, {})[column] = metric
    return [
        _run_log(folder, run, number, [(panels[at], columns) for at, columns in runs[run].items()])
        for number, run in enumerate(sorted(runs), 1)
    ]


def _run_log(folder: str, run: str, number: int, parts: list[tuple[Panel, dict[str, str]]]) -> RunLog:
    kind = private_text(run)
    name = f"run {number}" if kind else run
    remarks: Counter[str] = Counter()
    for panel, columns in parts:
        remarks.update(remarks_in(panel.remarks, panel.path) if len(parts) > 1 else panel.remarks)
        remarks[BOUND] += sum(panel.header.bounds.get(column, 0) for column in columns)
    return RunLog(
        f"{folder}#{name}",
        {panel.path: panel.sha256 for panel, _ in parts},
        [_rows(panel, columns) for panel, columns in parts],
        {"run": name, "run_name": name},
        private=[kind] if kind else [],
        remarks=dict(+remarks),
        is_extract=True,
    )


def _rows(panel: Panel, columns: Mapping[str, str]) -> LoggedRows:
    """Return a run's columns of one panel, at the positions where any of them is filled."""
    places = panel.curves[next(iter(columns))][0]
    for column in columns:
        if not np.array_equal(places, panel.curves[column][0]):
            places = np.union1d(places, panel.curves[column][0])
    axis = panel.header.axis
    cells: dict[str, tuple[Floats, Flags | None]] = {axis: (panel.x[places], None)}
    # If the axis is also a column of the run, the axis, which is never empty, is used.
    cells |= {metric: _spread(places, *panel.curves[name]) for name, metric in columns.items() if metric != axis}
    return LoggedRows.of(cells)


def _spread(places: Integers, filled: Integers, values: Floats) -> tuple[Floats, Flags]:
    """Return a curve at these positions, and flags of empty cells."""
    if len(filled) == len(places):
        return values, np.zeros(len(places), np.bool_)
    at = np.searchsorted(places, filled)
    floats, holes = np.full(len(places), np.nan), np.ones(len(places), np.bool_)
    floats[at], holes[at] = values, False
    return floats, holes


def _split_columns(files: list[list[str]]) -> list[dict[str, tuple[str, str]]]:
    """Split every column's name into run and metric, file by file.

    A name with one possible split is certain. Otherwise the metric of a certain column in the same file decides
    (columns of a file usually share it), then a certain run of the folder, then a certain metric of the folder; else
    the last split, since run names are freer than metric names.
    """
    ways = [{column: _splits(column) for column in columns} for columns in files]
    certain = [[splits[0] for splits in file.values() if len(splits) == 1] for file in ways]
    runs = {run for file in certain for run, _ in file}
    metrics = {metric for file in certain for _, metric in file}
    chosen = []
    for file, sure in zip(ways, certain, strict=True):
        preferred = ((1, {metric for _, metric in sure}), (0, runs), (1, metrics))
        chosen.append({column: _best(splits, preferred) for column, splits in file.items()})
    return chosen


def _splits(column: str) -> list[tuple[str, str]]:
    """Return the possible splits of a column's name, the last one first."""
    ways: list[tuple[str, str]] = []
    at = len(column)
    while len(ways) < _MOST_SPLITS and (at := column.rfind(BETWEEN, 0, at)) > 0:
        run, metric = column[:at].strip(), column[at + len(BETWEEN) :].strip()
        if run and metric:
            ways.append((run, metric))
    return ways or [(column.strip(), column.strip())]


def _best(ways: list[tuple[str, str]], preferred: tuple[tuple[int, set[str]], ...]) -> tuple[str, str]:
    """Return the first split with a preferred run (0) or metric (1), else the first split."""
    return next((way for part, names in preferred for way in ways if way[part] in names), ways[0])
