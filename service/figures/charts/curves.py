"""Curves: values of a metric against steps, a line for each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from service.figures import theme
from service.figures.axes import decade_limits, linear_limits
from service.figures.channels import COUNT, DECIMAL, Channel, category, told
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import Layer, Plot, Row, layer, layered, words
from service.figures.legend import legend
from service.figures.links import Links, Transform
from service.figures.panel import Panel, Series

Floats = npt.NDArray[np.float64]
_MOST_NAMED = 7
_MOST_POINTED_AT = 400
_ROOM_FOR_OUTLIERS = 3.0
_OF_A_LINE = ("trial_id", "batch_size", "status", "workload")
_FLAT = {"flatten": ["step", "value"]}


@dataclass(frozen=True)
class Look:
    """How the lines of a series are drawn. dash: px of line and gap by turns."""

    colour: str
    dash: tuple[int, ...] = theme.DASHES[0]


def curves_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    y_title: str = "Value",
    is_log: bool = False,
    is_ordered: bool = False,
    looks: Mapping[str, Look] | None = None,
    target: float | None = None,
    links: Links | None = None,
) -> Plot:
    """A line for each trial of each series, coloured by series.

    series: rows with step, value and line, which tells one line from another: its rows follow each other; for tooltips,
    of each line the same, trial_id, batch_size, status and, where lines are of several, workload.
    is_log: steps on a logarithmic axis, where step 0 has no place. is_ordered: the series have an order, such as batch
    sizes, and colours that show it. looks: by label, in place of colours of the palette. target: a line across.
    links: to the trials.
    Values that are not finite interrupt nothing and are not drawn.
    """
    lines = [line for one in series for line in _lines(one, is_log)]
    steps, values = (np.concatenate([[], *(line[name] for line in lines)]) for name in ("step", "value"))
    x_limits = panel.x_limits or (decade_limits(_ends(steps)) if is_log else linear_limits(_ends(steps), 0.02))
    y_limits = panel.y_limits or linear_limits(_ends(within_reason(values)) + ([] if target is None else [target]))
    x = Scale("step", x_limits, "Steps", base=10 if is_log else None)
    y = Scale("value", y_limits, y_title, base=None)
    labels = [one.label for one in series]
    frame = Frame(panel, x, y, labels, is_ordered)
    marks = frame.place | (frame.colour if looks is None else _looks(looks, labels, panel))
    few = len(lines) <= _MOST_NAMED
    # Each line that is clipped is rendered by itself, which takes ten times as long.
    is_clipped = panel.x_limits is not None or bool(((values < y_limits[0]) | (values > y_limits[1])).any())
    style: dict[str, Any] = {"strokeWidth": 1.6 if few else 1.0, "strokeOpacity": 1 if few else 0.5}
    layers = [layer(lines, "line", marks | {"detail": category("line")}, order=False, clip=is_clipped, **style)]
    if few and len(values) <= _MOST_POINTED_AT:
        layers.append(layer(lines, "point", marks, size=60, opacity=0, clip=is_clipped))
    layers = [_told(each, series, frame, links) for each in layers]
    if target is not None:
        across = layer([{"value": target}], "rule", {"y": frame.y}, strokeDash=[5, 4], color=theme.FAINT)
        layers.append(across)
    if not lines:
        layers.append(words("Nothing was measured.", panel))
    return layered([*layers, *frame.labels()], panel)


def within_reason(values: Floats) -> Floats:
    """The values without outliers, which would press all else together: those of trials that diverge."""
    if not len(values):
        return values
    low, high = np.quantile(values, [0.02, 0.98])
    room = _ROOM_FOR_OUTLIERS * (high - low)
    found: Floats = values[(low - room <= values) & (values <= high + room)]
    return found


def _ends(values: Floats) -> list[float]:
    """The least above 0, the least and the greatest: what limits depend on."""
    above = values[values > 0]
    return [float(each) for own in (above, values) if len(own) for each in (own.min(), own.max())]


def _lines(series: Series, is_log: bool) -> Iterator[Row]:
    """A row for each line, with all of its steps and values: what the line says of itself is written once."""
    rows = series.rows
    step, value = rows["step"].to_numpy(), rows["value"].to_numpy().astype(np.float64)
    kept = np.flatnonzero(np.isfinite(value) & ((step > 0) | (not is_log)))
    if not len(kept):
        return
    step, value = step[kept], value[kept]
    line = rows["line"].to_numpy()[kept]
    starts = np.flatnonzero(np.r_[True, np.diff(line) != 0])
    facts = _facts(rows, kept[starts])
    for start, end, fact in zip(starts.tolist(), [*starts[1:].tolist(), len(line)], facts, strict=True):
        own = {"step": step[start:end].tolist(), "value": value[start:end].tolist()}
        yield {"series": series.label, **fact, **own, "last": own["value"][-1], "until": own["step"][-1]}


def _facts(rows: pa.Table, starts: npt.NDArray[np.int64]) -> list[Row]:
    names = [name for name in ("line", *_OF_A_LINE) if name in rows.column_names]
    found: list[Row] = rows.select(names).take(pa.array(starts)).to_pylist()
    return found


def _looks(looks: Mapping[str, Look], labels: Sequence[str], panel: Panel) -> dict[str, Channel]:
    own, key = [looks[label] for label in labels], legend(labels, panel)
    colour = {"domain": list(labels), "range": [look.colour for look in own]}
    dash = {"domain": list(labels), "range": [list(look.dash) for look in own]}
    return {
        "color": category("series", scale=colour, legend=key),
        "strokeDash": category("series", scale=dash, legend=key),
    }


def _told(found: Layer, series: Sequence[Series], frame: Frame, links: Links | None) -> Layer:
    """A layer of lines, or of their points, with what is said of each: of a line its end, of a point itself."""
    names = [name for name in _OF_A_LINE if all(name in one.rows.column_names for one in series)]
    titles = {"trial_id": told("trial_id", "Trial"), "batch_size": told("batch_size", "Batch size", COUNT)}
    of_line = [titles.get(name) or told(name, name.capitalize()) for name in names]
    if found.mark["type"] == "line":
        of_line += [told("last", "Last value", DECIMAL), told("until", "at step", COUNT)]
    else:
        of_line += [told("value", "Value", DECIMAL), told("step", "at step", COUNT)]
    linked = found.linked(_links(links, series, names) if links and "trial_id" in names else None)
    return replace(
        linked, encoding={**linked.encoding, **frame.tooltip(of_line)}, transforms=[*linked.transforms, _FLAT]
    )


def _links(links: Links, series: Sequence[Series], names: Sequence[str]) -> Transform:
    if "workload" not in names:
        return links.to_trials(series)
    return links.to_trials_of(sorted({name for one in series for name in one.rows["workload"].unique().to_pylist()}))
