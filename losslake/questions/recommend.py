"""Published laws of the batch size and learning rate for a model size and number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.batch_laws import Law, published_laws
from losslake.analysis.critical_batch_size import OPTIMAL_BATCH_SIZE, OVERHEAD
from losslake.analysis.loss_law import FLOPS_PER_PARAMETER
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import MOST_PLACES, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary, Summary
from losslake.questions.laws.critical_points import critical_points
from losslake.questions.laws.law_points import LawPoint, Meaning
from losslake.questions.laws.published import compared
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_schema.quantities import plural

_STORED = Meaning("mccandlish2018", "tokens", OVERHEAD, OPTIMAL_BATCH_SIZE)
LARGEST_COUNT, LARGEST_LOSS = 1e30, 1000.0
Count = Annotated[float, Field(ge=1, le=LARGEST_COUNT, allow_inf_nan=False)]


class RecommendParameters(ReleaseParameters):
    """The training that is planned, and stored workloads to compare laws with."""

    parameters: Annotated[Count, shown(1e9, "parameters")]
    """Parameters of the model, without embeddings."""
    tokens: Annotated[Count, shown(2e10, "tokens")]
    """Tokens of the training."""
    loss: Annotated[float | None, shown(3.0, "nats per token", gt=0, le=LARGEST_LOSS, allow_inf_nan=False)] = None
    """The loss that it is to reach, for laws in the loss; default: none, and those laws have no value."""
    workload: Annotated[list[str], shown(["*/c4/*/*"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Stored workloads, or patterns, that laws are compared with; may be repeated. Default: all whose trials state the
    parameters of their model and the tokens of an example."""


class RecommendRow(Row):
    """A published law."""

    law: Annotated[str, shown("steplaw2025-batch-size")]
    """Name of the law."""
    quantity: Annotated[str, shown("batch_size")]
    """batch_size or learning_rate."""
    definition: Annotated[str, shown("optimal")]
    """optimal: lowest loss after so many tokens; mccandlish2018, zhang2024, merrill2025: critical batch sizes."""
    value: Annotated[float | None, shown(441000.0, "tokens, or none of a learning rate")]
    """Batch size in tokens, or learning rate; null if the law needs something that isn't known."""
    is_inside: Annotated[bool | None, shown(True)]
    """True if the training lies in the range behind the law, false if not; null if that range isn't known."""
    n_workloads: Annotated[int, shown(5, "workloads")]
    """Stored workloads that measure this quantity by this definition."""
    n_inside: Annotated[int, shown(5, "workloads")]
    """Those that lie in the range behind the law."""
    ratio_lowest: Annotated[float | None, shown(0.31, "none: a ratio")]
    """Lowest ratio of the law to the measured batch size; null without workloads."""
    ratio_median: Annotated[float | None, shown(0.37, "none: a ratio")]
    """Median ratio of the law to the measured batch size; null without workloads."""
    ratio_highest: Annotated[float | None, shown(0.54, "none: a ratio")]
    """Highest ratio of the law to the measured batch size; null without workloads."""
    formula: Annotated[str, shown("0.58 tokens^0.571 tokens")]
    """The law in words."""
    parameters_lower: Annotated[float | None, shown(2.14e8, "parameters")]
    """Least number of parameters behind the law; null if it isn't known, or the law has none."""
    parameters_upper: Annotated[float | None, shown(1.08e9, "parameters")]
    """Largest number of parameters behind the law; null like parameters_lower."""
    tokens_lower: Annotated[float | None, shown(4e9, "tokens")]
    """Fewest tokens behind the law; null like parameters_lower."""
    tokens_upper: Annotated[float | None, shown(1e11, "tokens")]
    """Most tokens behind the law; null like parameters_lower."""
    checked: Annotated[str, shown("data")]
    """data: the authors' data or code give the law; secondary: third parties quote it."""
    source: Annotated[str, shown("Li et al. 2025, arXiv:2503.04715 (Step Law)")]
    """The publication."""
    note: Annotated[str, shown("at about 20 tokens per parameter")]
    """Conditions of the value, or the reason for none; may be empty."""


