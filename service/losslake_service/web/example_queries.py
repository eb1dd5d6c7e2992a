"""For each path a question that this release can answer, by what OpenAPI says of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from losslake.figures.kinds import KINDS
from losslake_service.examples import Example

Query = Sequence[tuple[str, str]]
_TELLING: Mapping[str, tuple[str, ...]] = {
    "/v1/curves": ("trial", "metric"),
    "/v1/best": ("workload", "metric", "step_budget"),
    "/v1/targets": ("workload", "metric", "target_min", "target_max", "n_targets"),
    "/v1/analysis/profiles": ("workload", "metric", "target", "by"),
    "/v1/figures/curves.{ending}": ("trial", "metric"),
    "/v1/figures/profile.{ending}": ("workload", "metric", "target"),
    "/v1/workloads": ("dataset",),
    "/v1/studies": ("workload",),
    "/v1/trials": ("workload", "batch_size"),
    "/v1/goals": ("workload",),
    "/v1/analysis/rcp": ("workload", "submission", "metric", "target"),
    "/v1/sql": ("q", "parameters"),
}
"""Parameters that make a good example where the required ones alone don't."""
_COMPARING = ("/v1/analysis/compare", "/v1/analysis/profiles")
_OF_SEVERAL = {*_COMPARING, *(f"/v1/figures/{kind.name}.{{ending}}" for kind in KINDS if kind.answer in _COMPARING)}
"""Paths that say nothing of a workload alone."""


def example_query(path: str, operation: Mapping[str, Any], example: Example | None) -> Query:
    """The parameters of an example: of this release where it has one, else OpenAPI's own."""
    parameters = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == "query"}
    names = _TELLING.get(path) or tuple(name for name, each in parameters.items() if each.get("required"))
    values = example.values() if example is not None else {}
    asked = [(name, values.get(name) or documented_example(parameters[name])) for name in names if name in parameters]
    if path in _OF_SEVERAL and example is not None and example.other is not None:
        asked.insert([name for name, _ in asked].index("workload") + 1, ("workload", str(example.other)))
    return asked


def example_path(path: str, operation: Mapping[str, Any], release: int, example: Example | None) -> str | None:
    """The path with its own parameters filled in; None where the release has nothing at such a path."""
    values = {"release": str(release), "n": str(release)}
    if "{paper}" in path:
        if example is None or not example.paper:
            return None
        # The first figure, which every paper has.
        values |= {"paper": example.paper, "figure": "1"}
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            text = values.get(parameter["name"]) or documented_example(parameter)
            path = path.replace("{" + parameter["name"] + "}", text)
            path = path.replace("{" + parameter["name"] + ":path}", text)
    return path


def documented_example(parameter: Mapping[str, Any]) -> str:
    """OpenAPI's example of a parameter as it stands in a URL, of a list its first; empty without any."""
    for place in (parameter, parameter["schema"]):
        for example in (place.get("example"), *_listed(place.get("examples"))):
            if isinstance(example, dict):
                return "&".join(f"{name}={value}" for name, value in example.items())
            if example is not None:
                return str(example[0]) if isinstance(example, list) and example else str(example)
    return ""


def _listed(examples: Any) -> list[Any]:
    """A schema's examples; a parameter's own are an object of objects."""
    if isinstance(examples, dict):
        return [each.get("value") for each in examples.values()]
    return list(examples or ())
