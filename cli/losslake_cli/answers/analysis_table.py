"""An analysis on the terminal: its settings, rows and warnings.

A table that is wider than the terminal is split by columns into several tables.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from losslake.output.answer import Answer
from losslake.questions.release.workload_facts import workload_labels
from losslake_cli.console import echo, echo_all, printable
from losslake_cli.table import cell_text, heading_lines, is_number_column, show_table, split_heading, terminal_width
from losslake_schema.reached import goal_text

_KEYS = frozenset(
    {
        "workload", "competitor", "definition", "name", "population", "budget_kind", "budget", "batch_size", "target",
        "trial_id", "step", "factor", "break_point", "variant",
    }
)  # fmt: skip
"""Columns that identify a row if they come first; they are repeated in every part of a table."""

_TEXT_WIDTH = 40
_FEW_ROWS = 4


@dataclass(frozen=True)
class _Column:
    """A column of text. heading: its lines. cells: the lines of each cell. width: in characters."""

    name: str
    heading: list[str]
    cells: list[list[str]]
    is_number: bool
    width: int


def wide_table(columns: Sequence[str], rows: Sequence[Sequence[object]], space: int) -> Iterator[str]:
    """Yield lines of at most `space` characters, unless a cell is wider.

    A table that is too wide is split, and each part begins with the columns that identify a row. If it has at most four
    rows, it is transposed instead, with one line per column.
    """
    shown_columns = [_column(name, [row[at] for row in rows]) for at, name in enumerate(columns)]
    parts = list(_parts(shown_columns, space))
    if len(parts) > 1 and len(rows) <= _FEW_ROWS:
        transposed = list(_transposed(shown_columns))
        if max(map(len, transposed)) <= space:
            yield from transposed
            return
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from _lines(part)


def _column(name: str, values: Sequence[object]) -> _Column:
    heading = split_heading(printable(name))
    cells = [textwrap.wrap(cell_text(value), _TEXT_WIDTH) or [""] for value in values]
    width = max(len(line) for lines in (heading, *cells) for line in lines)
    return _Column(printable(name), heading, cells, is_number_column(values), width)


def _parts(columns: Sequence[_Column], space: int) -> Iterator[list[_Column]]:
    """Yield the columns of each part: the keys, and as many others as fit, at least one."""
    n_keys = next((at for at, column in enumerate(columns) if column.name not in _KEYS), len(columns)) or 1
    part = list(columns[:n_keys])
    for column in columns[n_keys:]:
        if len(part) > n_keys and sum(each.width + 1 for each in part) + column.width > space:
            yield part
            part = list(columns[:n_keys])
        part.append(column)
    yield part


def _lines(columns: Sequence[_Column]) -> Iterator[str]:
    for texts in heading_lines([column.heading for column in columns]):
        yield _line(columns, texts)
    yield " ".join("─" * column.width for column in columns)
    for cells in zip(*(column.cells for column in columns), strict=True):
        for texts in zip_longest(*cells, fillvalue=""):
            yield _line(columns, texts)


def _line(columns: Sequence[_Column], texts: Sequence[str]) -> str:
    padded = (
        f"{text:>{column.width}}" if column.is_number else f"{text:{column.width}}"
        for column, text in zip(columns, texts, strict=True)
    )
    return " ".join(padded).rstrip()


def _transposed(columns: Sequence[_Column]) -> Iterator[str]:
    """Yield the lines of the transposed table, one per column."""
    name_width = max(len(column.name) for column in columns)
    rows = list(zip(*([" ".join(lines) for lines in column.cells] for column in columns), strict=True))
    widths = [max(map(len, row)) for row in rows]
    for column, texts in zip(columns, zip(*rows, strict=True), strict=True):
        cells = "  ".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))
        yield f"{column.name:{name_width}}  {cells}".rstrip()


_SHOWN_ELSEWHERE = {
    "release", "workloads", "metric", "direction", "target", "definition", "n_used", "left_out", "warnings", "status",
    "comparator", "advice", "forecast", "curve",
}  # fmt: skip
_IN_WORDS = "in_words"


def print_table(answer: Answer, parameters: Collection[str]) -> None:
    """Print an analysis: its settings, rows, omissions and warnings.

    A single workload is omitted from the tables; several are shown by the parts of their names that differ.
    parameters: the parameters of the analysis, which texts are made to name as options.
    """
    facts, table = answer.facts, answer.table()
    workloads = list(facts.get("workloads", ()))
    _paragraph(_headline(facts))
    for sentence in (*facts.get("advice", ()), *facts.get("forecast", ())):
        _paragraph(sentence)
    if "definition" in facts:
        _paragraph(f"{facts['definition']} From {facts['n_used']:,} values.")
    others = {name: value for name, value in facts.items() if name not in _SHOWN_ELSEWHERE and value not in (None, [])}
    settings = {name: value for name, value in others.items() if not _is_table(value)}
    if settings:
        _paragraph(", ".join(f"{name} {_text(value)}" for name, value in settings.items()))
    for name, value in others.items():
        if _is_table(value):
            echo("")
            _show(name, value, workloads)
    echo("")
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    _show(answer.rows_name, rows, workloads, table.column_names)
    notes = [f"left out: {text}" for text in facts.get("left_out", ())]
    notes += [f"warning: {text}" for text in facts.get("warnings", ())]
    if notes:
        echo("")
    for text in notes:
        note = with_options(text, parameters)
        # The headline names a single workload.
        _paragraph(note.replace(f": {workloads[0]}: ", ": ", 1) if len(workloads) == 1 else note, "  ")


def with_options(text: str, parameters: Collection[str]) -> str:
    """Return a text that names parameters, `last=true&budget=1`, with options instead, `--last true --budget 1`."""
    names = "|".join(map(re.escape, parameters))

    def option(match: re.Match[str]) -> str:
        return f"{' ' * len(match[1])}--{match[2].replace('_', '-')} {match[3]}".rstrip()

    return re.sub(rf"(&?)\b({names})=([^\s:&]*)", option, text)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and isinstance(value[0], dict)


def _show(name: str, rows: Sequence[Mapping[str, Any]], workloads: Sequence[str], columns: Sequence[str] = ()) -> None:
    """Print rows of the same fields as a table under its name, or as sentences if they have them."""
    echo(f"{name}:")
    if rows and rows[0].get(_IN_WORDS):
        for row in rows:
            _paragraph(f"{row[_IN_WORDS]}", "  ")
        return
    is_alone = len(workloads) == 1 and all(row.get("workload") == workloads[0] for row in rows)
    labels = workload_labels(workloads).short if len(workloads) > 1 else {}
    names = [name for name in columns or rows[0] if name != "workload" or not is_alone]
    cells = [[_cell(row[name], labels) for name in names] for row in rows]
    space = terminal_width()
    if space is None:
        show_table(names, cells)
        return
    empty = [name for at, name in enumerate(names) if all(row[at] is None for row in cells)]
    filled = [at for at, name in enumerate(names) if name not in empty or not rows] or [0]
    echo_all(wide_table([names[at] for at in filled], [[row[at] for at in filled] for row in cells], space))
    if rows and empty:
        _paragraph(f"empty columns: {', '.join(empty)}", "  ")


def _cell(value: Any, labels: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return labels.get(value, value)
    return _text(value) if isinstance(value, (list, dict)) else value


def _text(value: Any) -> str:
    """Return a list or an object on one line."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ("; " if value and isinstance(value[0], dict) else ", ").join(map(_text, value))
    return value if isinstance(value, str) else "none" if value is None else cell_text(value)


def _paragraph(text: str, indent: str = "") -> None:
    """Print text wrapped to the terminal, with an indent from the second line on; without a terminal, on one line."""
    space = terminal_width()
    echo_all(textwrap.wrap(text, max(20, space), subsequent_indent=indent, break_on_hyphens=False) if space else [text])


def _headline(facts: Mapping[str, Any]) -> str:
    metric, target = facts.get("metric", ""), facts.get("target")
    goal = metric
    if isinstance(target, float):
        comparator = facts.get("comparator", "strict")
        goal = goal_text(metric, facts.get("direction", ""), target, comparator, is_for_terminal=True)
    what = ", ".join(filter(None, [goal, f"release {facts['release']}"]))
    return ": ".join(filter(None, [", ".join(facts.get("workloads", ())), what]))