class LawRange(Summary):
    """The range of the laws for a quantity."""

    quantity: Annotated[str, shown("batch_size")]
    lowest: Annotated[float | None, shown(441000.0, "tokens, or none of a learning rate")]
    highest: Annotated[float | None, shown(6340000.0, "tokens, or none of a learning rate")]
    n_laws: Annotated[int, shown(6, "laws")]
    n_inside: Annotated[int, shown(2, "laws")]
    """Those in whose range the training lies."""


class RecommendSummary(ReleaseSummary, Finding):
    """The training, and the ranges of the laws."""

    parameters: Annotated[float, shown(1e9, "parameters")]
    """The requested parameters of the model."""
    tokens: Annotated[float, shown(2e10, "tokens")]
    """The requested tokens of the training."""
    loss: Annotated[float | None, shown(3.0, "nats per token")]
    """The requested loss; null for none."""
    compute: Annotated[float, shown(1.2e20, "FLOPs")]
    """6 x parameters x tokens."""
    compared_with: Annotated[list[str], shown(["critical-batch-size/c4/olmo_85m/adamw"])]
    """Stored workloads that laws are compared with."""
    ranges: list[LawRange]
    """The lowest and the highest value of the laws, of whatever definition, by quantity."""


def _answer(view: ReleaseView, parameters: RecommendParameters) -> Answer:
    """Return a row by law; raises UnknownName and BadParameter."""
    values = {"parameters": parameters.parameters, "tokens": parameters.tokens}
    values["compute"] = FLOPS_PER_PARAMETER * parameters.parameters * parameters.tokens
    if parameters.loss is not None:
        values["loss"] = parameters.loss
    stored = _workloads(view, parameters.workload)
    points, left_out = view.kept(
        ("recommend", tuple(facts.workload for facts in stored)), lambda: _points(view, stored)
    )
    rows = [_row(law, values, points) for law in published_laws().values()]
    summary = {
        **{name: getattr(parameters, name) for name in ("parameters", "tokens", "loss")},
        "release": view.number,
        "compute": values["compute"],
        "compared_with": [each.point.name for each in points],
        "ranges": [_range(rows, quantity) for quantity in ("batch_size", "learning_rate")],
        "left_out": left_out,
        "definition": QUESTION.definition,
        "n_used": sum(row["value"] is not None for row in rows),
        "warnings": list(_warnings(rows)),
    }
    return QUESTION.of_table(summary, pa.Table.from_pylist(rows, QUESTION.rows.schema))


QUESTION = Question(
    path="/v1/analysis/recommend",
    doc="Batch sizes and learning rates by published laws for a model size and number of tokens, with their ranges.",
    parameters=RecommendParameters,
    row=RecommendRow,
    summary=RecommendSummary,
    compute=_answer,
    rows_name="laws",
)


def _workloads(view: ReleaseView, patterns: Sequence[str]) -> list[WorkloadFacts]:
    """Return the workloads to compare with; raises UnknownName and BadParameter."""
    if patterns:
        return [*dict.fromkeys(facts for text in patterns for facts in view.matching(parse_workload(text)))]
    return [view.workloads[Workload(*names)] for names in view.rows("workloads_with_sizes")]


def _points(view: ReleaseView, stored: Sequence[WorkloadFacts]) -> tuple[list[LawPoint], list[str]]:
    found, without = critical_points(view, stored)
    reasons = sorted({why: [*without.values()].count(why) for why in without.values()}.items())
    texts = [f"{count} {plural('workload', count)} with {why}" for why, count in reasons]
    points = [LawPoint(point, _STORED) for point in found]
    unknown = [each for each in points if "parameters" not in each.values or each.tokens_per_example is None]
    texts += [f"{each.point.name}: its trials state no size or tokens" for each in unknown]
    return [each for each in points if each not in unknown], texts


