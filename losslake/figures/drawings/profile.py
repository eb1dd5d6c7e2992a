"""Draws the answer of /v1/analysis/profiles."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from losslake.figures.charts.profile import profile_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.series import goal_text, names_of
from losslake.figures.panel import Series
from losslake.questions.workload_facts import workload_labels

_MOST_SCORES = 4


def draw(drawing: Drawing) -> Drawn:
    """The share of columns within a factor of the best, a series for each competitor."""
    facts, rows = drawing.facts, drawing.rows
    names = [each["competitor"] for each in facts["scores"]]
    labels = workload_labels(names) if facts["by"] == "workload" else None
    series = [
        Series((labels.own[name] if labels else "") or name, rows.filter(pc.equal(rows["competitor"], name)))
        for name in names
    ]
    explained = _explained(drawing, [one.label for one in series])
    targets = set(facts["targets"].values())
    goal = goal_text({**facts, "target": targets.pop()}) if len(targets) == 1 else facts["metric"]
    title = f"Performance profile: {goal}"
    panel = drawing.panel(title, labels.common if labels else "", names_of(series), explained)
    return Drawn([profile_chart(series, panel, largest_factor=facts["largest_factor"])], explained)


def _explained(drawing: Drawing, labels: Sequence[str]) -> list[str]:
    facts = drawing.facts
    n_columns = len(facts["columns"])
    what = "batch sizes" if facts["by"] == "workload" else "workloads and batch sizes"
    found = [
        f"In which share of {n_columns} {what} each takes at most so many times the fewest steps, at equal tuning."
    ]
    scores = [each["exact_score"] for each in facts["scores"]]
    if n_columns and len(scores) <= _MOST_SCORES:
        said = ", ".join(f"{label} {score:.2f}" for label, score in zip(labels, scores, strict=True))
        found.append(f"Mean share up to a factor of {facts['largest_factor']:g}: {said}.")
    return found
