"""The key figures of a target: a number and a note each. key_figures.js makes the same while the slider moves."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib import resources
from typing import Any

from losslake.questions import target_sweep
from losslake_service.web.chart import Chart
from losslake_service.web.workload.request import WorkloadRequest

Row = dict[str, Any]
"""A row of an answer, by column."""
_STOPS = 100
_FIELDS = (
    "target", "coverage", "fewest_steps", "perfect_scaling_end", "perfect_scaling_end_censoring",
    "max_useful_batch_size", "max_useful_batch_size_censoring", "critical_batch_size", "critical_batch_size_lower",
    "critical_batch_size_upper", "not_identifiable",
)  # fmt: skip
"""The columns of the target sweep that the page and its scripts use."""


def row_of_target(request: WorkloadRequest) -> tuple[Row, Row]:
    """Return the target sweep's row of the target, and its summary of how the workload depends on the target."""
    target = request.goal.target
    parameters = target_sweep.TargetSweepParameters(
        **request.of_metric, target_min=target, target_max=target, n_targets=1, spacing="linear"
    )
    answer = target_sweep.answer(request.page.view, parameters)
    row = answer.table().to_pylist()[0]
    return {name: row[name] for name in _FIELDS}, answer.facts["summaries"][0]


def slider(request: WorkloadRequest, sweep: Chart, row: Row) -> dict[str, str]:
    """Return the slider of targets. sweep: the chart of all targets; row: of the target that is shown.

    stops: where its stops come from. row, words: as JSON for its script, which fills in the words. target, spoken: the
    target as it is shown, and as it is read out.
    """
    goal, n_batch_sizes = request.goal, len(request.facts.batch_sizes)
    # What is the same for every target.
    sign = "<" if goal.direction == "minimize" else ">"
    fixed = {"metric": goal.metric, "sign": sign, "workload": str(request.workload), "all": n_batch_sizes}
    return {
        "stops": f"{sweep.data('json')}&n_targets={_STOPS}",
        "row": json.dumps(row, allow_nan=False),
        "words": json.dumps(_words() | {"fixed": fixed}),
        "target": goal.text.removeprefix(goal.metric).strip(),
        "spoken": _words()["spoken"].format(goal=goal.text, reached=_n_reached(row, n_batch_sizes), all=n_batch_sizes),
    }


def key_figures(row: Row, n_batch_sizes: int) -> list[tuple[str, str, str, str]]:
    """Return name, label, number and note of what a row of the sweep says, in the order of the page."""
    words = _words()
    value, note = _critical(row)
    numbers = {
        "reached": words["reached"].format(reached=f"{_n_reached(row, n_batch_sizes):,}", all=f"{n_batch_sizes:,}"),
        "steps": words["none"] if row["fewest_steps"] is None else f"{row['fewest_steps']:,}",
        "perfect": _end(row, "perfect_scaling_end"),
        "useful": _end(row, "max_useful_batch_size"),
        "critical": value,
    }
    notes = words["notes"] | {"critical": note}
    return [(name, words["labels"][name], number, notes.get(name, "")) for name, number in numbers.items()]


def rough(number: float, digits: int = 2) -> str:
    """Return a number to two significant digits, as an estimate deserves: 13, 1,200, 0.0071."""
    return f"{float(f'{number:.{digits}g}'):,.12g}"


def estimate_words(value: float, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """Return an estimate with its interval, to three digits where two don't tell them apart; empty for no end."""
    for digits in (2, 3):
        words = rough(value, digits)
        ends = ["" if end is None else rough(end, digits) for end in (lower, upper)]
        if words not in ends:
            break
    return words, ends[0], ends[1]


@cache
def _words() -> dict[str, Any]:
    text = resources.files("losslake_service.web.workload").joinpath("key_figures.toml").read_text("utf-8")
    return tomllib.loads(text)


def _n_reached(row: Row, n_batch_sizes: int) -> int:
    """Return how many batch sizes reach the target."""
    coverage: float = row["coverage"]
    return round(coverage * n_batch_sizes)


def _end(row: Row, name: str) -> str:
    words, size = _words(), row[name]
    text: str = words["none"] if size is None else words[row[f"{name}_censoring"] or "exact"].format(size=f"{size:,}")
    return text


def _critical(row: Row) -> tuple[str, str]:
    """Return the critical batch size with its interval, or why there is none, with the bounds that hold."""
    words = _words()
    bounds = {end: row[f"critical_batch_size_{end}"] for end in ("lower", "upper")}
    if row["critical_batch_size"] is not None:
        value, lower, upper = estimate_words(row["critical_batch_size"], **bounds)
        return value, words["interval"].format(lower=lower, upper=upper) if lower and upper else ""
    ends = {name: rough(end) for name, end in bounds.items() if end is not None}
    form = {0: "{why}", 2: words["between"]}.get(len(ends), words["at_least" if "lower" in ends else "at_most"])
    return words["none"], form.format(why=words["refusals"][row["not_identifiable"]], **ends)
