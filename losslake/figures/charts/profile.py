"""Performance profile: the share of columns in which each competitor is within a factor of the best."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures.axes import Scale
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, filter_rows, goal_text, legend_labels
from losslake.figures.frame import Frame
from losslake.figures.layers import Plot, layer, tip
from losslake.figures.panel import ChartRow, Limits, Panel, Series, drawable_rows
from losslake.questions.release.known_names import name_of_part
from losslake.questions.release.workload_facts import workload_labels

_MOST_FACTOR = 64.0
_MOST_SCORES = 4
_COLUMNS = ("factor", "share")
_TOOLTIP = [
    tip("series", "Competitor"),
    tip("factor", "Factor \u03c4", ".4~g"),
    tip("share", "Share within \u03c4", ".1%"),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the share of workloads and batch sizes at which each competitor is within a factor of the best.

    A series for each competitor.
    """
    facts = request.facts
    names = [each["competitor"] for each in facts["scores"]]
    labels = workload_labels(names) if facts["by"] == "workload" else None
    series = [
        Series(
            labels.short[name] or name if labels else name_of_part(facts["by"], name),
            filter_rows(request.rows, competitor=name),
        )
        for name in names
    ]
    notes = _notes(request, [one.label for one in series])
    targets = set(facts["targets"].values())
    goal = goal_text({**facts, "target": targets.pop()}) if len(targets) == 1 else facts["metric"]
    common = labels.common if labels else ""
    panel = request.panel(f"Performance profile: {goal}", common, legend_labels(series), notes)
    return ChartPanels([profile_chart(series, panel, largest_factor=facts["largest_factor"])], notes)


KIND = Kind("profile", "/v1/analysis/profiles", draw)


def profile_chart(
    series: Sequence[Series], panel: Panel, *, largest_factor: float = 4.0, of: str = "fewest steps"
) -> Plot:
    """Return a staircase for each competitor, with marks at its rises, up to the largest factor of any rise.

    series: rows with factor and share, by ascending factor, the first at 1. largest_factor: the least end of
    the axis, which otherwise ends at 64 times the best at most. of: what the factor multiplies.
    Source: Dolan and Moré 2002.
    """
    rows = list(drawable_rows(series, _COLUMNS))
    last = min(max((row["factor"] for row in rows), default=1.0), max(_MOST_FACTOR, largest_factor))
    x_limits = panel.x_limits or (2**-0.06, max(last, largest_factor) * 2**0.12)
    y_limits = panel.y_limits or (-0.03, 1.03)
    x = Scale("factor", x_limits, f"Factor \u03c4 of the {of}")
    frame = Frame(panel, x, Scale("share", y_limits, "Share within \u03c4", base=None), [one.label for one in series])
    stairs = [row for one in series for row in _to_the_edge(list(drawable_rows([one], _COLUMNS)), x_limits)]
    joined = frame.place | frame.colour
    marks = joined | frame.shape | {"tooltip": _TOOLTIP}
    layers = [
        layer(stairs, "line", joined, interpolate="step-after", strokeWidth=1.8, clip=True),
        layer(rows, "point", marks, size=26, filled=True, opacity=1, clip=True),
    ]
    return frame.plot(layers, "" if rows else "No batch size was tried by all of them.")


def _to_the_edge(rows: Sequence[ChartRow], limits: Limits) -> list[ChartRow]:
    """Return the rows of a competitor, with its last share repeated at the right edge."""
    return [*rows, rows[-1] | {"factor": max(limits[1], rows[-1]["factor"])}] if rows else []


def _notes(request: ChartRequest, labels: Sequence[str]) -> list[str]:
    facts = request.facts
    n_columns = len(facts["columns"])
    what = "batch sizes" if facts["by"] == "workload" else "workloads and batch sizes"
    notes = [
        f"Share of {n_columns} {what} at which each takes at most \u03c4 times the fewest steps, at equal budgets."
    ]
    scores = [each["exact_score"] for each in facts["scores"]]
    if n_columns and len(scores) <= _MOST_SCORES:
        text = ", ".join(f"{label} {score:.2f}" for label, score in zip(labels, scores, strict=True))
        notes.append(f"Mean share up to a factor of {facts['largest_factor']:g}: {text}.")
    return notes
