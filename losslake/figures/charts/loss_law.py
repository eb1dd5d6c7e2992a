"""Loss law: losses against tokens by model size, with the fitted law, and the residuals of the points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from losslake.analysis.loss_law import NAMES, LossLaw
from losslake.figures import theme
from losslake.figures.axes import Scale, linear_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, DECIMAL, TRIAL, Plot, category, layer, tip
from losslake.figures.panel import ChartRow, Panel
from losslake.questions.release.workload_facts import workload_labels
from losslake_schema.quantities import abbreviated, capitalized, counted

_MOST_LINES = 7
# How far lines go on beyond the most tokens of any point, and on how many places they are drawn.
_BEYOND, _PLACES = 4.0, 60
_TOOLTIP = [
    tip("workload", "Workload"),
    BATCH_SIZE,
    TRIAL,
    tip("n", "Parameters", ".4~s"),
    tip("d", "Tokens", ".4~s"),
    tip("loss", "Loss", DECIMAL),
    tip("fitted", "Loss of the law", DECIMAL),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw losses against tokens by model size with the fitted law, dashed where it extrapolates, and the residuals.

    Up to 7 sizes have a line; the points of other sizes have the colour of the nearest.
    """
    points = [row for row in request.rows.to_pylist() if row["left_out_because"] is None]
    sizes = _drawn_sizes(sorted({row["n"] for row in points}))
    labels = [abbreviated(size) for size in sizes]
    logs = np.log(sizes) if sizes else np.zeros(1)
    for row in points:
        row["series"] = labels[int(np.abs(logs - np.log(row["n"])).argmin())]
    law = law_of(request.facts)
    notes = [f"Colours: parameters of the model, {request.facts['size']} embeddings."]
    if law is not None:
        notes.append("Lines: the law; dashed where it goes beyond the tokens of the points of that size.")
    names = workload_labels(request.facts["workloads"])
    grid = replace(request.grid(2), subtitle=names.common)
    title = request.title or f"Loss by tokens: {request.facts['metric']}"
    plots = [
        loss_chart(points, dict(zip(labels, sizes, strict=True)), law, replace(grid, title=title)),
        residual_chart(points, labels, replace(grid, title="Residuals of the law")),
    ]
    return ChartPanels(
        plots, notes, shares_legend=True, results=_results(request.facts), summary=_results(request.facts)
    )


KIND = Kind("loss-law", "/v1/analysis/loss-law", draw)


def law_of(facts: Mapping[str, Any]) -> LossLaw | None:
    """Return the law of an answer; None if it isn't reported."""
    values = {each["name"]: each["value"] for each in facts["estimates"]}
    if any(values.get(name) is None for name in NAMES):
        return None
    return LossLaw(*(values[name] for name in NAMES))


def loss_chart(points: Sequence[ChartRow], sizes: Mapping[str, float], law: LossLaw | None, panel: Panel) -> Plot:
    """Return a point for each row at its tokens and loss, and the law as a line for each size.

    points: with n, d, loss and the label of their size in `series`; for tooltips, the rest of the answer's columns.
    sizes: by label, in the order of the legend.
    """
    lines = [] if law is None else [row for label in sizes for row in _line(points, label, sizes[label], law)]
    x = Scale.over([*points, *lines], "d", "Tokens", panel.x_limits, base=10)
    y = Scale("loss", panel.y_limits or linear_limits(row["loss"] for row in [*points, *lines]), "Loss", base=None)
    frame = Frame(panel, x, y, [*sizes], is_ordered=True)
    path = frame.place | frame.colour | {"detail": category("part")}
    marks = frame.place | frame.colour | frame.tooltip(_TOOLTIP)
    layers = [
        layer([row for row in lines if row["is_dashed"]], "line", path, strokeDash=[4, 3], strokeWidth=1.2, clip=True),
        layer([row for row in lines if not row["is_dashed"]], "line", path, strokeWidth=1.6, clip=True),
        layer(points, "point", marks, **_style(points)),
    ]
    return frame.plot(layers, "" if points else "No trial has a size, tokens and a loss.")


