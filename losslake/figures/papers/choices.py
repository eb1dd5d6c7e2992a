"""What a paper's figure shows, as its data file says it: choices for a figure, a panel, or a single series."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict

from losslake_schema.tables import STATUSES

Kind = Literal["steps-to-result", "best-value", "effective-learning-rate", "learning-rate-momentum"]
NO_LINE = "none"


def _power(value: object) -> object:
    """A limit of an axis; `2^-0.5` is a power."""
    if isinstance(value, str):
        base, mark, exponent = value.partition("^")
        return float(base) ** float(exponent) if mark else float(base)
    return value


Limit = Annotated[float, BeforeValidator(_power)]
Limits = tuple[Limit, Limit]


class Choices(BaseModel):
    """Everything that may be said of a figure, a panel or a series; None where nothing is said there."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Kind | None = None
    label: str | None = None
    """Of the series, in the legend; {goal}, {steps}, {thousand_steps}, {epochs} and {value} stand for its own."""
    workload: str | None = None
    """Below the paper's collection: mnist/simple_cnn_base/sgd."""
    metric: str | None = None
    direction: Literal["minimize", "maximize"] | None = None
    goal: float | None = None
    goals: tuple[float, ...] | None = None
    """A series for each."""
    trials: int | None = None
    """Of each study, the first so many of the statuses; all without it."""
    statuses: tuple[Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"], ...] | None = None
    """COMPLETE without it."""
    batch_size: int | None = None
    """Only this one."""
    thousand_steps: tuple[float, ...] | None = None
    """A series for each budget, inclusive."""
    epochs: tuple[float, ...] | None = None
    """A series for each budget, inclusive: so many times the training set."""
    training_set: int | None = None
    """Examples in it."""
    needs_train_steps: bool | None = None
    """Whether studies whose train_steps are below the budget are left out."""
    split_by: str | None = None
    """A metaparameter: its value tells which series a trial belongs to, after the trials have been chosen."""
    split_values: tuple[float, ...] | None = None
    """A series for each."""
    split_default: float | None = None
    """The value of trials without that metaparameter."""
    perfect_scaling: str | None = None
    """The label of the series that the line of perfect scaling begins at, or none; without it, each has its own."""
    normalize_to: int | None = None
    """The batch size at which each series is 1."""
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    y_title: str | None = None

    def over(self, outer: Choices) -> Self:
        """The same, with what is said nowhere here as the outer one says it."""
        here = {name for name in Choices.model_fields if getattr(self, name) is not None}
        said = {name: getattr(outer, name) for name in Choices.model_fields if name not in here}
        return self.model_copy(update=said)

    @property
    def admitted(self) -> tuple[str, ...]:
        """The statuses of trials."""
        return self.statuses or STATUSES[:1]


def required(value: Any, name: str, where: str) -> Any:
    """The value; raises ValueError where a data file lacks it."""
    if value is None:
        raise ValueError(f"{where} lacks '{name}': add it there, or to its figure")
    return value
