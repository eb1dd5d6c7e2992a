"""The summaries of answers, the JSON fields beside the rows, declared as models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic.json_schema import GenerateJsonSchema

from losslake.analysis.best_setting import Seeds
from losslake.output.documented import Documented
from losslake.output.rows import shown
from losslake.questions.declaration.parameters import WORKLOAD
from losslake.questions.trials.confirmation import CrossingName
from losslake.questions.trials.search import Search
from losslake.questions.trials.selection import ResultName
from losslake_schema.reached import Comparator

# The end of the batch sizes beyond which the true one may lie.
Censoring = Literal["left", "right"]


class Summary(Documented):
    """The JSON fields of an answer beside its rows, documented by their docstrings; never instantiated.

    A field that is a list of models has their examples as its example.
    """


class ReleaseSummary(Summary):
    """The fields of every answer about a release."""

    release: Annotated[int, shown(1)]
    """The release that answered."""


class LeftOut(Summary):
    """A summary of an answer that may leave out data."""

    left_out: Annotated[list[str], shown(["3 trials of status INCOMPLETE: status=INCOMPLETE includes them"])]
    """Data that were not used, and why: first trials that don't count, with the parameter that includes them."""


class PooledWorkload(Summary):
    """A workload that a pattern pools with others."""

    pattern: Annotated[str, shown("bundled/digits/mlp_64/*")]
    workload: Annotated[str, shown(WORKLOAD)]
    n_trials: Annotated[int, shown(64, "trials")]
    targets: Annotated[list[float], shown([0.05], "unit of the metric")]


class SelectionSummary(LeftOut, ReleaseSummary):
    """The selection."""

    workloads: Annotated[list[str], shown([WORKLOAD])]
    """The requested workloads and patterns."""
    pooled: list[PooledWorkload]
    """The workloads that patterns pool: how many trials of each are admitted, and the targets of its own goals in the
    metric, which tell whether it is the same task; empty without a pattern."""
    metric: Annotated[str, shown("val/classification_error")]
    """The requested metric: split/quantity."""
    direction: Annotated[str, shown("minimize")]
    """minimize or maximize: as requested, else the metric's own."""
    step_budget: Annotated[int | None, shown(1000, "steps")]
    """The requested step budget, inclusive; null for none."""
    example_budget: Annotated[int | None, shown(100000, "batch_unit of the study")]
    """The requested example budget, inclusive; null for none."""
    trials: Annotated[int | None, shown(50, "trials")]
    """Number of first trials of each study that count; null for all."""
    status: Annotated[list[str], shown(["COMPLETE", "MISSED"])]
    """The admitted statuses."""
    flagged: Annotated[str, shown("exclude")]
    """Treatment of flagged trials: exclude or include."""
    where: Annotated[list[str], shown(["org=NVIDIA"])]
    """Only trials with these values count: NAME=VALUE; empty if all trials do."""
    only_finished: Annotated[bool, shown(False)]
    """True if only trials count that were evaluated at the end of the schedule of their learning rate, or later."""


class BatchSizesSummary(SelectionSummary):
    """The selection and its batch sizes."""

    batch_sizes: Annotated[list[int], shown([64], "batch_unit of the study")]
    """The requested batch sizes; empty for all."""


class _TargetSummary(SelectionSummary):
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target; comparator says what reaches it."""


class ComparatorSummary(SelectionSummary):
    """The selection and the comparator."""

    comparator: Annotated[Comparator, shown("strict")]
    """strict: a value reaches the target if better than it; inclusive: if at least as good."""


class GoalSummary(ComparatorSummary, _TargetSummary):
    """The selection and the goal."""


class WithinSummary(GoalSummary):
    """The goal and the tolerance of near-optimal trials."""

    within: Annotated[float, shown(0.1, "none: a ratio")]
    """Tolerance of near-optimal, as a share of the fewest steps."""


class CrossingSummary(GoalSummary):
    """The goal and the hit of it that counts."""

    crossing: Annotated[CrossingName, shown("first")]
    """The hit of the target that counts in the columns `confirmed_…`."""
    k: Annotated[int | None, shown(2, "evaluations")]
    """Successive hits that confirm a crossing; null unless k_consecutive."""
    margin: Annotated[float | None, shown(0.004, "unit of the metric")]
    """The margin of crossing=mean; null for other rules."""


class WorkloadResult(Summary):
    """The result of each study of a workload."""

    workload: Annotated[str, shown(WORKLOAD)]
    result: Annotated[ResultName, shown("best_setting")]
    seeds: Annotated[Seeds | None, shown("median")]
    why: Annotated[str, shown("1,410 of 1,479 trials are of settings of 3 trials or more")]


class ResultSummary(Summary):
    """The results of studies."""

    result: Annotated[ResultName | None, shown("best_setting")]
    """The requested result; null for that of the trials."""
    seeds: Annotated[Seeds, shown("median")]
    """The steps of a setting, of its trials: median or mean."""
    results: list[WorkloadResult]
    """By workload: the result of a study, best_trial or best_setting; what a setting takes, null for best_trial; and
    why. Workloads that are compared have the same one: best_setting if any of them has."""


def results_of(searches: Iterable[Search]) -> list[dict[str, Any]]:
    """Return the entries of `results`."""
    return [
        {
            "workload": str(search.facts.workload),
            "result": search.rule.name,
            "seeds": search.rule.seeds if search.rule.is_of_settings else None,
            "why": search.rule.why,
        }
        for search in searches
    ]


def results_in_words(facts: Mapping[str, Any], noun: str = "steps") -> str:
    """Return what the steps of a batch size are: the fewest steps of any trial, or those of the best setting.

    facts: with `results`. noun: what is counted.
    """
    of_settings = {each["seeds"] for each in facts["results"] if each["seeds"] is not None}
    if not of_settings:
        return f"fewest {noun} of any trial"
    settings = f"{' or '.join(sorted(of_settings))} {noun} of the best setting"
    return settings if all(each["seeds"] for each in facts["results"]) else f"{settings}, or fewest of any trial"


class Finding(LeftOut):
    """The last fields of every analysis."""

    definition: Annotated[str, shown("S(B) of the best trial.")]
    """The definition of what was computed, with its source."""
    n_used: Annotated[int, shown(11, "values")]
    """Number of values used, as the definition counts them."""
    warnings: Annotated[list[str], shown(["the largest batch size still gains"])]
    """Warnings about the answer."""


def entry(model: type[Summary], source: object, **others: Any) -> dict[str, Any]:
    """Return an entry of a summary: the fields of the model, from `others` or else the attributes of `source`."""
    return {name: others[name] if name in others else getattr(source, name) for name in model.model_fields}


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles, which only repeat names."""
        return False


@cache
def summary_fields(model: type[Summary]) -> dict[str, Any]:
    """Return the JSON schemas of the fields of a summary, in the order of answers."""
    document = model.model_json_schema(mode="serialization", schema_generator=_Untitled)
    definitions, properties = document.get("$defs", {}), document["properties"]
    return {name: _field(properties[name], definitions) for name in field_order(properties)}


def field_order(names: Iterable[str]) -> list[str]:
    """Return the fields of a summary in the order of answers: as declared, with those of Finding last."""
    return sorted(names, key=list(Finding.model_fields).__contains__)


def _field(shape: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a field with its unit and example, and with a model in place of the reference to it."""
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
    """Return a field without example and unit, which its parent describes."""
    return {name: value for name, value in field.items() if name not in ("examples", "x-unit")}