def residual_chart(points: Sequence[ChartRow], labels: Sequence[str], panel: Panel) -> Plot:
    """Return a point for each row at its tokens and residual. points: as for loss_chart. labels: of all sizes."""
    fitted = [row for row in points if row["residual"] is not None]
    x = Scale.over(fitted, "d", "Tokens", panel.x_limits, base=10)
    y = Scale("residual", linear_limits([0.0, *(row["residual"] for row in fitted)]), "log(loss) - log(law)", base=None)
    frame = Frame(panel, x, y, labels, is_ordered=True)
    zero = [{"residual": 0.0}] if fitted else []
    layers = [
        layer(zero, "rule", {"y": frame.y_of("residual")}, strokeDash=[4, 3], strokeWidth=1, color=theme.FAINT),
        layer(fitted, "point", frame.place | frame.colour | frame.tooltip(_TOOLTIP), **_style(fitted)),
    ]
    return frame.plot(layers, "" if fitted else "No law is fitted.")


def _drawn_sizes(sizes: Sequence[float]) -> list[float]:
    """Return the sizes that have a line: those nearest to as many as fit, evenly by their logarithms.

    sizes: ascending. Of sizes that read alike, the largest stands for all.
    """
    logs = np.log(sizes)
    wanted = np.linspace(logs.min(initial=np.inf), logs.max(initial=-np.inf), _MOST_LINES) if len(sizes) else logs
    nearest = {int(np.abs(logs - place).argmin()) for place in wanted}
    return [*{abbreviated(sizes[place]): sizes[place] for place in sorted(nearest)}.values()]


def _line(points: Sequence[ChartRow], label: str, size: float, law: LossLaw) -> list[ChartRow]:
    """Return the line of the law at a size: solid between the tokens of its points, and dashed on both sides."""
    own = [row["d"] for row in points if row["series"] == label]
    every = [row["d"] for row in points]
    ends = (min(every), min(own), max(own), _BEYOND * max(every))
    rows = []
    for number, (start, end) in enumerate(pairwise(ends)):
        if start < end:
            tokens = np.geomspace(start, end, _PLACES)
            part = {"series": label, "part": f"{label} {number}", "is_dashed": number != 1}
            places = zip(tokens.tolist(), law.losses(size, tokens).tolist(), strict=True)
            rows += [{**part, "d": d, "loss": loss} for d, loss in places]
    return rows


def _style(points: Sequence[ChartRow]) -> dict[str, Any]:
    return {"filled": True, "size": theme.POINT if len(points) < 200 else 14, "opacity": 0.7, "clip": True}


def _results(facts: Mapping[str, Any]) -> list[str]:
    """Return the law, its optimum and what to know before relying on them, in sentences."""
    if not facts["law"]:
        return [f"No law is reported: {facts['refusal']}."]
    what = f"Fitted to {counted(facts['n_points'], 'point')} of {counted(facts['n_sizes'], 'model size')}"
    sentences = [f"{what}: L = {facts['law']}."]
    bounds = [f"{each['name']} {_interval(each, '')}" for each in facts["estimates"] if each["name"] in NAMES]
    sentences.append(f"{facts['level']:.0%} intervals: {', '.join(bounds)}.")
    for each in facts["optimum"]:
        beyond = f" (extrapolated: {each['extrapolates']})" if each["extrapolates"] else ""
        best = " and ".join(
            f"{abbreviated(each[name])} {noun} ({_interval(each, f'{name}_')})"
            for name, noun in (("n", "parameters"), ("d", "tokens"))
        )
        sentences.append(f"Best for {each['flops']:.3g} FLOPs: {best}{beyond}.")
    return [*sentences, *(f"{capitalized(text)}." for text in facts["warnings"])]


def _interval(values: Mapping[str, Any], prefix: str) -> str:
    """Return an interval in words. prefix: of the names of its ends."""
    lower, upper = (
        None if (end := values[f"{prefix}{name}"]) is None else abbreviated(end) for name in ("lower", "upper")
    )
    if lower is None or upper is None:
        return f"below {upper}" if upper else f"over {lower}" if lower else "without bounds"
    return f"{lower} to {upper}"
