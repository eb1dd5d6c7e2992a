"""The key figures of a target: a number and a note each. key_figures.js makes the same while the slider moves."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from losslake_service.web.workload.asked import WorkloadAsked
from losslake_service.web.workload.numbers import estimate_words, rough
from losslake_service.web.workload.sweep_row import SweepRow


@dataclass(frozen=True)
class KeyFigure:
    """A number with its label and a note; name: by which scripts find it."""

    name: str
    label: str
    value: str
    note: str


@cache
def words() -> dict[str, Any]:
    """The words of key_figures.toml."""
    return tomllib.loads(
        resources.files("losslake_service.web.workload").joinpath("key_figures.toml").read_text("utf-8")
    )


def words_for_scripts(asked: WorkloadAsked) -> str:
    """The same as JSON, with what is the same for every target filled in."""
    sign = "<" if asked.goal.direction == "minimize" else ">"
    fixed = {"metric": asked.goal.metric, "sign": sign, "workload": str(asked.workload)}
    return json.dumps(words() | {"fixed": fixed | {"all": len(asked.facts.batch_sizes)}})


def key_figures(row: SweepRow, n_batch_sizes: int) -> tuple[KeyFigure, ...]:
    """What a row of the sweep says, in the order of the page."""
    said, labels, notes = words(), words()["labels"], words()["notes"]
    value, note = _critical(row)
    reached = said["reached"].format(reached=f"{n_reached(row, n_batch_sizes):,}", all=f"{n_batch_sizes:,}")
    steps = said["none"] if row.fewest_steps is None else f"{row.fewest_steps:,}"
    perfect = _end(row.perfect_scaling_end, row.perfect_scaling_end_censoring)
    useful = _end(row.max_useful_batch_size, row.max_useful_batch_size_censoring)
    return (
        KeyFigure("reached", labels["reached"], reached, ""),
        KeyFigure("steps", labels["steps"], steps, notes["steps"]),
        KeyFigure("perfect", labels["perfect"], perfect, notes["perfect"]),
        KeyFigure("useful", labels["useful"], useful, notes["useful"]),
        KeyFigure("critical", labels["critical"], value, note),
    )


def n_reached(row: SweepRow, n_batch_sizes: int) -> int:
    """How many batch sizes reach the target."""
    return round(row.coverage * n_batch_sizes)


def spoken(asked: WorkloadAsked, row: SweepRow) -> str:
    """The target as the slider says it."""
    said = words()
    n_batch_sizes = len(asked.facts.batch_sizes)
    return str(said["spoken"].format(goal=asked.goal.text, reached=n_reached(row, n_batch_sizes), all=n_batch_sizes))


def _end(size: int | None, censoring: str | None) -> str:
    if size is None:
        return str(words()["none"])
    return str(words()[censoring or "exact"].format(size=f"{size:,}"))


def _critical(row: SweepRow) -> tuple[str, str]:
    """The critical batch size with its interval, or why there is none, with the bounds that hold."""
    said = words()
    ends = {
        name: rough(end)
        for name, end in (("lower", row.critical_batch_size_lower), ("upper", row.critical_batch_size_upper))
        if end is not None
    }
    if row.critical_batch_size is not None:
        bounds = (row.critical_batch_size_lower, row.critical_batch_size_upper)
        value, lower, upper = estimate_words(row.critical_batch_size, *bounds)
        return value, said["interval"].format(lower=lower, upper=upper) if lower and upper else ""
    why = said["refusals"][row.not_identifiable]
    form = {0: "{why}", 2: said["between"]}.get(len(ends), said["at_least" if "lower" in ends else "at_most"])
    return said["none"], form.format(why=why, **ends)
