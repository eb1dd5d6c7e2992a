"""Draws the answer of /v1/analysis/compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from losslake.figures.charts.ratio import ratio_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.series import goal_text
from losslake.figures.panel import Series
from losslake.questions.wording import at_sizes
from losslake.questions.workload_facts import workload_labels

_TOLD = ("fewer", "more")
_COLUMNS = pa.schema(
    [
        ("batch_size", pa.int64()),
        ("ratio", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("is_told", pa.bool_()),
        ("edge", pa.string()),
    ]
)


def draw(drawing: Drawing) -> Drawn:
    """The ratio of steps to those of the baseline, a series for each other workload."""
    facts = drawing.facts
    labels = workload_labels(facts["workloads"])
    rows = drawing.rows.to_pylist()
    base = {row["batch_size"]: row for row in rows if row["workload"] == facts["baseline"]}
    series = [
        Series(
            label, _placed([row for row in rows if row["workload"] == name and name != facts["baseline"]], base), name
        )
        for name, label in labels.own.items()
    ]
    baseline = labels.own[facts["baseline"]]
    explained = _explained(series, baseline, _neither(rows, base))
    title = f"Steps to {goal_text(facts)}"
    names = [one.label for one in series] if len(series) > 1 else []
    panel = drawing.panel(f"{title}, relative to {baseline}" if baseline else title, labels.common, names, explained)
    return Drawn([ratio_chart(series, panel, baseline=baseline, links=drawing.links)], explained)


def _placed(rows: Sequence[dict[str, Any]], base: dict[int, dict[str, Any]]) -> pa.Table:
    """Rows of a workload, as far as the baseline has that batch size."""
    found = [
        {
            "batch_size": row["batch_size"],
            "ratio": row["steps_ratio"] or None,
            "lower": row["steps_ratio_lower"],
            "upper": row["steps_ratio_upper"],
            "is_told": row["difference"] in _TOLD,
            "edge": _edge(row["median_steps"], base[row["batch_size"]]["median_steps"]),
        }
        for row in rows
        if row["batch_size"] in base
    ]
    return pa.Table.from_pylist(found, _COLUMNS)


def _edge(steps: int | None, baseline: int | None) -> str | None:
    """Where the mark of one is that has no ratio, since only one of both reaches the target."""
    if (steps is None) == (baseline is None):
        return None
    return "top" if steps is None else "bottom"


def _neither(rows: Sequence[dict[str, Any]], base: dict[int, dict[str, Any]]) -> str:
    """The batch sizes at which no workload reaches the target, in words; empty without any."""
    reached = {row["batch_size"] for row in rows if row["median_steps"] is not None}
    never = [size for size in base if size not in reached]
    return at_sizes(never, sorted(base)) if never else ""


def _explained(series: Sequence[Series], baseline: str, neither: str) -> list[str]:
    """What the marks mean, with the names."""
    others = [one.label for one in series if one.label != baseline]
    if not others:
        return ["There is but one workload."]
    one = others[0] if len(others) == 1 else ""
    told = f"{one} takes fewer steps" if one else "fewer steps"
    found = [
        f"Below 1: {told} than {baseline}; above 1: more.",
        "Bars: 90% of draws of half of the trials. Filled: the difference is told; open: it may be chance.",
    ]
    edges = {edge for each in series for edge in each.rows["edge"].to_pylist()}
    if "top" in edges:
        found.append(f"Arrows at the top: {'only ' if one else 'of these, only '}{baseline} reaches the target.")
    if "bottom" in edges:
        alone = f"only {one} reaches the target" if one else f"{baseline} does not reach the target"
        found.append(f"Arrows at the bottom: {alone}.")
    if neither:
        found.append(f"At {neither} none reaches the target.")
    return found
