"""The documents of a review: what the checks found and what the runs change, or that it isn't there yet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from losslake_contributions.review.changes import DraftChanges
from losslake_contributions.review.checks.report import Report


class Review(BaseModel):
    """The review of a submission, or the check before one.

    base: the release that it is compared with; None for an empty lake.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    submission: str
    base: int | None
    report: Report
    changes: DraftChanges


class PendingReview(BaseModel):
    """A review that is not there yet."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    submission: str
    """The submission."""
    state: Annotated[Literal["waiting", "being_made"], Field(examples=["being_made"])]
    """waiting: for reviews of other submissions, or because those of its contributor took too much time."""
    seconds: Annotated[int, Field(examples=[2], json_schema_extra={"x-unit": "seconds"})]
    """Seconds until it is worth to ask again, as in Retry-After."""
