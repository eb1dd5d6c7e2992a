"""An analysis on the terminal: what was computed, the rows, and what to know before relying on them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from losslake.cli.console import cell_text, say, show_table, terminal_width
from losslake.cli.wide_tables import wide_table
from losslake.output.answer import Answer
from losslake.questions.workload_labels import workload_labels

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
