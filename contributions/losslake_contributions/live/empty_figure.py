"""A figure of curves without any: axes over which the script of a live page draws the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import orjson
from pydantic import Field

from losslake.figures.axes import Scale, linear_limits
from losslake.figures.figure import figure
from losslake.figures.frame import Frame
from losslake.figures.layers import layer
from losslake.figures.panel import single_panel
from losslake.figures.requests import FrameParameters
from losslake.figures.theme import in_theme
from losslake_contributions.protocol.limits import LARGEST_STEP
from losslake_contributions.protocol.texts import Name

_LARGEST = 1e300  # so that a margin is finite


class EmptyFigure(FrameParameters):
    """The axes. metric: of the vertical one. last_step: of the horizontal one. least, most: of the values to show."""

    metric: Name
    last_step: Annotated[int, Field(ge=0, le=LARGEST_STEP)] = 1
    least: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)] = 0.0
    most: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)] = 1.0

    def specification(self) -> bytes:
        """Return the figure as a Vega-Lite specification in JSON."""
        panel = replace(single_panel(self.width, self.height, "", "", (), ()), y_title=self.metric)
        x = Scale("step", linear_limits((0, self.last_step), 0.02), "Steps", base=None)
        y = Scale("value", linear_limits((self.least, self.most)), self.metric, base=None)
        frame = Frame(panel, x, y, [""])
        plot = frame.plot([layer([], "line", frame.place)])
        drawn = figure([plot], width=self.width, description=f"{self.metric} of this run by step.")
        heading = f"{self.metric} of this run"
        return orjson.dumps(in_theme(drawn | {"usermeta": {"heading": heading, "notes": []}}, self.theme))