def _row(law: Law, values: dict[str, float], points: Sequence[LawPoint]) -> dict[str, Any]:
    value = law.value(values)
    measure = _cheapest_ratios if law.definition == "optimal" else _critical_ratios
    ratios, n_inside = measure(law, points) if law.quantity == "batch_size" else ([], 0)
    ranges = {factor.name: factor for factor in law.factors}
    ends = {
        f"{name}_{end}": getattr(ranges[name], end) if name in ranges else None
        for name in ("parameters", "tokens")
        for end in ("lower", "upper")
    }
    lacking = ", ".join(sorted(factor.name for factor in law.factors if factor.exponent and factor.name not in values))
    why = f"it needs {lacking}" if lacking else "its factor could not be verified" if law.coefficient is None else ""
    return {
        "law": law.name,
        **{name: getattr(law, name) for name in ("quantity", "definition", "formula", "checked", "source")},
        "value": value,
        "is_inside": law.is_inside(values),
        "n_workloads": len(ratios),
        "n_inside": n_inside,
        "ratio_lowest": min(ratios, default=None),
        "ratio_median": float(np.median(ratios)) if ratios else None,
        "ratio_highest": max(ratios, default=None),
        **ends,
        "note": "; ".join(filter(None, [why, law.note])),
    }


def _critical_ratios(law: Law, points: Sequence[LawPoint]) -> tuple[list[float], int]:
    """Return the ratios of a law to measured critical batch sizes, and how many lie in its range."""
    comparison = compared(points, law)
    return [1.0 / ratio for ratio in comparison.known], comparison.n_inside


def _cheapest_ratios(law: Law, points: Sequence[LawPoint]) -> tuple[list[float], int]:
    """Return the ratios of a law to the batch sizes with the fewest tokens to the target, and how many lie inside.

    A batch size counts only between smaller and larger ones that reached the target: at an end, the true one may lie
    beyond.
    """
    ratios, n_inside = [], 0
    for each in points:
        steps, factor = each.point.curve.tuned_steps, each.tokens_per_example
        reached = np.flatnonzero(np.isfinite(steps))
        sizes = each.point.curve.batch_sizes[reached]
        if factor is None or not len(reached):
            continue
        tokens = factor * sizes * steps[reached]
        best = int(tokens.argmin())
        values = {"parameters": each.values["parameters"], "tokens": float(tokens[best])}
        values["compute"] = FLOPS_PER_PARAMETER * values["parameters"] * values["tokens"]
        expected = law.value(values)
        if expected is not None and 0 < best < len(sizes) - 1:
            ratios.append(expected / (factor * float(sizes[best])))
            n_inside += law.is_inside(values) is True
    return ratios, n_inside


def _range(rows: Sequence[dict[str, Any]], quantity: str) -> dict[str, Any]:
    with_value = [row for row in rows if row["quantity"] == quantity and row["value"] is not None]
    return {
        "quantity": quantity,
        "lowest": min((row["value"] for row in with_value), default=None),
        "highest": max((row["value"] for row in with_value), default=None),
        "n_laws": len(with_value),
        "n_inside": sum(row["is_inside"] is True for row in with_value),
    }


def _warnings(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield (
        "an optimal batch size gives the lowest loss after so many tokens, a critical one is where larger batches stop "
        "paying: the first is usually smaller, and neither is a mistake of the other"
    )
    checks: Sequence[tuple[Callable[[dict[str, Any]], bool], str]] = (
        (lambda row: row["is_inside"] is False, "the training lies outside the range of {}: they extrapolate"),
        (lambda row: row["is_inside"] is None, "the range is not known of {}"),
        (lambda row: row["checked"] == "secondary", "only third parties were read of {}"),
        (lambda row: not row["n_workloads"], "no stored workload measures what they are about: {}"),
    )
    for holds, text in checks:
        names = [row["law"] for row in rows if row["value"] is not None and holds(row)]
        if names:
            yield text.format(", ".join(names))
