"""The query of a reader of the dashboard, and the runs that it selects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from losslake_contributions.dashboard.runs import LiveRun
from losslake_ingest.contracts.run_log import Scalar

Axis = Literal["step", "examples", "tokens", "seconds"]
_LOSSES = ("loss", "error", "perplexity", "entropy")
SETTINGS = "settings"
"""Groups runs with the same parameters, whatever their seeds."""


class DashboardQuery(BaseModel):
    """The query of the dashboard; other parameters are ignored."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    metric: str = ""
    """The metric; default: one that most runs measure."""
    axis: Axis = "step"
    """Axis of the chart: step, examples, tokens or seconds."""
    q: Annotated[str, Field(max_length=1000)] = ""
    """Only runs with these words; name=value compares a parameter, tag, group, state, name or workload."""
    group: Annotated[str, Field(max_length=200)] = ""
    """Groups with a mean: settings (all parameters but seeds), group, or a parameter; default: none."""
    stored: Literal["near", "none"] = "near"
    """The stored curves behind those of the runs: of the nearest workload, or none."""
    sort: Literal["name", "best"] = "name"
    """The order of the table."""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """The page of the table."""
    log: Annotated[str, Field(max_length=2)] = ""
    """The logarithmic axes of the chart, as in the viewer of curves; only the script reads it."""
    x: Annotated[str, Field(max_length=100)] = ""
    """The range of the axis that is shown; only the script reads it."""
    y: Annotated[str, Field(max_length=100)] = ""
    """The range of values that is shown; only the script reads it."""
    smooth: Annotated[str, Field(max_length=20)] = ""
    """The weight of earlier values in the moving average; only the script reads it."""
    colour: Annotated[str, Field(max_length=200)] = ""
    """The fact that colours show; only the script reads it."""
    selected: Annotated[str, Field(max_length=4096)] = ""
    """The path of the run that is drawn in front; only the script reads it."""
    since: Annotated[int, Field(ge=0)] = 0
    """The version that the script has, so that only later changes are sent."""


def matching(runs: Iterable[LiveRun], text: str) -> list[LiveRun]:
    """Return the runs that all words of a text are about."""
    words = [word.casefold() for word in text.split()]
    return [run for run in runs if all(_fits(run, word) for word in words)]


def _fits(run: LiveRun, word: str) -> bool:
    name, equals, value = word.partition("=")
    if not (equals and name):
        texts = (run.path, run.name, run.group, run.workload or "", run.state, *run.tags)
        return any(word in text.casefold() for text in texts)
    facts = {key.casefold(): each for key, each in facts_of(run).items()}
    return _equals(facts.get(name), value) or (name == "tag" and any(_equals(tag, value) for tag in run.tags))


def facts_of(run: LiveRun) -> dict[str, Scalar]:
    """Return what a run can be told apart by: parameters, and what it is."""
    facts: dict[str, Scalar | None] = {
        "name": run.name,
        "group": run.group,
        "state": run.state,
        "status": run.status,
        "workload": run.workload,
        "batch_size": run.batch_size,
        **run.parameters,
    }
    return {name: value for name, value in facts.items() if value is not None and value != ""}


def _equals(fact: Scalar | None, value: str) -> bool:
    """Compare a fact with a text without capitals: numbers as numbers."""
    if fact is None:
        return False
    if isinstance(fact, (int, float)) and not isinstance(fact, bool):
        try:
            return float(fact) == float(value)
        except ValueError:
            return False
    return str(fact).casefold() == value


def varying(runs: Sequence[LiveRun]) -> list[str]:
    """Return the names of the facts in which some runs differ, parameters first."""
    facts = [{"batch_size": run.batch_size, **run.parameters} for run in runs]
    names = dict.fromkeys(name for each in facts for name in each)
    return [name for name in names if len({repr(each.get(name)) for each in facts}) > 1]


def is_seed(name: str) -> bool:
    """Return True if a parameter is a seed by its name, by the rule of trial_settings.sql."""
    return "seed" in name.casefold()


def metrics_of(runs: Iterable[LiveRun]) -> list[str]:
    """Return the metrics of some runs: those that most of them measure first, then by name."""
    counts = Counter(name for run in runs for name in run.series)
    return sorted(counts, key=lambda name: (-counts[name], name))


def default_metric(names: Sequence[str]) -> str | None:
    """Return the metric to begin with: a loss of validation if there is one. names: as of `metrics_of`."""
    for words in (_LOSSES, ("",)):
        for split in ("val", "test", ""):
            for name in names:
                if name.startswith(split) and any(word in name for word in words):
                    return name
    return None


def per_step(run: LiveRun, axis: Axis) -> float | None:
    """Return how much of an axis a step is; None if the run doesn't say so, and for seconds."""
    if axis == "step":
        return 1.0
    if run.batch_size is None or axis == "seconds":
        return None
    in_tokens = run.batch_unit == "tokens"
    if in_tokens == (axis == "tokens"):
        return float(run.batch_size)
    length = run.parameters.get("tokens_per_example")
    if not isinstance(length, int | float) or not length > 0:
        return None
    return run.batch_size / length if in_tokens else run.batch_size * float(length)
