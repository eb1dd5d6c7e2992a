"""Best learning rates: the best effective learning rate by batch size, with two heuristics for scaling it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, goal_text, legend_labels
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, DECIMAL, STEPS, TRIAL, Layer, Plot, layer, tip
from losslake.figures.panel import ChartRow, Panel, Series, drawable_rows

# Name, exponent of the batch size, and dashes of the line.
_HEURISTICS = (("Linear heuristic", 1.0, (6, 3)), ("Square-root heuristic", 0.5, (2, 2)))
_COLUMNS = ("batch_size", "effective_learning_rate", "rank", "steps", "trial_id")
_TOOLTIP = [BATCH_SIZE, tip("effective_learning_rate", "Effective learning rate", DECIMAL), STEPS, TRIAL]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the best effective learning rate by batch size, with the linear and the square-root heuristic.

    A series for each workload.
    """
    facts = request.facts
    request, unsized = request.by_batch_size()
    common, series = request.series_by_workload()
    near = f"{facts['within']:.0%}"
    notes = [
        f"Points: learning rate / (1 \u2212 momentum) of the trial with the fewest steps; pale: others within {near}.",
        "Dashed: linear heuristic; dotted: square-root heuristic, both from the first optimum.",
        *unsized,
    ]
    panel = request.panel(f"Best learning rates for {goal_text(facts)}", common, legend_labels(series), notes)
    first = series[0].label if series else None
    return ChartPanels([learning_rates_chart(series, panel, heuristics_of=first)], notes)


KIND = Kind("metaparameters", "/v1/metaparameters", draw)


def learning_rates_chart(series: Sequence[Series], panel: Panel, *, heuristics_of: str | None = None) -> Plot:
    """Return the effective learning rate of the best trial by batch size, with pale marks for near-optimal trials.

    series: rows with batch_size, effective_learning_rate, and rank, which is 1 for the best; without rank all are best;
    for tooltips, steps and trial_id.
    heuristics_of: the label of the series from whose first optimum the heuristics start: eta_0 B / B_0 and
    eta_0 sqrt(B / B_0); None: no lines. Source: Shallue et al. 2019, section 5.1.
    """
    rows = [row for row in drawable_rows(series, _COLUMNS) if row.get("effective_learning_rate", 0) > 0]
    best = [row for row in rows if row.get("rank", 1) == 1]
    near = [row for row in rows if row.get("rank", 1) != 1]
    x = Scale.over(rows, "batch_size", panel.batch_title, panel.x_limits)
    y_limits = panel.y_limits or log_limits(row["effective_learning_rate"] for row in rows)
    y = Scale("effective_learning_rate", y_limits, "Effective learning rate", base=10)
    frame = Frame(panel, x, y, [one.label for one in series])
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    linked = panel.link_to("trials", series)
    layers = [
        *_heuristics([row for row in best if row["series"] == heuristics_of], frame),
        layer(near, "point", marks, filled=True, clip=True, size=22, opacity=1, fillOpacity=0.35).linked(linked),
        frame.lines(best),
        frame.points(best, _TOOLTIP).linked(linked),
    ]
    return frame.plot(layers, "" if rows else "No trial with a learning rate reached the target.")


def _heuristics(best: Sequence[ChartRow], frame: Frame) -> Iterator[Layer]:
    """Yield a line for each heuristic, from the first optimum to the right."""
    if not best:
        return
    first = min(best, key=lambda row: float(row["batch_size"]))
    start = float(first["batch_size"])
    for name, power, dashes in _HEURISTICS:
        rows = [
            {
                "batch_size": size,
                "effective_learning_rate": first["effective_learning_rate"] * (size / start) ** power,
                "heuristic": name,
            }
            for size in (start, frame.x_axis.limits[1])
        ]
        yield layer(rows, "line", frame.place, clip=True, strokeDash=list(dashes), strokeWidth=1.3, color=theme.FAINT)
