"""The end of a run that was resumed: what was lost before the end that it had goes on being lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from losslake.record.gaps import Gaps, LeftOut
from losslake.record.layout import END


def earlier_end(folder: Path) -> Mapping[str, Any]:
    """Return the end that a run had before it goes on; empty if there is none, or none that can be read."""
    try:
        document = json.loads((folder / END).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def with_earlier(end: dict[str, Any], earlier: Mapping[str, Any], replaced_from: int | None) -> dict[str, Any]:
    """Return an end that also counts what an earlier one does.

    replaced_from: the first step that was recorded again since; None if none was. Gaps from there on are none any more.
    """
    gaps, left_out = Gaps(), LeftOut()
    is_all_replaced = replaced_from == 0
    for row in _rows(earlier, "gaps") if not is_all_replaced else ():
        steps = _steps(row)
        if replaced_from is None or not steps or steps[0] < replaced_from:
            gaps.add(str(row.get("reason")), _count(row, "n"), *steps)
    for row in _rows(end, "gaps"):
        gaps.add(row["reason"], row["n"], *_steps(row))
    for row in (*_rows(earlier, "left_out"), *_rows(end, "left_out")):
        left_out.add(str(row.get("name")), str(row.get("kind")), *_steps(row), count=_count(row, "n"))
    merged = {**end, "n_dropped": gaps.count, "gaps": gaps.rows(), "left_out": left_out.rows()}
    for name in ("assumed_rewinds", "began_again"):
        merged[name] = end.get(name, 0) + (0 if is_all_replaced else _count(earlier, name))
    others = earlier.get("other_counters")
    if isinstance(others, list) and not is_all_replaced:
        merged["other_counters"] = sorted({*end.get("other_counters", ()), *map(str, others)})
    if earlier.get("steps_counted") == "calls" and not is_all_replaced:
        merged["steps_counted"] = "calls"
    return merged


def _rows(document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    rows = document.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _steps(row: Mapping[str, Any]) -> list[int]:
    """Return the first and last step of a row, if it has them."""
    return [step for step in (row.get("first_step"), row.get("last_step")) if type(step) is int]


def _count(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    return value if type(value) is int and value > 0 else 0
