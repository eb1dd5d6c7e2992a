"""The parameters of figures: those of the answer that is drawn, and how large it is drawn."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from losslake.figures.theme import Theme
from losslake.questions.parameters import FormatParameters, Natural, unit

_PX = unit("px")
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _in_a_line(title: str | None) -> str | None:
    """A heading as SVG can hold it."""
    if title is not None and _NOT_IN_XML.search(title):
        raise ValueError("give a line of text without control characters")
    return title


class ThemeParameters(BaseModel):
    """What a figure is drawn on."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    theme: Annotated[Theme, Field(examples=["dark"])] = "light"
    """The ground: light is white, dark is nearly black, with lighter colours."""


class FrameParameters(ThemeParameters):
    """How large a figure is, and its heading."""

    title: Annotated[
        str | None,
        Field(max_length=200, examples=["Momentum extends perfect scaling"]),
        AfterValidator(_in_a_line),
    ] = None
    """The figure's heading; default: what it shows, in words. Of several plots it is the first line of the caption."""
    width: Annotated[Natural, Field(ge=240, le=1600, examples=[480], json_schema_extra=_PX)] = 480
    """The figure's width, axes and caption included."""
    height: Annotated[Natural, Field(ge=200, le=1200, examples=[400], json_schema_extra=_PX)] = 400
    """About the figure's height, heading and caption included; a long caption or legend makes it higher."""
    scale: Annotated[
        float, Field(ge=0.5, le=4, allow_inf_nan=False, examples=[2], json_schema_extra=unit("pixels per px"))
    ] = 2
    """Of a PNG only: how many pixels are drawn for each px of width and height."""


@cache
def figure_parameters(answer: type[FormatParameters], own: type[BaseModel] | None = None) -> type[FormatParameters]:
    """The parameters of an answer's path with those of the frame; `format` is left to the ending of the path.

    own: those of a single kind of figure.
    """
    bases: tuple[Any, ...] = (FrameParameters, answer) if own is None else (FrameParameters, own, answer)
    found: type[FormatParameters] = create_model(f"{answer.__name__}OfFigure", __base__=bases)
    return found
