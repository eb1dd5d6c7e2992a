"""Example requests that a release can answer: for the pages, the output of `serve`, and each path of OpenAPI."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

from losslake.figures.charts import kinds
from losslake.figures.papers.listing import has_collection
from losslake.figures.papers.paper import paper, papers
from losslake.questions import best, scaling
from losslake.questions.declaration.parameters import SelectionParameters
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from losslake_schema.registry import metric_named
from losslake_service.web.per_release import once_per_release
from losslake_service.web.templates import Query, with_query


@dataclass(frozen=True)
class Example:
    """A goal of a workload, and a trial that reaches it.

    paper: one whose collection is in the release; empty if there is none. other: the most similar workload that
    measures the same metric; None if there is none.
    """

    workload: Workload
    metric: str
    target: float
    batch_size: int
    trial_id: int
    steps: int
    paper: str = ""
    other: Workload | None = None

    def columns(self) -> dict[str, str | float]:
        """Return its values by the names of columns."""
        trial = {"batch_size": self.batch_size, "trial_id": self.trial_id}
        return {**asdict(self.workload), **trial, "metric": self.metric, "target": self.target}

    def values(self) -> dict[str, str]:
        """Return its values by the names of parameters."""
        return {
            "workload": str(self.workload),
            "submission": str(self.other or self.workload),
            **asdict(self.workload),
            "batch_size": str(self.batch_size),
            "study": f"{self.workload}/{self.batch_size}",
            "trial": f"{self.workload}/{self.batch_size}/{self.trial_id}",
            "metric": self.metric,
            "target": repr(self.target),
            "target_min": repr(self.target),
            "target_max": repr(min(self.target + abs(self.target), metric_named(self.metric).largest)),
            "n_targets": "5",
            "step_budget": str(self.steps),
        }

    def of_sql(self) -> dict[str, str]:
        """Return a statement and its parameters."""
        statement = "SELECT batch_size, steps FROM result_at($metric, $target) ORDER BY ALL"
        return {"q": statement, "parameters": json.dumps({"metric": self.metric, "target": self.target})}


@once_per_release
def find_example(view: ReleaseView) -> Example | None:
    """Return the first goal that any trial reaches; None without data."""
    for workload, metric, target in _candidates(view):
        parameters = scaling.ScalingParameters(workload=[str(workload)], metric=metric, target=target)
        for row in scaling.QUESTION.answer(view, parameters).table().to_pylist():
            if row["trial_id"] is not None and row["batch_size"]:
                drawable = next((name for name in papers() if has_collection(view, paper(name))), "")
                other = _most_similar(view, workload, metric)
                trial = row["batch_size"], row["trial_id"], row["steps"]
                return Example(workload, metric, target, *trial, drawable, other)
    return None


def example_paths(view: ReleaseView) -> list[str]:
    """Return three example paths: scaling, a curve and the workloads; without data, three lists."""
    example = find_example(view)
    if example is None:
        return ["/v1/workloads", "/v1/studies", "/v1/releases"]
    values = example.values()
    parameters = {
        "/v1/scaling": ("workload", "metric", "target"),
        "/v1/curves": ("trial", "metric"),
        "/v1/workloads": (),
    }
    return [with_query(path, [(name, values[name]) for name in names]) for path, names in parameters.items()]


def _most_similar(view: ReleaseView, workload: Workload, metric: str) -> Workload | None:
    """Return the other workload that measures the metric with the most similar name; None if there is none."""
    parts = astuple(workload)
    return max(
        (each.workload for each in view.workloads.values() if metric in each.measured and each.workload != workload),
        key=lambda other: [mine == its for mine, its in zip(parts, astuple(other), strict=True)],
        default=None,
    )


def _candidates(view: ReleaseView) -> Iterator[tuple[Workload, str, float]]:
    """Yield the goals that are measured, then targets that workloads come close to."""
    for goal in view.goals:
        if goal.metric in view.workloads[goal.workload].measured and view.metrics[goal.metric].direction:
            yield goal.workload, goal.metric, goal.target
    for facts in view.workloads.values():
        metric = next((name for name in reversed(facts.measured) if view.metrics[name].direction), None)
        if metric is not None:
            yield from ((facts.workload, metric, target) for target in _targets(view, facts.workload, metric))


def _targets(view: ReleaseView, workload: Workload, metric: str) -> list[float]:
    """Return the best value at the worst batch size, then the next number, which every batch size reaches."""
    rows = best.QUESTION.answer(view, SelectionParameters(workload=[str(workload)], metric=metric)).table()
    values = sorted(value for value in rows["best_value"].to_pylist() if value is not None)
    if not values:
        return []
    is_minimized = view.metrics[metric].direction == "minimize"
    worst, easier = (values[-1], math.inf) if is_minimized else (values[0], -math.inf)
    return [worst, math.nextafter(worst, easier)]


# Parameters of examples, by path, if the required ones are not enough.
_EXAMPLE_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "/v1/curves": ("trial", "metric"),
    "/v1/best": ("workload", "metric", "step_budget"),
    "/v1/targets": ("workload", "metric", "target_min", "target_max", "n_targets"),
    "/v1/analysis/advice": ("workload", "metric", "target", "step_time"),
    "/v1/analysis/profiles": ("workload", "metric", "target", "by"),
    "/v1/figures/advice.{ending}": ("workload", "metric", "target", "step_time"),
    "/v1/figures/curves.{ending}": ("trial", "metric"),
    "/v1/figures/profile.{ending}": ("workload", "metric", "target"),
    "/v1/workloads": ("dataset",),
    "/v1/studies": ("workload",),
    "/v1/trials": ("workload", "batch_size"),
    "/v1/goals": ("workload",),
    "/v1/analysis/rcp": ("workload", "submission", "metric", "target"),
    "/v1/sql": ("q", "parameters"),
}
_COMPARISONS = ("/v1/analysis/compare", "/v1/analysis/profiles")
# Paths that need more than one workload.
_NEED_SEVERAL = {
    *_COMPARISONS,
    *(f"/v1/figures/{kind.name}.{{ending}}" for kind in kinds() if kind.answer in _COMPARISONS),
}


def example_query(path: str, operation: Mapping[str, Any], example: Example | None) -> Query:
    """Return the parameters of an example request: values of this release, else OpenAPI's examples."""
    parameters = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == "query"}
    names = _EXAMPLE_PARAMETERS.get(path) or tuple(
        # A goal is said although it has a default: an example for a workload without goals needs it.
        name
        for name, each in parameters.items()
        if each.get("required") or name in ("metric", "target")
    )
    values = {} if example is None else example.of_sql() if path == "/v1/sql" else example.values()
    query = [(name, values.get(name) or documented_example(parameters[name])) for name in names if name in parameters]
    if path in _NEED_SEVERAL and example is not None and example.other is not None:
        query.insert([name for name, _ in query].index("workload") + 1, ("workload", str(example.other)))
    return query


def example_path(path: str, operation: Mapping[str, Any], release: int, example: Example | None) -> str | None:
    """Return the path with its parameters filled in; None if the release has nothing at such a path."""
    values = {"release": str(release), "n": str(release)}
    if "{paper}" in path:
        if example is None or not example.paper:
            return None
        # Every paper has figure 1.
        values |= {"paper": example.paper, "figure": "1"}
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            text = values.get(parameter["name"]) or documented_example(parameter)
            path = path.replace("{" + parameter["name"] + "}", text)
            path = path.replace("{" + parameter["name"] + ":path}", text)
    return path


def documented_example(parameter: Mapping[str, Any]) -> str:
    """Return OpenAPI's example of a parameter as text in a URL, the first item of a list; empty without one."""
    for place in (parameter, parameter["schema"]):
        listed = place.get("examples") or ()
        # A schema has a list of examples, a parameter itself an object of objects.
        several = [each.get("value") for each in listed.values()] if isinstance(listed, dict) else listed
        for example in (place.get("example"), *several):
            if isinstance(example, dict):
                return "&".join(f"{name}={value}" for name, value in example.items())
            if example is not None:
                return str(example[0]) if isinstance(example, list) and example else str(example)
    return ""
