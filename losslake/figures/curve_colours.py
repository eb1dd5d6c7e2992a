"""What the colours of curves tell apart: the parameters that only a figure of curves has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

ColourBy = Literal["trial", "study", "status", "outcome"]


class CurveColours(BaseModel):
    """What the colours of curves tell apart."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    colour_by: Annotated[ColourBy | None, Field(examples=["status"])] = None
    """What colours tell apart: trials; studies; the statuses of trials; or outcomes: which trials reached a target, did
    not, stopped or diverged. Default: trial where there are up to 7, else study."""
    target: Annotated[float | None, Field(allow_inf_nan=False, examples=[0.05])] = None
    """Draw a line at this value of the metric, and by it tell what became of each trial, with colour_by=outcome."""
