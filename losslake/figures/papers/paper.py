"""A paper as its data file describes it: figures, their panels, and the curves in these.

What a paper's figure shows, as its data file says it: choices for a figure, a panel, or a single series.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from losslake.questions.errors import UnknownName, near_names
from losslake_schema.names import Workload
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


_ENDING = ".toml"


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
    """One plot of a figure."""

    title: str
    kind: Kind
    curves: tuple[Curve, ...]
    normalize_to: int | None
    x_limits: Limits | None
    y_limits: Limits | None
    y_title: str | None


@dataclass(frozen=True)
class Figure:
    """A figure: its panels, in rows of so many columns."""

    number: str
    title: str
    columns: int
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Paper:
    """A paper; collection: where a lake has its data."""

    name: str
    title: str
    authors: str
    published: str
    url: str
    collection: str
    figures: tuple[Figure, ...]

    def figure(self, number: str) -> Figure:
        """The figure of that number; raises UnknownName."""
        known = {figure.number: figure for figure in self.figures}
        if number not in known:
            raise UnknownName("figure", number, near_names(number, known) or list(known), f"paper {self.name}")
        return known[number]


class _Series(Choices):
    pass


class _Panel(Choices):
    title: str
    series: tuple[_Series, ...] = (_Series(),)


class _Figure(Choices):
    number: str
    title: str
    columns: int
    panel: tuple[_Panel, ...] = Field(min_length=1)


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    authors: str
    published: str
    url: str
    collection: str
    figure: tuple[_Figure, ...]


def papers() -> list[str]:
    """The names of the papers that can be drawn."""
    files = resources.files("losslake.figures.papers").iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


@functools.cache
def paper(name: str) -> Paper:
    """The paper of that name; raises UnknownName."""
    if name not in papers():
        raise UnknownName("paper", name, near_names(name, papers()), "this service")
    return read_paper(resources.files("losslake.figures.papers").joinpath(f"{name}{_ENDING}").read_text("utf-8"))


def read_paper(text: str) -> Paper:
    """The paper that a data file describes; raises ValueError."""
    document = _Document.model_validate(tomllib.loads(text))
    facts = {key: getattr(document, key) for key in ("name", "title", "authors", "published", "url", "collection")}
    figures = tuple(
        Figure(
            figure.number,
            figure.title,
            figure.columns,
            tuple(_panel(document.collection, figure, panel) for panel in figure.panel),
        )
        for figure in document.figure
    )
    return Paper(**facts, figures=figures)


def _panel(collection: str, figure: _Figure, panel: _Panel) -> Panel:
    chosen = panel.over(figure)
    where = f"figure {figure.number}, panel '{panel.title}'"
    curves = tuple(curve for series in panel.series for curve in _curves(collection, series.over(chosen), where))
    line = chosen.perfect_scaling
    if line not in (None, NO_LINE, *(curve.label for curve in curves)):
        raise ValueError(f"{where}: perfect_scaling = '{line}' is the label of none of its series")
    return Panel(
        title=panel.title,
        kind=required(chosen.kind, "kind", where),
        curves=curves,
        normalize_to=chosen.normalize_to,
        x_limits=chosen.x_limits,
        y_limits=chosen.y_limits,
        y_title=chosen.y_title,
    )


def _curves(collection: str, chosen: Choices, where: str) -> Iterator[Curve]:
    """The curves that one series stands for: one for each goal, budget or value that it lists."""
    workload = Workload.parse(f"{collection}/{required(chosen.workload, 'workload', where)}")
    for goal in chosen.goals or (chosen.goal,):
        if chosen.kind != "best-value":
            required(goal, "goal", where)
        for thousand_steps in chosen.thousand_steps or (None,):
            for epochs in chosen.epochs or (None,):
                for value in chosen.split_values or (None,):
                    steps = None if thousand_steps is None else 1000 * thousand_steps
                    own = {"goal": goal, "thousand_steps": thousand_steps, "epochs": epochs, "value": value}
                    label = (chosen.label or "").format(**own, steps=steps)
                    yield Curve(
                        label=label,
                        workload=workload,
                        metric=required(chosen.metric, "metric", where),
                        direction=chosen.direction,
                        goal=goal if chosen.kind != "best-value" else None,
                        trials=chosen.trials,
                        statuses=chosen.admitted,
                        batch_sizes=None if chosen.batch_size is None else (chosen.batch_size,),
                        step_budget=steps,
                        example_budget=None if epochs is None else epochs * _training_set(chosen, where),
                        needs_train_steps=bool(chosen.needs_train_steps),
                        split=_split(chosen, value, where),
                        has_perfect_scaling=chosen.perfect_scaling in (None, label),
                    )


def _training_set(chosen: Choices, where: str) -> int:
    size: int = required(chosen.training_set, "training_set", where)
    return size


def _split(chosen: Choices, value: float | None, where: str) -> tuple[str, float, float | None] | None:
    if value is None:
        return None
    name: Any = required(chosen.split_by, "split_by", where)
    return name, value, chosen.split_default
