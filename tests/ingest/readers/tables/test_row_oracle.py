"""What is stored of random tables is what a plain loop over their lines says: keys, gaps, ends and restarts."""

from __future__ import annotations

import csv
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.csv_and_jsonl import CSV, JSON_LINES
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import LogMapping, parse_mapping
from losslake_ingest.mapping.place import place
from losslake_ingest.pipeline.reading import with_defaults
from tests.ingest.formats.reading import read

Cell = str | int | float | bool | None
Row = dict[str, Cell]
# Of a run: its status and the value at each step; None if it is refused.
Stored = tuple[str, dict[int, float]] | None

SPLITS = {"train", "val", "test"}
# The values of each column, None for a missing one; the words of one table are of one list.
COLUMNS: dict[str, list[list[Cell]]] = {
    "split": [["train", "val", None], ["main", None], ["val", None]],
    "is_val": [[True, False, None], [1, 0, None], [True, None]],
    "phase": [["train", "val"], ["warmup", "main", None], [0, 1, None], ["main", None]],
    "kind": [["train", "val", None], ["a", "b", None], ["val", None], ["val", "a", None]],
    "seed": [[1, 2, None], [1, None], ["a", "b"]],
    "rank": [[0, 1], [0, None]],
    "is_best": [[True, False, None]],
    "note": [["a", "b", None], ["a", None]],
}


@dataclass(frozen=True)
class Log:
    """A table, what the mapping says of it, and where it is cut."""

    rows: list[Row]
    columns: list[str]
    run_column: str | None
    omitted: list[str]
    repeated_headers: list[int]
    cut: int
    end: bool


def logs() -> st.SearchStrategy[Log]:
    return st.composite(_log)()


