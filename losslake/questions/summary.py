"""What answers say beside their rows: declared by models, whose fields answers give as a mapping."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema

from losslake.analysis.crossings import CrossingRule
from losslake.output.rows import shown
from losslake.questions.parameters import WORKLOAD
from losslake_schema.reached import Comparator

Censoring = Literal["left", "right"]
"""Beyond which end of the batch sizes the true one may lie."""


class Summary(BaseModel):
    """The fields of a JSON answer beside its rows, whose docstrings say what they mean. No object is ever made of it.

    A field that is a list of models has their examples as its example.
    """

    model_config = ConfigDict(use_attribute_docstrings=True, defer_build=True)


class ReleaseSummary(Summary):
    """Of every answer of a release."""

    release: Annotated[int, shown(1)]
    """The release that answered."""


class SelectionSummary(ReleaseSummary):
    """What was selected."""

    workloads: Annotated[list[str], shown([WORKLOAD])]
    """The workloads asked for."""
    metric: Annotated[str, shown("val/classification_error")]
    """The metric asked for: split/quantity."""
    direction: Annotated[str, shown("minimize")]
    """Which way is better, as asked for, else the metric's own."""
    step_budget: Annotated[int | None, shown(1000, "steps")]
    """The step budget asked for, inclusive; null for none."""
    example_budget: Annotated[int | None, shown(100000, "batch_unit of the study")]
    """The example budget asked for, inclusive; null for none."""
    trials: Annotated[int | None, shown(50, "trials")]
    """Of each study only the first so many trials; null for all."""
    status: Annotated[list[str], shown(["COMPLETE"])]
    """The statuses admitted."""


class BatchSizesSummary(SelectionSummary):
    """And which batch sizes."""

    batch_sizes: Annotated[list[int], shown([64], "batch_unit of the study")]
    """The batch sizes asked for; empty for all."""


class _TargetSummary(SelectionSummary):
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target; comparator says what reaches it."""


class ComparatorSummary(SelectionSummary):
    """And what reaches a target."""

    comparator: Annotated[Comparator, shown("strict")]
    """strict: reached means better than the target; inclusive: at least as good as the target."""


class GoalSummary(ComparatorSummary, _TargetSummary):
    """And a target."""


class WithinSummary(GoalSummary):
    """And what is near-optimal."""

    within: Annotated[float, shown(0.1, "none: a ratio")]
    """How near to the best is near-optimal."""


class CrossingSummary(GoalSummary):
    """And which hit of the target counts."""

    crossing: Annotated[CrossingRule, shown("first")]
    """Which hit of the target counts as the crossing in the columns `confirmed_…`."""
    k: Annotated[int | None, shown(2, "evaluations")]
    """How many successive hits confirm a crossing; null unless k_consecutive."""


class Finding(Summary):
    """What every analysis says of itself, behind all else."""

    definition: Annotated[str, shown("S(B) of the best trial.")]
    """What was computed, and by whose definition."""
    n_used: Annotated[int, shown(11, "values")]
    """How many values the definition's computation used."""
    left_out: Annotated[list[str], shown(["no trial of 64 reached the target at batch size 1"])]
    """What was not used, and why."""
    warnings: Annotated[list[str], shown(["the largest batch size still gains"])]
    """What to know before relying on it."""


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles, which only repeat names."""
        return False


def summary_fields(model: type[Summary]) -> dict[str, Any]:
    """The JSON schemas of the fields of a summary, in the order of answers."""
    document = model.model_json_schema(mode="serialization", schema_generator=_Untitled)
    definitions, properties = document.get("$defs", {}), document["properties"]
    # Every class that an analysis inherits from comes before its own fields, but what it found comes last.
    names = sorted(properties, key=list(Finding.model_fields).__contains__)
    return {name: _field(properties[name], definitions) for name in names}


def _field(shape: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A field with its unit and example, and with a model in place of the reference to it."""
    field = {"x-unit": "none", **shape}
    if "description" in shape:
        field["description"] = " ".join(shape["description"].split())
    reference = shape.get("items", shape).get("$ref")
    if reference is not None:
        model = definitions[reference.rpartition("/")[2]]
        inner = {name: _field(each, definitions) for name, each in model["properties"].items()}
        properties = {name: each if "description" in each else _bare(each) for name, each in inner.items()}
        whole = {"type": "object", "properties": properties, "required": model["required"]}
        example = {name: each["examples"][0] for name, each in inner.items() if "examples" in each}
        field.pop("$ref", None)
        field |= {"items": whole} if "items" in shape else whole
        field["examples"] = [([example] if example else []) if "items" in shape else example]
    return field


def _bare(field: dict[str, Any]) -> dict[str, Any]:
    """A field that is described with the whole that it is a part of, and so is its example."""
    return {name: value for name, value in field.items() if name not in ("examples", "x-unit")}
