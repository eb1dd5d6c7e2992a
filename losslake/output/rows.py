"""The declaration of the rows of answers: models for their columns.

Models are never instantiated, since rows are Arrow columns.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from losslake.output.documented import Documented


def unit(of_measure: str) -> dict[str, Any]:
    """Return the unit of measure as an extension of a JSON schema."""
    return {"x-unit": of_measure}


def shown(example: object, of_measure: str = "", **constraints: Any) -> Any:
    """Return field information with an example, a unit of measure and constraints, for `Annotated`."""
    return Field(examples=[example], json_schema_extra=unit(of_measure) if of_measure else None, **constraints)


class Row(Documented):
    """A row of an answer, with a column for each field; the field's docstring describes it.

    A field without a docstring has that of the model of shared columns that `row_shape` takes.
    """


class KnownGoal(BaseModel):
    """A goal in a row of a workload."""

    metric: str
    target: float
    source: str