def _log(draw: st.DrawFn) -> Log:
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), unique=True, max_size=3))
    kinds = {name: draw(st.sampled_from(COLUMNS[name])) for name in names}
    n_rows = draw(st.integers(1, 8))
    steps = draw(
        st.one_of(
            st.just(list(range(n_rows))),
            st.lists(st.integers(0, 5), min_size=n_rows, max_size=n_rows),
            st.lists(st.sampled_from([1, 2, 3, None]), min_size=n_rows, max_size=n_rows),
        )
    )
    rows: list[Row] = []
    blocks = draw(st.booleans())
    for at, step in enumerate(steps):
        row: Row = {"step": step, "loss": draw(st.sampled_from([0.5, 0.25, 30.75, None]))}
        for name, values in kinds.items():
            row[name] = values[at * len(values) // n_rows] if blocks else draw(st.sampled_from(values))
        rows.append(row)
    columns = draw(st.permutations(["step", "loss", *names]))
    run_column = draw(st.sampled_from([None, *(name for name in names if name in ("seed", "kind"))]))
    omitted = draw(st.lists(st.sampled_from(names), unique=True, max_size=1)) if names else []
    headers = draw(st.lists(st.integers(0, n_rows), max_size=2, unique=True))
    omitted = [name for name in omitted if name != run_column and draw(st.booleans())]
    return Log(rows, list(columns), run_column, omitted, headers, draw(st.integers(0, 40)), draw(st.booleans()))


def csv_text(log: Log) -> str:
    header = ",".join(log.columns)
    lines = [header]
    for at, row in enumerate(log.rows):
        lines += [header] if at in log.repeated_headers else []
        lines.append(",".join("" if row[name] is None else str(row[name]) for name in log.columns))
    text = "\n".join([*lines, ""])
    first = len(header) + 1
    return text[: max(len(text) - log.cut, first)] if log.end else text


def json_text(log: Log) -> str:
    lines = []
    for at, row in enumerate(log.rows):
        cells = {name: row[name] for name in log.columns if row[name] is not None or at % 2}
        lines.append(json.dumps(cells) + "\n")
    text = "".join(lines)
    return text[: max(len(text) - log.cut, 0)] if log.end else text


def plain_cell(text: str) -> Cell:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text or None


def plain_csv(text: str, run_column: str | None) -> tuple[list[Row], bool, str | None]:
    """The rows of a CSV, whether its end is cut, and the run of the cut line, if it names one."""
    *lines, last = text.split("\n")
    header = lines[0].split(",")
    rows = [
        dict(zip(header, map(plain_cell, next(csv.reader([line]))), strict=True))
        for line in lines[1:]
        if line != lines[0]
    ]
    if last in ("", lines[0]):
        return rows, False, None
    cells = last.split(",")
    run = cells[header.index(run_column)] if run_column in header[: len(cells) - 1] else None
    if len(cells) < len(header):
        return rows, True, run
    row = dict(zip(header, map(plain_cell, cells), strict=True))
    for name in header[:-1]:
        above = [each[name] for each in rows if each[name] is not None]
        is_number = all(isinstance(cell, (int, float)) for cell in above) and name != run_column
        if rows and is_number and isinstance(row[name], str):
            return rows, True, run  # a word in a column of numbers
    end = header[-1]
    above = [each[end] for each in rows]
    if end in ("split", "is_val", "phase", "seed", "rank", run_column) or key_of(end, set(above) - {None}) is not None:
        return rows, True, run
    return [*rows, row | {end: None}], True, run


def plain_json(text: str) -> tuple[list[Row], bool, str | None]:
    *lines, last = text.split("\n")
    rows: list[Row] = [json.loads(line) for line in lines]
    if not last.endswith("}"):
        return rows, last != "", None
    return [*rows, json.loads(last)], False, None


def key_of(name: str, values: set[Cell]) -> str | None:
    """What a column tells apart."""
    words = {value for value in values if isinstance(value, str) and value not in ("True", "False")}
    if name in ("split", "is_val"):
        return "split"
    if name == "phase":
        return "split" if words & SPLITS or not words else "phase"
    if name in ("seed", "rank"):
        return "run"
    return "phase" if words and words == values and words <= SPLITS else None


def expected_runs(rows: Sequence[Row], is_cut: bool, cut_run: str | None, log: Log) -> dict[str, Stored]:
    column = log.run_column
    if column is None:
        return {"": expected(rows, log, is_cut)}
    runs: dict[str, list[Row]] = {}
    last = None
    for row in rows:
        if row.get(column) is not None:
            last = str(row[column])
            runs.setdefault(last, []).append(row)
    cut = cut_run if cut_run in runs else last
    return {run: expected(some, log, is_cut and run == cut) for run, some in runs.items()}


def expected(rows: Sequence[Row], log: Log, is_cut: bool) -> Stored:
    measured = [row for row in rows if row.get("step") is not None and row.get("loss") is not None]
    if not measured or any(isinstance(row["step"], str) for row in measured):
        return None
    told = [name for name in COLUMNS if name not in (log.run_column, *log.omitted)]
    fields = []
    for name in told:
        values = {row.get(name) for row in rows}
        known = values - {None}
        key = key_of(name, known)
        is_word = any(isinstance(value, (str, bool)) for value in known)
        if (is_word and len(known) > 1) or (key is not None and len(values) > 1 and known):
            fields.append(name)
    if any(are_apart(name, measured) for name in fields):
        return None
    return last_written(rows, fields, "INCOMPLETE" if is_cut else "COMPLETE")


def are_apart(name: str, measured: Sequence[Row]) -> bool:
    groups: dict[Cell, list[int]] = {}
    for row in measured:
        groups.setdefault(row.get(name), []).append(int(row["step"] or 0))
    known = set(groups) - {None}
    key = key_of(name, known) if known else None
    if key is None:
        groups.pop(None, None)
        if name == "is_best":
            return False
    for (one, first), (other, second) in combinations(groups.items(), 2):
        strict = key == "split" or (key == "run" and None not in (one, other))
        if strict or (min(first) <= max(second) and min(second) <= max(first)):
            return True
    return False


def last_written(rows: Sequence[Row], fields: Sequence[str], status: str) -> Stored:
    """The last value of each step: after a restart, from the second time on, if the rows have the same words."""
    groups: dict[tuple[Cell, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in fields), []).append(row)
    written: list[tuple[int, float, int, int]] = []
    session = 0
    lowest = min(int(row["step"] or 0) for row in rows if row.get("step") is not None)
    for number, some in enumerate(groups.values()):
        if begins_again(some, lowest):
            return None
        session += 1
        previous = -1
        for row in some:
            step, loss = row.get("step"), row.get("loss")
            if step is not None and loss is not None:
                session += int(step) < previous
                previous = int(step)
                written.append((previous, float(loss), number, session))
    if len({step for step, *_ in written}) == 1 and len(written) > 2:
        return None
    values: dict[int, tuple[float, int, int]] = {}
    for step, loss, number, at in written:
        if step in values:
            before, group, begun = values[step]
            if before != loss and (group != number or begun == at):
                return None
        values[step] = loss, number, at
    return status, {step: loss for step, (loss, *_) in sorted(values.items())}


def begins_again(rows: Sequence[Row], lowest: int) -> bool:
    """Whether rows go back to the lowest step of their log, and aren't some of those before."""
    before: dict[int, float] = {}
    stretch: dict[int, float] = {}
    previous = -1
    cells = [(row.get("step"), row.get("loss")) for row in rows]
    measured = [(int(step), float(loss)) for step, loss in cells if step is not None and loss is not None]
    for step, loss in [*measured, (-1, 0.0)]:
        if step < previous:
            common = before.keys() & stretch.keys()
            is_apart = len(before) >= 4 and max(stretch) > min(before)
            is_other = any(before[at] != stretch[at] for at in common) if common else before and is_apart
            if is_other and min(len(before), len(stretch)) > 1 and min(stretch) <= lowest:
                return True
            before |= stretch
            stretch = {}
        stretch[step] = loss
        previous = step
    return False


@functools.cache
def mapping_of(run_column: str | None, omitted: tuple[str, ...], is_csv: bool) -> LogMapping:
    lines = "".join(f'{name} = ""\n' for name in omitted)
    run = f'column = "{run_column}"\n' if run_column else ""
    text = (
        'collection.name = "c"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 8\n'
        f'{run}[metrics]\nloss = "val/loss"\n{lines}[[axis]]\ncolumn = "step"\n'
    )
    return with_defaults(parse_mapping(text.encode(), "m"), CSV if is_csv else JSON_LINES)


def stored(log_format: Format, folder: Path, name: str, text: str, log: Log) -> dict[str, Stored]:
    mapping = mapping_of(log.run_column, tuple(log.omitted), log_format is CSV)
    found: dict[str, Stored] = {}
    for item in read(log_format, folder, {name: text.encode()}, mapping):
        if isinstance(item, RunLog):
            run = item.run.partition("#")[2]
            try:
                placed = place(item, mapping, "s", {})
            except Refusal:
                found[run] = None
            else:
                values = zip(placed.curve.steps.tolist(), placed.curve.values["val/loss"].tolist(), strict=True)
                found[run] = placed.status, dict(values)
    return found


def check(folder: Path, log: Log) -> None:
    for log_format, name, text, plain in (
        (CSV, "csv/log.csv", csv_text(log), functools.partial(plain_csv, run_column=log.run_column)),
        (JSON_LINES, "jsonl/log.jsonl", json_text(log), plain_json),
    ):
        found = stored(log_format, folder / name.split("/")[0], name.split("/")[1], text, log)
        assert_equal(found, expected_runs(*plain(text), log), text)


def assert_equal(found: dict[str, Stored], expected: dict[str, Stored], text: str) -> None:
    names = found.keys() | expected.keys()
    assert {name: found.get(name) for name in names} == {name: expected.get(name) for name in names}, text


QUICK = settings(suppress_health_check=list(HealthCheck))


@QUICK
@given(logs())
def test_a_table_is_stored_as_a_plain_loop_says(tmp_path_factory: pytest.TempPathFactory, log: Log) -> None:
    check(tmp_path_factory.getbasetemp() / "oracle", log)


@pytest.mark.fuzz
@settings(max_examples=30_000, suppress_health_check=list(HealthCheck))
@given(logs())
def test_many_tables_are_stored_as_a_plain_loop_says(tmp_path_factory: pytest.TempPathFactory, log: Log) -> None:
    check(tmp_path_factory.getbasetemp() / "oracle", log)
