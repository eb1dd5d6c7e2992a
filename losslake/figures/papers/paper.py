"""A paper as described by its data file: its figures, their panels, and the curves of the panels.

A data file makes choices for a figure, a panel or a single series; the most specific choice wins.
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

from losslake.questions.release.errors import UnknownName, near_names
from losslake_schema.names import Workload
from losslake_schema.package_files import read_text
from losslake_schema.statuses import COMPLETE, Status

Kind = Literal["steps-to-result", "best-value", "effective-learning-rate", "learning-rate-momentum"]
NO_LINE = "none"
_ENDING = ".toml"


def _power(value: object) -> object:
    """Return a limit of an axis from a number or a power such as `2^-0.5`."""
    if isinstance(value, str):
        base, mark, exponent = value.partition("^")
        return float(base) ** float(exponent) if mark else float(base)
    return value


Limit = Annotated[float, BeforeValidator(_power)]
Limits = tuple[Limit, Limit]


class Choices(BaseModel):
    """The choices for a figure, a panel or a series; None where no choice is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Kind | None = None
    label: str | None = None
    """Label of the series in the legend, a template with {goal}, {steps}, {thousand_steps}, {epochs} and {value}."""
    workload: str | None = None
    """The workload without the paper's collection: mnist/simple_cnn_base/sgd."""
    metric: str | None = None
    direction: Literal["minimize", "maximize"] | None = None
    goal: float | None = None
    goals: tuple[float, ...] | None = None
    """Several goals, a series for each."""
    trials: int | None = None
    """Number of trials of each study to use, the first ones of these statuses; default: all."""
    statuses: tuple[Status, ...] | None = None
    """The statuses of trials that count; default: COMPLETE."""
    batch_size: int | None = None
    """The only batch size to draw; default: all."""
    thousand_steps: tuple[float, ...] | None = None
    """Budgets in thousands of steps, inclusive, a series for each."""
    epochs: tuple[float, ...] | None = None
    """Budgets in epochs of the training set, inclusive, a series for each."""
    training_set: int | None = None
    """Number of examples in the training set."""
    needs_train_steps: bool | None = None
    """Leave out studies whose train_steps are below the budget."""
    split_by: str | None = None
    """The metaparameter whose value assigns trials to series, after the trials have been selected."""
    split_values: tuple[float, ...] | None = None
    """Values of that metaparameter, a series for each."""
    split_default: float | None = None
    """The value of trials without that metaparameter."""
    perfect_scaling: str | None = None
    """The label of the series at which the line of perfect scaling starts, or none; default: one line per series."""
    normalize_to: int | None = None
    """The batch size at which each series is normalized to 1."""
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    y_title: str | None = None

    def over(self, outer: Choices) -> Self:
        """Return these choices, completed by the outer ones."""
        missing = [name for name in Choices.model_fields if getattr(self, name) is None]
        return self.model_copy(update={name: getattr(outer, name) for name in missing})


@dataclass(frozen=True)
class Curve:
    """One series of a panel with all choices made: the trials of one workload, analysed in one way.

    goal: None for best values. batch_sizes: None for all. trials: number of the first trials of each study; None: all.
    step_budget, example_budget: inclusive, as in the paper, possibly fractional. split: name and value of the
    metaparameter of its trials, and the value of trials without it. has_perfect_scaling: a line starts here.
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
    """One plot of a figure. choices: those that apply to all of its curves."""

    title: str
    kind: Kind
    curves: tuple[Curve, ...]
    choices: Choices


@dataclass(frozen=True)
class Figure:
    """A figure: its panels, in a grid with this number of columns."""

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
    """A paper. collection: the one with its data in a lake."""

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
        """The figures with all choices made; raises ValueError if one is missing."""
        return tuple(
            Figure(one.number, one.title, one.columns, tuple(_panel(self.collection, one, each) for each in one.panel))
            for one in self.chosen
        )

    def figure(self, number: str) -> Figure:
        """Return the figure with a number; raises UnknownName."""
        figures = {figure.number: figure for figure in self.figures}
        if number not in figures:
            raise UnknownName("figure", number, near_names(number, figures) or list(figures), f"paper {self.name}")
        return figures[number]


def papers() -> list[str]:
    """Return the names of the papers that can be drawn."""
    files = resources.files("losslake.figures.papers").iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


@cache
def paper(name: str) -> Paper:
    """Return the paper with a name; raises UnknownName."""
    if name not in papers():
        raise UnknownName("paper", name, near_names(name, papers()), "this service")
    return read_paper(read_text("losslake.figures.papers", f"{name}{_ENDING}"))


def read_paper(text: str) -> Paper:
    """Return the paper that a data file describes; raises ValueError."""
    parsed = Paper.model_validate(tomllib.loads(text))
    parsed.figures  # noqa: B018  # raises ValueError for a data file that lacks a choice
    return parsed


def _panel(collection: str, figure: _Figure, panel: _Panel) -> Panel:
    chosen = panel.over(figure)
    where = f"figure {figure.number}, panel '{panel.title}'"
    curves = tuple(curve for series in panel.series for curve in _curves(collection, series.over(chosen), where))
    line = chosen.perfect_scaling
    if line not in (None, NO_LINE, *(curve.label for curve in curves)):
        raise ValueError(f"{where}: perfect_scaling = '{line}' is not the label of any of its series")
    return Panel(panel.title, _required(chosen, "kind", where), curves, chosen)


def _curves(collection: str, chosen: Choices, where: str) -> Iterator[Curve]:
    """Yield the curves of one series: one for each goal, budget or value that it lists."""
    workload = Workload.parse(f"{collection}/{_required(chosen, 'workload', where)}")
    has_goal = chosen.kind != "best-value"
    goals = chosen.goals or (_required(chosen, "goal", where) if has_goal else chosen.goal,)
    for goal, thousand_steps, epochs, value in product(
        goals, chosen.thousand_steps or (None,), chosen.epochs or (None,), chosen.split_values or (None,)
    ):
        steps = None if thousand_steps is None else 1000 * thousand_steps
        fields = {"goal": goal, "thousand_steps": thousand_steps, "steps": steps, "epochs": epochs, "value": value}
        label = (chosen.label or "").format(**fields)
        yield Curve(
            label=label,
            workload=workload,
            metric=_required(chosen, "metric", where),
            direction=chosen.direction,
            goal=goal if has_goal else None,
            trials=chosen.trials,
            statuses=chosen.statuses or (COMPLETE,),
            batch_sizes=None if chosen.batch_size is None else (chosen.batch_size,),
            step_budget=steps,
            example_budget=None if epochs is None else epochs * _required(chosen, "training_set", where),
            needs_train_steps=bool(chosen.needs_train_steps),
            split=None if value is None else (_required(chosen, "split_by", where), value, chosen.split_default),
            has_perfect_scaling=chosen.perfect_scaling in (None, label),
        )


def _required(chosen: Choices, name: str, where: str) -> Any:
    """Return a choice by name; raises ValueError if the data file lacks it."""
    value = getattr(chosen, name)
    if value is None:
        raise ValueError(f"{where} has no '{name}': add it there, or to its figure")
    return value
