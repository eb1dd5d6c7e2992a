"""An analysis on the terminal: what was computed, its rows, and what to know before relying on them.

A table that is wider than the terminal is printed in parts, so that every column is whole.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from losslake.cli.console import cell_text, is_number_column, say, show_table, shown, terminal_width
from losslake.output.answer import Answer
from losslake.questions.workload_facts import workload_labels

_KEYS = frozenset(
    {
        "workload", "competitor", "definition", "name", "population", "budget_kind", "budget", "batch_size", "target",
        "trial_id", "step", "factor", "break_point", "variant",
    }
)  # fmt: skip
"""Columns that say which row it is, where they come first: every part of a table has them."""

_TEXT_WIDTH = 40
_FEW_ROWS = 4


@dataclass(frozen=True)
class _Column:
    """A column as it is shown. heading: its lines. cells: the lines of each cell. width: in characters."""

    name: str
    heading: list[str]
    cells: list[list[str]]
    is_number: bool
    width: int


def wide_table(columns: Sequence[str], rows: Sequence[Sequence[object]], space: int) -> Iterator[str]:
    """Lines of at most `space` characters, if the widest cells allow it.

    A table that is too wide is parted, and each part begins with the columns that say which row it is; but up to four
    rows with more columns than fit are shown as columns, with a line for each name.
    """
    shown_columns = [_column(name, [row[at] for row in rows]) for at, name in enumerate(columns)]
    parts = list(_parts(shown_columns, space))
    if len(parts) > 1 and len(rows) <= _FEW_ROWS:
        turned = list(_turned(shown_columns))
        if max(map(len, turned)) <= space:
            yield from turned
            return
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from _lines(part)


def _column(name: str, values: Sequence[object]) -> _Column:
    heading = shown(name).replace("_", "_\n").split("\n")
    cells = [textwrap.wrap(cell_text(value), _TEXT_WIDTH) or [""] for value in values]
    width = max(len(line) for lines in (heading, *cells) for line in lines)
    return _Column(shown(name), heading, cells, is_number_column(values), width)


def _parts(columns: Sequence[_Column], space: int) -> Iterator[list[_Column]]:
    """The columns of each part: the keys, and as many others as fit, at least one."""
    n_keys = next((at for at, column in enumerate(columns) if column.name not in _KEYS), len(columns)) or 1
    part = list(columns[:n_keys])
    for column in columns[n_keys:]:
        if len(part) > n_keys and sum(each.width + 1 for each in part) + column.width > space:
            yield part
            part = list(columns[:n_keys])
        part.append(column)
    yield part


def _lines(columns: Sequence[_Column]) -> Iterator[str]:
    height = max(len(column.heading) for column in columns)
    headings = ([""] * (height - len(column.heading)) + column.heading for column in columns)
    for texts in zip(*headings, strict=True):
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


def _turned(columns: Sequence[_Column]) -> Iterator[str]:
    """A line for each column, in which each row is a column."""
    left = max(len(column.name) for column in columns)
    rows = list(zip(*([" ".join(lines) for lines in column.cells] for column in columns), strict=True))
    widths = [max(map(len, row)) for row in rows]
    for column, texts in zip(columns, zip(*rows, strict=True), strict=True):
        cells = "  ".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))
        yield f"{column.name:{left}}  {cells}".rstrip()


_SAID_ELSEWHERE = {
    "release", "workloads", "metric", "direction", "target", "definition", "n_used", "left_out", "warnings", "status",
    "comparator",
}  # fmt: skip
_IN_WORDS = "in_words"


def print_table(answer: Answer, parameters: Collection[str]) -> None:
    """Print an analysis: its facts, its rows, what it left out and what it warns of.

    Columns that hold the one workload asked about are left out; of several workloads, tables have what differs.
    parameters: what the analysis takes; where it speaks of one, the option is named.
    """
    facts, table = answer.facts, answer.table()
    workloads = list(facts.get("workloads", ()))
    _paragraph(_headline(facts))
    if "definition" in facts:
        _paragraph(f"{facts['definition']} From {facts['n_used']:,} values.")
    others = {name: value for name, value in facts.items() if name not in _SAID_ELSEWHERE and value not in (None, [])}
    settings = {name: value for name, value in others.items() if not _is_table(value)}
    if settings:
        _paragraph(", ".join(f"{name} {_text(value)}" for name, value in settings.items()))
    for name, value in others.items():
        if _is_table(value):
            say("")
            _show(name, value, workloads)
    say("")
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    _show(answer.rows_name, rows, workloads, table.column_names)
    notes = [f"left out: {text}" for text in facts.get("left_out", ())]
    notes += [f"warning: {text}" for text in facts.get("warnings", ())]
    if notes:
        say("")
    for text in notes:
        note = with_options(text, parameters)
        # With a single workload, the headline has said which.
        _paragraph(note.replace(f": {workloads[0]}: ", ": ", 1) if len(workloads) == 1 else note, "  ")


def with_options(text: str, parameters: Collection[str]) -> str:
    """A text of the service that speaks of parameters, `last=true`, in terms of options: `--last true`."""
    named = "|".join(map(re.escape, parameters))
    return re.sub(rf"\b({named})=(\S*)", lambda found: f"--{found[1].replace('_', '-')} {found[2]}".rstrip(), text)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and isinstance(value[0], dict)


def _show(name: str, rows: Sequence[Mapping[str, Any]], workloads: Sequence[str], columns: Sequence[str] = ()) -> None:
    """Objects that all have the same fields as a table under its name; in words where they are there in words."""
    say(f"{name}:")
    if rows and rows[0].get(_IN_WORDS):
        for row in rows:
            _paragraph(f"{row[_IN_WORDS]}", "  ")
        return
    own = workload_labels(workloads).own if len(workloads) > 1 else {}
    kept = [name for name in columns or rows[0] if name != "workload" or len(workloads) != 1]
    cells = [[_cell(row[name], own) for name in kept] for row in rows]
    space = terminal_width()
    if space is None:
        show_table(kept, cells)
        return
    empty = [name for at, name in enumerate(kept) if all(row[at] is None for row in cells)]
    filled = [at for at, name in enumerate(kept) if name not in empty or not rows] or [0]
    for line in wide_table([kept[at] for at in filled], [[row[at] for at in filled] for row in cells], space):
        say(line)
    if rows and empty:
        _paragraph(f"nothing in: {', '.join(empty)}", "  ")


def _cell(value: Any, own: Mapping[str, str]) -> Any:
    return (
        own.get(value, value) if isinstance(value, str) else _text(value) if isinstance(value, (list, dict)) else value
    )


def _text(value: Any) -> str:
    """A list or an object in a line, as short as it can be read."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ("; " if value and isinstance(value[0], dict) else ", ").join(map(_text, value))
    return value if isinstance(value, str) else "none" if value is None else cell_text(value)


def _paragraph(text: str, indent: str = "") -> None:
    """Text in as many lines as the terminal needs, the others indented; what is piped stays in one line."""
    space = terminal_width()
    lines = textwrap.wrap(text, max(20, space), subsequent_indent=indent, break_on_hyphens=False) if space else [text]
    for line in lines:
        say(line)


def _headline(facts: Mapping[str, Any]) -> str:
    sign = "<" if facts.get("direction") == "minimize" else ">"
    sign += "=" if facts.get("comparator") == "inclusive" else ""
    target = facts.get("target")
    goal = f"{facts.get('metric', '')} {sign} {target!r}" if isinstance(target, float) else facts.get("metric", "")
    return f"{', '.join(facts.get('workloads', ()))}: {goal}, release {facts['release']}"
