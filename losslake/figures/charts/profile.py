"""Profile: in which share of columns each competitor is within a factor of the best."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures.axes import Scale
from losslake.figures.drawing import Drawing, Drawn, Kind, goal_text, names_of, where
from losslake.figures.frame import Frame
from losslake.figures.layers import Plot, layer, tip
from losslake.figures.panel import Limits, Panel, Row, Series, rows_of
from losslake.questions.workload_facts import workload_labels

_MOST_FACTOR = 64.0
_MOST_SCORES = 4
_COLUMNS = ("factor", "share")
_TOOLTIP = [
    tip("series", "Competitor"),
    tip("factor", "Factor of the best", ".4~g"),
    tip("share", "Share within", ".1%"),
]


def draw(drawing: Drawing) -> Drawn:
    """In which share of workloads and batch sizes each competitor is within a factor of the best.

    A series for each competitor.
    """
    facts = drawing.facts
    names = [each["competitor"] for each in facts["scores"]]
    labels = workload_labels(names) if facts["by"] == "workload" else None
    series = [
        Series((labels.own[name] if labels else "") or name, where(drawing.rows, competitor=name)) for name in names
    ]
    explained = _explained(drawing, [one.label for one in series])
    targets = set(facts["targets"].values())
    goal = goal_text({**facts, "target": targets.pop()}) if len(targets) == 1 else facts["metric"]
    common = labels.common if labels else ""
    panel = drawing.panel(f"Performance profile: {goal}", common, names_of(series), explained)
    return Drawn([profile_chart(series, panel, largest_factor=facts["largest_factor"])], explained)


KIND = Kind("profile", "/v1/analysis/profiles", draw)


def profile_chart(series: Sequence[Series], panel: Panel, *, largest_factor: float = 4.0) -> Plot:
    """Return a staircase for each competitor, a mark where it rises, up to the largest factor at which any does.

    series: rows with factor and share, by ascending factor, the first at 1. largest_factor: up to which the axis
    reaches at least; it ends at 64 times the best, if that isn't more.
    """
    rows = list(rows_of(series, _COLUMNS))
    last = min(max((row["factor"] for row in rows), default=1.0), max(_MOST_FACTOR, largest_factor))
    x_limits = panel.x_limits or (2**-0.06, max(last, largest_factor) * 2**0.12)
    y_limits = panel.y_limits or (-0.03, 1.03)
    x = Scale("factor", x_limits, "Factor of the fewest steps", has_numbers=True)
    frame = Frame(panel, x, Scale("share", y_limits, "Share within", base=None), [one.label for one in series])
    stairs = [row for one in series for row in _to_the_edge(list(rows_of([one], _COLUMNS)), x_limits)]
    joined = frame.place | frame.colour
    marks = joined | frame.shape | {"tooltip": _TOOLTIP}
    layers = [
        layer(stairs, "line", joined, interpolate="step-after", strokeWidth=1.8, clip=True),
        layer(rows, "point", marks, size=26, filled=True, opacity=1, clip=True),
    ]
    return frame.plot(layers, "" if rows else "Nothing was tried by all of them.")


def _to_the_edge(rows: Sequence[Row], limits: Limits) -> list[Row]:
    """Return the rows of a competitor with its last share at the right edge."""
    return [*rows, rows[-1] | {"factor": max(limits[1], rows[-1]["factor"])}] if rows else []


def _explained(drawing: Drawing, labels: Sequence[str]) -> list[str]:
    facts = drawing.facts
    n_columns = len(facts["columns"])
    what = "batch sizes" if facts["by"] == "workload" else "workloads and batch sizes"
    explained = [
        f"In which share of {n_columns} {what} each takes at most so many times the fewest steps, at equal tuning."
    ]
    scores = [each["exact_score"] for each in facts["scores"]]
    if n_columns and len(scores) <= _MOST_SCORES:
        said = ", ".join(f"{label} {score:.2f}" for label, score in zip(labels, scores, strict=True))
        explained.append(f"Mean share up to a factor of {facts['largest_factor']:g}: {said}.")
    return explained
