"""The series of an answer, and the words that several drawings say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from losslake.figures.drawing import Drawing
from losslake.figures.panel import Series
from losslake.questions.selection import Goal
from losslake.questions.workload_facts import workload_labels


def series_by_workload(drawing: Drawing) -> tuple[str, list[Series]]:
    """What all workloads have in common, and a series for each, with what it has besides as its label."""
    rows = drawing.rows
    labels = workload_labels(drawing.facts["workloads"])
    series = [Series(label, rows.filter(pc.equal(rows["workload"], name)), name) for name, label in labels.own.items()]
    return labels.common, series


def names_of(series: Sequence[Series]) -> list[str]:
    """The names that a legend has; none for a single series without a name."""
    return [one.label for one in series] if any(one.label for one in series) else []


def goal_text(facts: Mapping[str, Any]) -> str:
    """The goal in words: val/classification_error < 0.05."""
    goal = Goal(facts["target"], facts.get("comparator", "strict"))
    return goal.in_words(facts["metric"], facts["direction"])


def budget_text(facts: Mapping[str, Any]) -> str:
    """The budgets in words: within 1,000 steps; empty without any."""
    found = [
        f"{facts[name]:,} {unit}"
        for name, unit in (("step_budget", "steps"), ("example_budget", "examples"))
        if facts[name] is not None
    ]
    return f" within {' and '.join(found)}" if found else ""
