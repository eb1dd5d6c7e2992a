"""The critical batch size against model size, tokens and loss, over workloads, beside published laws."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.batch_laws import published_laws
from losslake.analysis.hyperbola import Kind
from losslake.analysis.measured_levels import stated
from losslake.analysis.power_law import FEWEST_POINTS, LawKind
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.critical_batch_size import ZhangParameters
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import MOST_PLACES, ReleaseParameters, ResultParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary, Summary, entry
from losslake.questions.laws.critical_points import CriticalPoint, critical_points
from losslake.questions.laws.law_points import X_UNITS, Definition, FittedPoints, LawPoint, Meaning, Unit, fitted
from losslake.questions.laws.published import Comparison, compared
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.left_out import counts_left_out, n_stopped_earlier
from losslake.questions.trials.scaling_curve import EXACT_STEPS
from losslake_schema.quantities import plural

PATTERN = "critical-batch-size/c4/*/adamw"
# Beyond this, a law in one of two variables is a law in the other.
_CONFOUNDED = 0.9
_REQUESTED = ("metric", "by", "unit", "law", "fit", "overhead", "optimal_batch_size", "result", "seeds")
_HOW: dict[LawKind, str] = {
    "weighted": (
        "each point weighted by its interval and a scatter between points (Paule and Mandel 1982), with Student's t "
        "(Knapp and Hartung 2003)"
    ),
    "equal": "plain least squares of log B, as Zhang et al. 2024, with Student's t",
    "linear": "plain least squares of B, so that the largest points count most",
}


class CriticalBatchLawParameters(ResultParameters, ZhangParameters, ReleaseParameters):
    """The workloads of a law, and how it is fitted."""

    workload: Annotated[list[str], shown([PATTERN], min_length=1, max_length=MOST_PLACES)]
    """The workloads: collection/dataset/model/optimizer; may be repeated. `*` stands for any text within one of the
    four parts. Each workload that matches is a point by itself; they aren't pooled."""
    metric: Annotated[str, shown("val/cross_entropy_error")] = ""
    """Only goals in this metric: split/quantity. Default: the first goal of each workload."""
    by: Annotated[Definition, shown("zhang2024")] = "mccandlish2018"
    """The definition of the critical batch size, as of critical-batch-size: mccandlish2018 or zhang2024."""
    unit: Annotated[Unit, shown("batch_unit")] = "tokens"
    """The unit of batch sizes: tokens, of workloads that state how many an example has; or the batch_unit of the
    workloads, if they have the same."""
    law: Annotated[LawKind, shown("equal")] = "weighted"
    """weighted: points count by their intervals, and scatter beyond these; equal: plain least squares of logarithms;
    linear: plain least squares of batch sizes."""
    fit: Annotated[Kind, shown("least-squares")] = "robust"
    """The fit of each point, as of critical-batch-size: robust or least-squares."""


