"""The parameters of a paper's figure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from losslake.questions.parameters import Natural, ReleaseParameters, unit
from losslake_service.routes.figures.parameters import ThemeParameters


class PaperFigureParameters(ThemeParameters, ReleaseParameters):
    """From which data a figure of a paper is drawn."""

    trials: Annotated[Natural | None, Field(ge=1, examples=[50], json_schema_extra=unit("trials"))] = None
    """Of each study take the first so many trials by trial_id; default: as many as the paper takes of it."""
    scale: Annotated[
        float, Field(ge=0.5, le=3, allow_inf_nan=False, examples=[2], json_schema_extra=unit("pixels per px"))
    ] = 2
    """Of a PNG only: how many pixels are drawn for each px."""
