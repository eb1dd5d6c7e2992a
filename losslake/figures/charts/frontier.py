"""The frontier: the best value of each trial against what it took, with the Pareto front as a line of steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from losslake.figures import theme
from losslake.figures.axes import Scale, decade_limits, linear_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, DECIMAL, TRIAL, Plot, layer, quantity, tip
from losslake.figures.outliers import within_reason
from losslake.figures.panel import ChartRow, Limits, Panel
from losslake.questions.release.known_names import name_of_part
from losslake.questions.trials.step_amounts import measure_noun
from losslake_schema.names import Workload
from losslake_schema.quantities import amount, capitalized, plural
from losslake_schema.reached import Floats

_MOST_NAMED = 7
_OTHERS = "others"
_TOOLTIP = [
    tip("workload", "Workload"),
    BATCH_SIZE,
    TRIAL,
    tip("value", "Value", DECIMAL),
    tip("amount", "After", DECIMAL),
    tip("step", "Step", COUNT),
]


ColourBy = Literal["model", "optimizer", "collection"]


class FrontierColours(BaseModel):
    """The colours of trials."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    colour_by: Annotated[ColourBy, Field(examples=["optimizer"])] = "model"
    """Colour by model, optimizer or collection; the 7 with the most trials have a colour each."""


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the best value of each trial against what it took, with the Pareto front of all evaluations."""
    every = request.rows.to_pylist()
    rows = [row for row in every if row["amount"] > 0]
    noun, metric = measure_noun(request.facts["measure"]), request.facts["metric"]
    groups = _groups(rows, request.parameters.colour_by)
    notes = ["Points: the best value of each trial. Line: the best of any evaluation so far.", *request.measure_notes]
    if n_at_once := sum(row["is_best"] for row in every) - sum(row["is_best"] for row in rows):
        notes.append(f"Not drawn: {n_at_once} {plural('trial', n_at_once)} with the best value at 0 {noun}.")
    counts = Counter(groups[row["workload"]] for row in rows if row["is_best"])
    order = sorted(counts, key=lambda name: (name == _OTHERS, -counts[name], name))
    labels = {name: f"{name} ({counts[name]:,})" for name in order}
    for row in rows:
        row["series"] = labels.get(groups[row["workload"]], "")
    least, most = _limits(rows)
    n_beyond = sum(not least <= row["value"] <= most for row in rows if row["is_best"])
    if n_beyond:
        notes.append(f"{n_beyond:,} point{'s are' if n_beyond > 1 else ' is'} beyond the axis.")
    panel = replace(request.panel(f"Best {metric} by {noun}", "", list(labels.values()), notes), y_limits=(least, most))
    chart = frontier_chart(rows, list(labels.values()), panel, noun=noun, metric=metric, has_others=_OTHERS in labels)
    return ChartPanels([chart], notes, summary=_in_words(every, noun))


KIND = Kind("frontier", "/v1/analysis/frontier", draw, most_rows=20_000, parameters=FrontierColours)


def _limits(rows: list[ChartRow]) -> Limits:
    """Return the limits of the axis of values: of the front, and of best values that don't compress the rest."""
    bests = within_reason(_values([row for row in rows if row["is_best"]])).tolist()
    return linear_limits([*bests, *(row["value"] for row in rows if row["is_on_front"])])


def frontier_chart(
    rows: list[ChartRow], labels: list[str], panel: Panel, *, noun: str, metric: str, has_others: bool = False
) -> Plot:
    """Return a point for the best evaluation of each trial, and the front as a line of steps.

    rows: of the answer, each with its label in `series`. labels: in the order of the legend. noun: what is counted.
    has_others: the last label stands for all the rest, in grey.
    """
    bests = [row for row in rows if row["is_best"]]
    front = sorted((row for row in rows if row["is_on_front"]), key=lambda row: (row["amount"], row["step"]))
    x = Scale("amount", panel.x_limits or decade_limits(row["amount"] for row in rows), capitalized(noun), base=10)
    y = Scale("value", panel.y_limits or _limits(rows), metric, base=None)
    frame = Frame(panel, x, y, labels)
    colour = frame.colour["color"]
    if has_others:
        colours = [*colour["scale"]["range"][:-1], theme.NEUTRAL]
        colour = {**colour, "scale": {**colour["scale"], "range": colours}}
    marks = frame.place | {"color": colour} | frame.tooltip(_TOOLTIP)
    names = {row["workload"]: row["workload"] for row in rows}
    linked = panel.links.to("trials", names, "workload") if panel.links and names else None
    size = theme.POINT if len(bests) < 200 else 14
    style: dict[str, Any] = {"filled": True, "size": size, "opacity": 0.55, "clip": True}
    path = frame.place | {"order": quantity("amount")}
    layers = [
        layer(bests, "point", marks, **style).linked(linked),
        layer(front, "line", path, interpolate="step-after", strokeWidth=1.6, color=theme.INK, clip=True),
        layer(front, "point", frame.place | frame.tooltip(_TOOLTIP), size=30, opacity=0, clip=True).linked(linked),
    ]
    return frame.plot(layers, "" if rows else "No trial was measured.")


def _groups(rows: list[ChartRow], colour_by: str) -> dict[str, str]:
    """Return the name of the group by workload: its model, optimizer or collection, or that of the rest."""
    names = {}
    for name in {row["workload"] for row in rows}:
        workload = Workload.parse(name)
        names[name] = name_of_part(colour_by, getattr(workload, colour_by), workload.collection)
    counts = Counter(names[row["workload"]] for row in rows if row["is_best"])
    named = sorted(counts, key=lambda name: (-counts[name], name))
    kept = named if len(named) <= _MOST_NAMED else named[: _MOST_NAMED - 1]
    return {workload: name if name in kept else _OTHERS for workload, name in names.items()}


def _values(rows: list[ChartRow]) -> Floats:
    return np.array([row["value"] for row in rows], np.float64)


def _in_words(rows: list[ChartRow], noun: str) -> list[str]:
    front = sorted((row for row in rows if row["is_on_front"]), key=lambda row: float(row["amount"]))
    if not front:
        return []
    last = front[-1]
    at_size = f" at batch size {last['batch_size']:,}" if last["batch_size"] else ""
    best = f"{last['value']:.6g} after {amount(last['amount'])} {noun}: trial {last['trial_id']} of {last['workload']}"
    return [f"The best of {sum(row['is_best'] for row in rows):,} trials is {best}{at_size}."]