class CriticalBatchLawRow(Row):
    """A workload with at least 3 batch sizes and a goal: a point of the laws."""

    workload: str
    metric: str
    target: float
    """The target of the workload's goal; of several goals, the first."""
    batch_unit: str | None
    parameters: Annotated[float | None, shown(84972288.0, "parameters")]
    """Parameters of the model, as its trials say: n_parameters_non_embedding, else n_parameters; null for unknown."""
    parameters_are: Annotated[str | None, shown("n_parameters_non_embedding")]
    """The fact that `parameters` is; null where that is."""
    tokens_per_example: Annotated[float | None, shown(512.0, "tokens")]
    """Tokens in one unit of the batch sizes, as the trials say; null for unknown."""
    tokens: Annotated[float | None, shown(1.45e9, "tokens")]
    """Fewest tokens to the target, E_min of the fit; null without a critical batch size, or for unknown tokens."""
    loss: Annotated[float | None, shown(3.42, "nats per token")]
    """Cross-entropy of the target; null where the goal doesn't say it."""
    critical_batch_size: Annotated[float | None, shown(1121587.0, "what unit says")]
    """The critical batch size by the definition, in the unit; null if the data can't support one."""
    lower: Annotated[float | None, shown(1001383.0, "what unit says")]
    """Lower end of its interval, as of critical-batch-size; a bound if critical_batch_size is null; null for none."""
    upper: Annotated[float | None, shown(1258126.0, "what unit says")]
    """Upper end of its interval, as of critical-batch-size; a bound if critical_batch_size is null; null for none."""
    n_batch_sizes: Annotated[int, shown(9, "batch sizes")]
    """Batch sizes that reached the target and aren't dominated, to which the curve was fitted."""
    ratio_parameters: Annotated[float | None, shown(1.01, "none: a ratio")]
    """critical_batch_size over the fitted law in parameters; null without that law, or where the point isn't of it."""
    ratio_tokens: Annotated[float | None, shown(0.99, "none: a ratio")]
    """critical_batch_size over the fitted law in tokens; null like ratio_parameters."""
    ratio_loss: Annotated[float | None, shown(1.03, "none: a ratio")]
    """critical_batch_size over the fitted law in the loss; null like ratio_parameters."""
    why: Annotated[str, shown("no bend: the largest batch size needs 1.17 times the fewest examples")]
    """Reasons for no estimate, or for no part in a law; empty if there are none."""


class FittedLaw(Summary):
    """A law that was fitted: critical batch size = coefficient x (variable / x_unit)^exponent."""

    variable: Annotated[str, shown("parameters")]
    x_unit: Annotated[float, shown(1e6, "unit of the variable")]
    coefficient: Annotated[float | None, shown(47717.0, "what unit says")]
    exponent: Annotated[float | None, shown(0.47, "none: an exponent")]
    exponent_lower: Annotated[float | None, shown(0.41, "none: an exponent")]
    exponent_upper: Annotated[float | None, shown(0.53, "none: an exponent")]
    scatter: Annotated[float | None, shown(0.05, "none: a standard deviation of logarithms")]
    rms_log_residual: Annotated[float | None, shown(0.02, "none: a ratio, about")]
    n_points: Annotated[int, shown(5, "workloads")]
    smallest: Annotated[float | None, shown(8.5e7, "unit of the variable")]
    largest: Annotated[float | None, shown(1.2e9, "unit of the variable")]
    coefficient_error: Annotated[float | None, shown(0.07, "none: a standard error of the logarithm")]
    exponent_error: Annotated[float | None, shown(0.01, "none: a standard error")]
    correlation: Annotated[float | None, shown(-0.99, "none: a correlation")]
    """Correlation of the errors of the logarithm of the coefficient and of the exponent."""
    refused: Annotated[str | None, shown(None)]
    """Reason for no law; null if there is one."""


class PublishedLaw(Summary):
    """A published law beside the points."""

    law: Annotated[str, shown("zhang2024-parameters")]
    formula: Annotated[str, shown("93.1968 (parameters/1e+06)^0.468278 x 512 tokens")]
    definition: Annotated[str, shown("zhang2024")]
    """The definition of its batch sizes; another than `by` is converted where that is exact."""
    source: Annotated[str, shown("Zhang et al. 2024, arXiv:2410.21676")]
    checked: Annotated[str, shown("data")]
    """data: the authors' data or code give it; secondary: third parties quote it."""
    note: Annotated[str, shown("at about 20 tokens per parameter")]
    n_points: Annotated[int, shown(5, "workloads")]
    n_inside: Annotated[int, shown(5, "workloads")]
    """Points in the range of the publication; the others extrapolate it, or its range isn't known."""
    ratio_lowest: Annotated[float | None, shown(0.98, "none: a ratio")]
    ratio_median: Annotated[float | None, shown(1.0, "none: a ratio")]
    ratio_highest: Annotated[float | None, shown(1.03, "none: a ratio")]
    rms_log_ratio: Annotated[float | None, shown(0.02, "none: a ratio, about")]
    ratios: Annotated[list[float | None], shown([1.0, 0.97, 1.03], "none: a ratio")]
    """critical_batch_size over the law, by row; null where they can't be compared."""
    not_compared: Annotated[str | None, shown(None)]
    """Reason for comparing it with no point; null if there is none."""


