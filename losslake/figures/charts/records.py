"""The records of modded-nanogpt by date: seconds of the tracks of time, steps of the track of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from losslake.figures.axes import Scale, decade_limits, linear_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind
from losslake.figures.frame import Frame
from losslake.figures.layers import COUNT, Plot, layer, tip
from losslake.figures.panel import ChartRow, Panel
from losslake.questions.records import TRACKS

_TITLES = {"seconds": "Seconds", "steps": "Steps"}
_TOOLTIP = [
    tip("series", "Track"),
    tip("number", "Record"),
    tip("date", "Date"),
    tip("description", "Change"),
    tip("seconds", "Seconds", ",.1f"),
    tip("steps", "Steps", COUNT),
    tip("n_runs", "Runs"),
]
_DAY = "timeFormat(datum.value * 864e5, '%b %Y')"
# Days of an axis per tick: three months are marked every month, two years every half.
_PX_A_TICK = 70


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the seconds of modded-nanogpt's records by date, and the steps of those of its third track.

    A series for each track; a line through the records that took less than all before.
    """
    rows = [row for row in request.rows.to_pylist() if row["number"] is not None and row["holds"]]
    notes = ["Points: records that pass the rule of their track here. Line: those that took less than all before."]
    plots = []
    by_column = {
        column: [row for row in rows if TRACKS[row["track"]].compares == column and row[column] is not None]
        for column in _TITLES
    }
    used = {column: each for column, each in by_column.items() if each} or {"seconds": []}
    for column, each in used.items():
        names = list(dict.fromkeys(_name(row["track"]) for row in each))
        title = f"{_TITLES[column]} to the target: {' and '.join(names).lower()}" if names else "Records"
        panel = request.panel(title, "", names, notes) if len(used) == 1 else replace(request.grid(2), title=title)
        plots.append(records_chart(each, column, panel))
    return ChartPanels(plots, notes)


KIND = Kind("records", "/v1/analysis/records", draw)


def _name(track: str) -> str:
    return TRACKS[track].title.partition(":")[0]  # type: ignore[index]


def records_chart(rows: Sequence[Mapping[str, Any]], column: str, panel: Panel) -> Plot:
    """Return a point for each record by date, linked to its first run. rows: of the answer. column: of the y axis."""
    drawn: list[ChartRow] = [
        {name: row[name] for name in row if row[name] is not None and name not in ("mean", "p_value")}
        | {"series": _name(row["track"]), "day": date.fromisoformat(row["date"]).toordinal() - _EPOCH}
        for row in rows
    ]
    days = [row["day"] for row in drawn]
    x_limits = panel.x_limits or linear_limits(days)
    y_limits = panel.y_limits or (decade_limits if column == "seconds" else linear_limits)(row[column] for row in drawn)
    x, base = Scale("day", x_limits, "Date", base=None), 10 if column == "seconds" else None
    labels = list(dict.fromkeys(row["series"] for row in drawn))
    frame = Frame(panel, x, Scale(column, y_limits, _TITLES[column], base=base), labels)
    frame.x["axis"] |= {"labelExpr": _DAY, "values": _months(x_limits, panel.width)}
    fastest = [row for row in drawn if row["is_fastest"]]
    points = layer(
        drawn,
        "point",
        frame.place | frame.colour | frame.shape | {"tooltip": _TOOLTIP},
        size=28,
        filled=True,
        opacity=1,
    )
    if panel.links and drawn:
        names = {row["workload"]: row["workload"] for row in drawn}
        points = points.linked(panel.links.to("trials", names, by="workload"))
    layers = [layer(fastest, "line", frame.place | frame.colour, strokeWidth=1.6, interpolate="step-after", clip=True)]
    return frame.plot([*layers, points], "" if drawn else "There are no records.")


_EPOCH = date(1970, 1, 1).toordinal()


def _months(limits: tuple[float, float], width: int) -> list[int]:
    """Return the first days of months within limits, a few months apart as the width allows."""
    first, last = (date.fromordinal(int(limit) + _EPOCH) for limit in limits)
    months = range(first.year * 12 + first.month, last.year * 12 + last.month)
    room = max(2, width // _PX_A_TICK)
    stride = next((n for n in (1, 2, 3, 6, 12, 24, 60, 120, 600) if len(months) <= n * room), 1200)
    return [date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH for month in months if month % stride == 0]
