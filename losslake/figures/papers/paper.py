"""A paper as its data file describes it: figures, their panels, and the curves in these.

A data file makes choices for a figure, for a panel or for a single series; what is nearer wins.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from losslake.questions.errors import UnknownName, near_names
from losslake_schema.names import Workload
from losslake_schema.tables import STATUSES

Kind = Literal["steps-to-result", "best-value", "effective-learning-rate", "learning-rate-momentum"]
NO_LINE = "none"
_ENDING = ".toml"


def _power(value: object) -> object:
    """Return a limit of an axis; `2^-0.5` is a power."""
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
        """Return the same, with what is said nowhere here as the outer one says it."""
        missing = [name for name in Choices.model_fields if getattr(self, name) is None]
        return self.model_copy(update={name: getattr(outer, name) for name in missing})


@dataclass(frozen=True)
class Curve:
    """One series of a panel, with every choice made: the trials of one workload, seen in one way.

    goal: None for best values. batch_sizes: only these; None for all. trials: of each study the first so many.
    step_budget, example_budget: inclusive, as the paper has them, whole numbers or not. split: name and value of the
    metaparameter that its trials have, and the value of trials without it. has_perfect_scaling: a line begins here.
    """

    label: str
    workload: Workload
    metric: str
    direction: str | None
    goal: float | None
    trials: int | None
    statuses: tuple[str, ...]
    batch_sizes: tuple[int, ...] | None
    step_budget: float | None
    example_budget: float | None
    needs_train_steps: bool
    split: tuple[str, float, float | None] | None
    has_perfect_scaling: bool


@dataclass(frozen=True)
class Panel:
    """One plot of a figure. choices: that hold for all of its curves."""

    title: str
    kind: Kind
    curves: tuple[Curve, ...]
    choices: Choices


@dataclass(frozen=True)
class Figure:
    """A figure: its panels, in rows of so many columns."""

    number: str
    title: str
    columns: int
    panels: tuple[Panel, ...]


class _Panel(Choices):
    title: str
    series: tuple[Choices, ...] = (Choices(),)


class _Figure(Choices):
    number: str
    title: str
    columns: int
    panel: tuple[_Panel, ...] = Field(min_length=1)


class Paper(BaseModel):
    """A paper; collection: where a lake has its data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    authors: str
    published: str
    url: str
    collection: str
    chosen: tuple[_Figure, ...] = Field(alias="figure")

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures with every choice made; raises ValueError where one is missing."""
        return tuple(
            Figure(one.number, one.title, one.columns, tuple(_panel(self.collection, one, each) for each in one.panel))
            for one in self.chosen
        )

    def figure(self, number: str) -> Figure:
        """Return the figure of that number; raises UnknownName."""
        known = {figure.number: figure for figure in self.figures}
        if number not in known:
            raise UnknownName("figure", number, near_names(number, known) or list(known), f"paper {self.name}")
        return known[number]


def papers() -> list[str]:
    """Return the names of the papers that can be drawn."""
    files = resources.files("losslake.figures.papers").iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


@cache
def paper(name: str) -> Paper:
    """Return the paper of that name; raises UnknownName."""
    if name not in papers():
        raise UnknownName("paper", name, near_names(name, papers()), "this service")
    return read_paper(resources.files("losslake.figures.papers").joinpath(f"{name}{_ENDING}").read_text("utf-8"))


def read_paper(text: str) -> Paper:
    """Return the paper that a data file describes; raises ValueError."""
    found = Paper.model_validate(tomllib.loads(text))
    found.figures  # noqa: B018  # a data file that lacks a choice is refused here
    return found


def _panel(collection: str, figure: _Figure, panel: _Panel) -> Panel:
    chosen = panel.over(figure)
    where = f"figure {figure.number}, panel '{panel.title}'"
    curves = tuple(curve for series in panel.series for curve in _curves(collection, series.over(chosen), where))
    line = chosen.perfect_scaling
    if line not in (None, NO_LINE, *(curve.label for curve in curves)):
        raise ValueError(f"{where}: perfect_scaling = '{line}' is the label of none of its series")
    return Panel(panel.title, _required(chosen, "kind", where), curves, chosen)


def _curves(collection: str, chosen: Choices, where: str) -> Iterator[Curve]:
    """Yield the curves that one series stands for: one for each goal, budget or value that it lists."""
    workload = Workload.parse(f"{collection}/{_required(chosen, 'workload', where)}")
    has_goal = chosen.kind != "best-value"
    goals = chosen.goals or (_required(chosen, "goal", where) if has_goal else chosen.goal,)
    for goal, thousand_steps, epochs, value in product(
        goals, chosen.thousand_steps or (None,), chosen.epochs or (None,), chosen.split_values or (None,)
    ):
        steps = None if thousand_steps is None else 1000 * thousand_steps
        own = {"goal": goal, "thousand_steps": thousand_steps, "steps": steps, "epochs": epochs, "value": value}
        label = (chosen.label or "").format(**own)
        yield Curve(
            label=label,
            workload=workload,
            metric=_required(chosen, "metric", where),
            direction=chosen.direction,
            goal=goal if has_goal else None,
            trials=chosen.trials,
            statuses=chosen.statuses or STATUSES[:1],
            batch_sizes=None if chosen.batch_size is None else (chosen.batch_size,),
            step_budget=steps,
            example_budget=None if epochs is None else epochs * _required(chosen, "training_set", where),
            needs_train_steps=bool(chosen.needs_train_steps),
            split=None if value is None else (_required(chosen, "split_by", where), value, chosen.split_default),
            has_perfect_scaling=chosen.perfect_scaling in (None, label),
        )


def _required(chosen: Choices, name: str, where: str) -> Any:
    """Return the choice of that name; raises ValueError where a data file lacks it."""
    value = getattr(chosen, name)
    if value is None:
        raise ValueError(f"{where} lacks '{name}': add it there, or to its figure")
    return value