class CriticalBatchLawSummary(ReleaseSummary, Finding):
    """The laws that were fitted, and published ones beside the points."""

    workloads: Annotated[list[str], shown([PATTERN])]
    """The requested workloads and patterns."""
    metric: Annotated[str, shown("")]
    """The requested metric; empty for the first goal of each workload."""
    by: Annotated[Definition, shown("mccandlish2018")]
    """The definition of the critical batch size."""
    unit: Annotated[Unit, shown("tokens")]
    """The unit of batch sizes."""
    law: Annotated[LawKind, shown("weighted")]
    """The kind of fit of laws."""
    fit: Annotated[Kind, shown("robust")]
    """The kind of fit of each point."""
    overhead: Annotated[float, shown(0.2, "none: a ratio")]
    """The overhead of zhang2024."""
    optimal_batch_size: Annotated[float, shown(256, "batch_unit of the study")]
    """The optimal batch size of zhang2024."""
    result: Annotated[str | None, shown("best_setting")]
    """The requested result; null for that of the trials of each workload."""
    seeds: Annotated[str, shown("median")]
    """The steps of a setting, of its trials: median or mean."""
    laws: list[FittedLaw]
    """A law in the parameters of the model, in the fewest tokens to the target, and in its loss: each by itself."""
    published: list[PublishedLaw]
    """Published laws of critical batch sizes, with the ratios of the points to them."""


def _answer(view: ReleaseView, parameters: CriticalBatchLawParameters) -> Answer:
    """Return a row by workload, by model size, then name; raises UnknownName and BadParameter."""
    named = dict.fromkeys(facts for text in parameters.workload for facts in view.matching(parse_workload(text)))
    found, without = critical_points(
        view, named, parameters.result, parameters.seeds, parameters.metric, parameters.fit
    )
    meaning = Meaning(parameters.by, parameters.unit, parameters.overhead, parameters.optimal_batch_size)
    points = sorted(
        (LawPoint(point, meaning) for point in found),
        key=lambda each: (each.values.get("parameters", math.inf), each.point.name),
    )
    laws = {name: fitted(points, name, parameters.law) for name in X_UNITS}
    comparisons = [compared(points, law) for law in published_laws().values() if law.quantity == "batch_size"]
    reasons = sorted(Counter(without.values()).items())
    summary = {
        **{name: getattr(parameters, name) for name in _REQUESTED},
        "release": view.number,
        "workloads": parameters.workload,
        "laws": [_law_entry(name, law) for name, law in laws.items()],
        "published": [_published_entry(each) for each in comparisons],
        "left_out": [
            *(f"{count} {plural('workload', count)} with {why}" for why, count in reasons),
            *(f"{each.point.name}: it has no critical batch size" for each in points if each.value is None),
            *_trials_left_out(found),
        ],
        "definition": QUESTION.definition.format(how=_HOW[parameters.law], level=_level(parameters.law)),
        "n_used": sum(each.value is not None for each in points),
        "warnings": list(_warnings(points, laws)),
    }
    rows = [_row(row, each, laws) for row, each in enumerate(points)]
    return QUESTION.of_table(summary, pa.Table.from_pylist(rows, QUESTION.rows.schema))


QUESTION = Question(
    path="/v1/analysis/critical-batch-law",
    doc="Laws of the critical batch size in model size, tokens and loss over workloads, beside published ones.",
    parameters=CriticalBatchLawParameters,
    row=CriticalBatchLawRow,
    summary=CriticalBatchLawSummary,
    compute=_answer,
    cost=lambda _: Cost(20_000, 1000),
    rows_name="points",
)


def _level(kind: LawKind) -> str:
    """Return in words how often the interval of an exponent holds."""
    if kind == "linear":
        return "is that of the linearized fit: how often it holds isn't measured"
    return f"holds in {stated(f'critical-batch-law exponent-{kind}')} of simulations"


