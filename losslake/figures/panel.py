"""What every chart takes: the series that it draws, and the frame that they are drawn in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import pyarrow as pa

Limits = tuple[float, float]
LegendPlace = Literal["bottom", "right", "top-left", "top-right", "bottom-left", "bottom-right", "none"]


@dataclass(frozen=True, eq=False)
class Series:
    """Rows that are drawn alike.

    label: in the legend. rows: with the columns that the chart names. workload: that they are of, for links.
    """

    label: str
    rows: pa.Table
    workload: str = ""


@dataclass(frozen=True)
class Panel:
    """The frame of a chart.

    width, height: of the plot in px, without axes. x_limits, y_limits: default: what the data need.
    x_title, y_title: default: what the chart says. legend: where, if there are several series.
    """

    title: str = ""
    subtitle: str = ""
    width: int = 320
    height: int = 240
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    x_title: str | None = None
    y_title: str | None = None
    legend: LegendPlace = "bottom"


def rows_of(series: Sequence[Series], columns: Collection[str]) -> Iterator[dict[str, Any]]:
    """All rows, their series' label under `series`; without nulls, NaN and infinities, which JSON has no word for.

    columns: those that are drawn; rows may lack some of them.
    """
    for one in series:
        named = [name for name in one.rows.column_names if name in columns]
        for row in one.rows.select(named).to_pylist():
            yield {"series": one.label} | {name: value for name, value in row.items() if is_drawn(value)}


def is_drawn(value: object) -> bool:
    """Whether a value can be in a specification."""
    return value is not None and not (isinstance(value, float) and not isfinite(value))
