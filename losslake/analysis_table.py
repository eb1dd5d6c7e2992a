"""An analysis on the terminal: what was computed, the rows, and what to know before relying on them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from losslake.console import say, show_table
from service.tabular.answer import Answer

_SAID_ELSEWHERE = {
    "release", "workloads", "metric", "direction", "target", "definition", "n_used", "left_out", "warnings", "status",
    "comparator",
}  # fmt: skip


def print_table(answer: Answer) -> None:
    """Print an analysis. A column that holds the one workload asked about is left out."""
    facts, table = answer.facts, answer.table()
    say(_headline(facts))
    if "definition" in facts:
        say(f"{facts['definition']} From {facts['n_used']:,} values.")
    for name, value in facts.items():
        if name not in _SAID_ELSEWHERE and value not in (None, []):
            _print_fact(name, value)
    if "workload" in table.column_names and len(facts.get("workloads", ())) == 1:
        table = table.drop_columns(["workload"])
    show_table(table.column_names, [[_cell(value) for value in row.values()] for row in _rows(table)])
    for text in facts.get("left_out", ()):
        say(f"left out: {text}")
    for text in facts.get("warnings", ()):
        say(f"warning: {text}")


def _print_fact(name: str, value: Any) -> None:
    """In a line, or as a table of its own if it is a list of objects, which all have the same fields."""
    if isinstance(value, list) and isinstance(value[0], dict):
        say(f"{name}:")
        show_table(list(value[0]), [[_cell(each) for each in row.values()] for row in value])
    else:
        say(f"{name}: {value if isinstance(value, str) else json.dumps(value)}")


def _headline(facts: Any) -> str:
    sign = "<" if facts.get("direction") == "minimize" else ">"
    sign += "=" if facts.get("comparator") == "inclusive" else ""
    target = facts.get("target")
    goal = f"{facts.get('metric', '')} {sign} {target!r}" if isinstance(target, float) else facts.get("metric", "")
    return f"{', '.join(facts.get('workloads', ()))}: {goal}, release {facts['release']}"


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    return rows


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict)) else value