def _row(row: int, each: LawPoint, laws: Mapping[str, FittedPoints]) -> dict[str, Any]:
    point, size = each.point, each.point.known_size()
    return {
        "workload": point.name,
        "metric": point.metric,
        "target": point.goal.target,
        "batch_unit": point.batch_unit,
        "parameters": size and size[1],
        "parameters_are": size and size[0],
        "tokens_per_example": each.tokens_per_example,
        "tokens": each.values.get("tokens"),
        "loss": each.values.get("loss"),
        "critical_batch_size": each.value,
        "lower": each.in_unit(each.number.lower),
        "upper": each.in_unit(each.number.upper),
        "n_batch_sizes": point.curve.n_tuned,
        **{f"ratio_{name}": law.ratio(row, each.value) for name, law in laws.items()},
        "why": each.why,
    }


def _law_entry(variable: str, fitted_points: FittedPoints) -> dict[str, Any]:
    law, ends = fitted_points.law, fitted_points.x * X_UNITS[variable]
    (of_c, of_both), (_, of_p) = law.covariance if law else ((0.0, 0.0), (0.0, 0.0))
    has_errors = of_c > 0 and of_p > 0
    return entry(
        FittedLaw,
        law,
        variable=variable,
        x_unit=X_UNITS[variable],
        exponent_lower=law and law.exponent_range.lower,
        exponent_upper=law and law.exponent_range.upper,
        n_points=len(ends),
        smallest=float(ends.min()) if len(ends) else None,
        largest=float(ends.max()) if len(ends) else None,
        coefficient_error=law and math.sqrt(of_c),
        exponent_error=law and math.sqrt(of_p),
        correlation=of_both / math.sqrt(of_c * of_p) if has_errors else None,
        refused=fitted_points.why,
        **({} if law else dict.fromkeys(("coefficient", "exponent", "scatter", "rms_log_residual"))),
    )


def _published_entry(comparison: Comparison) -> dict[str, Any]:
    known = comparison.known
    return entry(
        PublishedLaw,
        comparison.law,
        law=comparison.law.name,
        n_points=len(known),
        n_inside=comparison.n_inside,
        ratio_lowest=min(known, default=None),
        ratio_median=float(np.median(known)) if known else None,
        ratio_highest=max(known, default=None),
        rms_log_ratio=comparison.rms_log_ratio,
        ratios=list(comparison.ratios),
        not_compared=comparison.not_compared,
    )


def _trials_left_out(points: Sequence[CriticalPoint]) -> Iterator[str]:
    counts = Counter[str]()
    for each in points:
        for n_trials, why in (*each.search.once(counts_left_out), *n_stopped_earlier(each.search, each.goal)):
            counts[why.partition(":")[0]] += n_trials
    yield from (f"{count} {plural('trial', count)} {why}" for why, count in sorted((+counts).items()))


def _warnings(points: Sequence[LawPoint], laws: Mapping[str, FittedPoints]) -> Iterator[str]:
    used = [each for each in points if each.value is not None]
    both = [each.values for each in used if {"parameters", "tokens"} <= each.values.keys()]
    if len(both) >= FEWEST_POINTS and laws["parameters"].law and laws["tokens"].law:
        logs = np.log([[each["parameters"], each["tokens"]] for each in both])
        correlation = float(np.corrcoef(logs, rowvar=False)[0, 1])
        if abs(correlation) > _CONFOUNDED:
            yield (
                f"parameters and tokens grow together here (correlation {correlation:.2f}): these laws can't tell "
                "on which of the two the critical batch size depends"
            )
    if laws["tokens"].law:
        yield "tokens are E_min of the same fit as the critical batch size, so their errors go together"
    if len(counted := {size[0] for each in used if (size := each.point.known_size())}) > 1:
        yield f"sizes are of different kinds, {' and '.join(sorted(counted))}: see parameters_are"
    for part in ("dataset", "optimizer"):
        names = {getattr(each.point.search.facts.workload, part) for each in used}
        if len(names) > 1:
            yield f"the points are of {len(names)} {part}s, which differ in more than size"
    if any(each.point.search.facts.is_reference for each in used):
        yield EXACT_STEPS
