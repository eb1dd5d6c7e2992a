"""The law of the loss by model size and tokens, fitted to trials of models of several sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.loss_law import (
    FLOPS_PER_PARAMETER,
    LEVEL,
    Estimate,
    LossLawFit,
    LossLawRefused,
    Optimum,
    fit_loss_law,
)
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import finite
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import SelectionParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, SelectionSummary, Summary
from losslake.questions.laws.loss_points import (
    NO_SIZE,
    REASONS,
    SIZES,
    LossPoints,
    PointsName,
    SizeName,
    loss_points,
)
from losslake.questions.laws.published_losses import PublishedLawSummary, beside_points, formula
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.examples import shown_sizes
from losslake.questions.trials.search import Search, open_search
from losslake_schema.quantities import plural
from losslake_schema.reached import Flags, Floats

MOST_POINTS = 600
MOST_TRIALS = 4_000
MOST_COMPUTES = 20
_IN_NATS = "cross_entropy_error"
# Stated FLOPs that differ by more from the rule are worth a warning.
_UNLIKE_RULE = 0.2
Compute = Literal["6ND", "stated"]
Draw = Literal["settings", "models"]


class LossLawParameters(SelectionParameters):
    """The parameters of a loss law. A pattern stands for each workload that it matches and that has the metric."""

    points: Annotated[PointsName, shown("all")] = "final"
    """final: the last evaluation of each trial. all: every evaluation beyond `after`; those before the end of a decay
    of the learning rate have a higher loss than a training that ends there."""
    after: Annotated[float, shown(0.1, "none: a ratio", ge=0, lt=1)] = 0.0
    """For points=all: only evaluations beyond this share of the steps of their trial."""
    runs: Annotated[Literal["best", "all"], shown("all")] = "best"
    """best: of trials of a workload with equal sizes and tokens, only those of the setting with the least final loss
    (the median over its seeds), since badly tuned ones say nothing about size. all: every trial."""
    size: Annotated[SizeName, shown("without")] = "with"
    """Parameters of a model with or without its embeddings."""
    compute: Annotated[Compute, shown("stated")] = "6ND"
    """FLOPs of training for the optimum. 6ND: 6 FLOPs for each parameter and token. stated: k N D, with k the median
    over trials of the FLOPs of a token that their logs state, by parameter."""
    flops: Annotated[
        list[Annotated[float, Field(gt=0, le=1e40, allow_inf_nan=False)]],
        shown([1e21], "FLOPs", max_length=MOST_COMPUTES),
    ] = Field(default_factory=list)
    """A compute whose best size and tokens are wanted; may be repeated. Default: the largest of the trials."""
    draw: Annotated[Draw, shown("models")] = "settings"
    """The unit that the bootstrap draws as a whole. settings: trials that differ only in their seeds. models: all
    trials of a workload with one size, for runs that share a part of their training, or lie on one side of the law."""
    level: Annotated[float, shown(0.8, "none: a probability", ge=0.5, le=0.95)] = LEVEL
    """The level of the intervals, two-sided."""


class LossLawRow(Row):
    """A point: an evaluation of a trial, or one that isn't used."""

    workload: str
    batch_size: int | None
    trial_id: int
    step: int
    n: Annotated[float | None, shown(543482880.0, "parameters")]
    """The parameters of the model, as `size` counts them; null if they aren't known."""
    d: Annotated[float | None, shown(10003415040.0, "tokens")]
    """The tokens trained on: steps times batch size times tokens of an example; null if they aren't known."""
    loss: Annotated[float | None, shown(3.101, "unit of the metric")]
    """The value of the metric; null if it is NaN or infinite, and then isn't used."""
    fitted: Annotated[float | None, shown(3.085, "unit of the metric")]
    """The loss of the law; null for a point that isn't used, and without a law."""
    residual: Annotated[float | None, shown(0.0052, "none: of natural logarithms")]
    """log(loss) - log(fitted); null where fitted is."""
    left_out_because: Annotated[str | None, shown(None)]
    """The reason for which the point isn't used; null if it is."""


class ParameterSummary(Summary):
    """A parameter of the law, or an exponent of its optimum."""

    name: Annotated[str, shown("alpha")]
    value: Annotated[float | None, shown(0.34)]
    lower: Annotated[float | None, shown(0.31)]
    upper: Annotated[float | None, shown(0.37)]


class OptimumSummary(Summary):
    """The best size and tokens for a compute."""

    flops: Annotated[float, shown(1e21, "FLOPs")]
    n: Annotated[float | None, shown(2.9e9, "parameters")]
    n_lower: Annotated[float | None, shown(2.2e9, "parameters")]
    n_upper: Annotated[float | None, shown(3.8e9, "parameters")]
    d: Annotated[float | None, shown(5.7e10, "tokens")]
    d_lower: Annotated[float | None, shown(4.4e10, "tokens")]
    d_upper: Annotated[float | None, shown(7.6e10, "tokens")]
    loss: Annotated[float | None, shown(2.31, "unit of the metric")]
    loss_lower: Annotated[float | None, shown(2.29, "unit of the metric")]
    loss_upper: Annotated[float | None, shown(2.33, "unit of the metric")]
    extrapolates: Annotated[str, shown("compute")]


class LossLawSummary(SelectionSummary, Finding):
    """The law, its optimum, and published laws beside it."""

    points: Annotated[PointsName, shown("final")]
    """The evaluations that are fitted: final or all."""
    after: Annotated[float, shown(0.0, "none: a ratio")]
    """The share of the steps of a trial beyond which evaluations count, for points=all."""
    runs: Annotated[Literal["best", "all"], shown("best")]
    """The trials that are fitted: those of the best setting of a workload, size and number of tokens, or all."""
    size: Annotated[SizeName, shown("with")]
    """The size of a model: parameters with or without embeddings."""
    compute: Annotated[Compute, shown("6ND")]
    """The rule by which FLOPs are counted for the optimum."""
    flops_per_parameter: Annotated[float, shown(6.0, "FLOPs per parameter and token")]
    """k of compute = k N D."""
    draw: Annotated[Draw, shown("settings")]
    """The unit that the bootstrap drew as a whole."""
    level: Annotated[float, shown(0.9, "none: a probability")]
    """The level of the intervals."""
    law: Annotated[str, shown("1.8172 + 477.83/N^0.3473 + 2143.4/D^0.3672")]
    """The law with its numbers; empty if they aren't reported."""
    refusal: Annotated[str, shown("")]
    """The reason for which the parameters aren't reported; empty if they are. Bounds that hold are in `estimates` all
    the same."""
    estimates: list[ParameterSummary]
    """E, A, B, alpha and beta, and the exponents a of the best N ~ C^a and b of the best D ~ C^b, with intervals: null
    for no bound. Empty without a fit."""
    r_squared: Annotated[float | None, shown(0.995, "none: a ratio")]
    """Share of the variance of log losses that the law explains; null without a fit."""
    huber: Annotated[float | None, shown(0.00102, "none")]
    """The sum of Huber's loss that is minimized; null without a fit."""
    n_points: Annotated[int, shown(240, "points")]
    """Points that are fitted."""
    n_settings: Annotated[int, shown(240, "settings")]
    """Settings, or models for draw=models, which the bootstrap draws."""
    n_sizes: Annotated[int, shown(50, "model sizes")]
    """Model sizes of the points."""
    n_range: Annotated[list[float], shown([4.4e7, 1.6e10], "parameters")]
    """The smallest and the largest model; empty without points."""
    d_range: Annotated[list[float], shown([2.5e8, 3.2e11], "tokens")]
    """The fewest and the most tokens; empty without points."""
    n_starts: Annotated[int, shown(49, "searches")]
    """Laws from which the fit was searched."""
    n_resamples: Annotated[int, shown(400, "fits")]
    """Refits of the bootstrap."""
    optimum: list[OptimumSummary]
    """The best size and tokens for each compute, with intervals. extrapolates: those of compute, n and d that lie
    beyond the points; empty for none."""
    published: list[PublishedLawSummary]
    """Published laws on the same points: the median of log(loss) - log(law), which other text and another tokenizer
    move, and the root mean square of the rest around it. Only for a cross-entropy, in nats."""


@dataclass(frozen=True)
class _Fitted:
    """The points, which of them are used, and the fit, or why there is none."""

    points: LossPoints
    is_used: Flags
    fit: LossLawFit | None
    refusal: str


def _answer(view: ReleaseView, parameters: LossLawParameters) -> Answer:
    """Return the points and the law; raises UnknownName and BadParameter."""
    names, searches = _open(view, parameters)
    if any(search.sign < 0 for search in searches):
        raise BadParameter("metric", f"{parameters.metric} is maximized: give a loss")
    points = loss_points(
        view,
        searches,
        size=parameters.size,
        points=parameters.points,
        after=parameters.after,
        with_all_runs=parameters.runs == "all",
        most=MOST_POINTS,
    )
    _check(points)
    fitted = _fit(points, parameters)
    factor = _flops_per_parameter(points.of(np.flatnonzero(fitted.is_used)), parameters.compute)
    return QUESTION.analysis(
        view,
        parameters.model_copy(update={"workload": names}),
        [shown_sizes(search.facts, rows) for search, rows in zip(searches, _rows(searches, fitted), strict=True)],
        _facts(fitted, parameters, factor),
        n_used=int(fitted.is_used.sum()),
        left_out=_left_out(points),
        warnings=_warnings(searches, fitted, parameters),
        searches=searches,
        how="drawn whole are all trials of a model" if parameters.draw == "models" else "settings are drawn whole",
    )


QUESTION = Question(
    path="/v1/analysis/loss-law",
    doc="The law of the loss by model size and tokens, with intervals, its compute optimum, and published laws beside.",
    parameters=LossLawParameters,
    row=LossLawRow,
    summary=LossLawSummary,
    compute=_answer,
    # One fit, whatever the number of workloads.
    cost=lambda parameters: Cost(3_000_000 / len(parameters.workload), evaluation=0.1),
)


def _open(view: ReleaseView, parameters: LossLawParameters) -> tuple[list[str], list[Search]]:
    """Return the names of the workloads, each once, and their searches; raises UnknownName and BadParameter."""
    members = {
        str(facts.workload): facts.workload
        for name in parameters.workloads
        for facts in view.members(name, parameters.metric)
    }
    searches = []
    for name, workload in members.items():
        try:
            searches.append(open_search(view, parameters.selection(), workload))
        except BadParameter as error:
            # Of a pattern, some workloads may not have what where= asks for.
            if error.parameter != "where" or (name == [*members][-1] and not searches):
                raise
    return [str(search.facts.workload) for search in searches], searches


def _check(points: LossPoints) -> None:
    """Raise BadParameter if too many trials would be fitted."""
    n = len(np.unique(np.stack([points.workload, points.row])[:, points.is_used], axis=1).T)
    if n > MOST_TRIALS:
        raise BadParameter("workload", f"{n} trials are more than a fit takes, {MOST_TRIALS}: give a narrower pattern")


def _lacks(points: LossPoints, size: SizeName) -> str:
    """Return in words what no point has; empty if some have all that a fit needs."""
    if (points.why == NO_SIZE).all():
        other: SizeName = "without" if size == "with" else "with"
        do = f"size={other} has points" if np.isfinite(points.other_size).any() else "a mapping can state it"
        return f"no log of these trials states {SIZES[size]}: {do}"
    return "" if points.is_used.any() else "no evaluation has a size, tokens and a loss above 0"


def _fit(points: LossPoints, parameters: LossLawParameters) -> _Fitted:
    is_used = points.is_used
    if lacks := _lacks(points, parameters.size):
        return _Fitted(points, is_used, None, lacks)
    used = points.of(np.flatnonzero(is_used))
    drawn = used.setting.astype(np.float64) if parameters.draw == "settings" else used.size
    settings = np.unique(np.stack([used.workload.astype(np.float64), drawn]), axis=1, return_inverse=True)[1].ravel()
    try:
        fit = fit_loss_law(used.size, used.tokens, used.loss, settings, level=parameters.level)
    except LossLawRefused as error:
        return _Fitted(points, is_used, None, str(error))
    return _Fitted(points, is_used, fit, fit.refusal)


def _flops_per_parameter(used: LossPoints, compute: Compute) -> float:
    """Return k of compute = k N D; raises BadParameter if it is to be stated, and isn't."""
    if compute == "6ND":
        return FLOPS_PER_PARAMETER
    ratios = _stated_ratios(used)
    if not len(ratios):
        raise BadParameter("compute", "the logs of these trials state no flops_per_token: give compute=6ND")
    return float(np.median(ratios))


def _stated_ratios(used: LossPoints) -> Floats:
    """Return the stated FLOPs of a token by parameter, of the points where they are known."""
    ratios = used.flops_per_token / used.size
    return ratios[np.isfinite(ratios) & (ratios > 0)]


def _facts(fitted: _Fitted, parameters: LossLawParameters, factor: float) -> dict[str, Any]:
    used, fit = fitted.points.of(np.flatnonzero(fitted.is_used)), fitted.fit
    ranges = [[float(x.min()), float(x.max())] if len(x) else [] for x in (used.size, used.tokens)]
    flops = factor * used.size * used.tokens
    wanted = parameters.flops or ([float(flops.max())] if len(flops) else [])
    sizes = {parameters.size: used.size, "without" if parameters.size == "with" else "with": used.other_size}
    is_in_nats = parameters.metric.partition("/")[2] == _IN_NATS
    return {
        "flops_per_parameter": factor,
        "law": "" if fit is None or fit.refusal else formula(fit.law),
        "refusal": fitted.refusal,
        "estimates": [] if fit is None else [{"name": name} | vars(each) for name, each in fit.estimates.items()],
        "r_squared": None if fit is None else fit.r_squared,
        "huber": None if fit is None else fit.huber,
        "n_points": len(used.size),
        "n_settings": 0 if fit is None else fit.n_settings,
        "n_sizes": len(np.unique(used.size)),
        "n_range": ranges[0],
        "d_range": ranges[1],
        "n_starts": 0 if fit is None else fit.n_starts,
        "n_resamples": 0 if fit is None else fit.n_resamples,
        "optimum": [] if fit is None else [_optimum(fit, each, factor, flops, ranges) for each in wanted],
        "published": [*beside_points(sizes, used.tokens, used.loss)] if is_in_nats else [],
    }


def _optimum(
    fit: LossLawFit, flops: float, factor: float, measured: Floats, ranges: Sequence[Sequence[float]]
) -> dict[str, Any]:
    optimum: Optimum = fit.optimum(flops, factor)
    n, d = fit.law.optimum(flops, factor)
    places = (
        ("compute", flops, (float(measured.min()), float(measured.max()))),
        ("n", n, ranges[0]),
        ("d", d, ranges[1]),
    )
    # The largest compute of the points is within them, whatever its rounding.
    beyond = [name for name, at, (low, high) in places if not low * (1 - 1e-9) <= at <= high * (1 + 1e-9)]
    ends: dict[str, float | None] = {}
    for name in ("n", "d", "loss"):
        each: Estimate = getattr(optimum, name)
        ends |= {name: each.value, f"{name}_lower": each.lower, f"{name}_upper": each.upper}
    return {"flops": flops, **ends, "extrapolates": ", ".join(beyond)}


def _rows(searches: Sequence[Search], fitted: _Fitted) -> Iterator[Rows]:
    """Yield the points of each workload."""
    points = fitted.points
    laws = np.full(len(points.why), np.nan)
    if fitted.fit is not None:
        laws[fitted.is_used] = fitted.fit.fitted
    with np.errstate(divide="ignore", invalid="ignore"):
        residuals = np.log(points.loss) - np.log(laws)
    reasons = pa.array([None, *REASONS[1:]])
    for number, search in enumerate(searches):
        places = np.flatnonzero(points.workload == number)
        facts, rows = search.facts, points.row[places]
        yield QUESTION.rows.of(
            {
                "workload": str(facts.workload),
                "batch_size": np.asarray(facts.batch_sizes, np.int64)[facts.study_of_trial[rows]],
                "trial_id": facts.trials.trial_id[rows],
                "step": points.step[places],
                "n": finite(points.size[places]),
                "d": finite(points.tokens[places]),
                "loss": finite(points.loss[places]),
                "fitted": finite(laws[places]),
                "residual": finite(residuals[places]),
                "left_out_because": reasons.take(pa.array(points.why[places])),
            }
        )


def _left_out(points: LossPoints) -> Iterator[str]:
    for reason, count in sorted(Counter(points.why.tolist()).items()):
        if reason:
            yield f"{count} {plural('evaluation', count)} {REASONS[reason]}"


def _warnings(searches: Sequence[Search], fitted: _Fitted, parameters: LossLawParameters) -> Iterator[str]:
    used = fitted.points.of(np.flatnonzero(fitted.is_used))
    if fitted.fit is None:
        is_of_ends = parameters.points == "final" and " of tokens" in fitted.refusal
        yield f"no law is fitted: {fitted.refusal}" + ("; points=all adds those before the end" if is_of_ends else "")
    elif fitted.refusal:
        yield f"the points don't determine the law: {fitted.refusal}"
    if len({search.facts.workload.dataset for search in searches}) > 1:
        yield "the workloads have several data sets, whose losses don't compare"
    sizes = {
        searches[number].facts.batch_sizes[searches[number].facts.study_of_trial[row]]
        for number, row in zip(used.workload.tolist(), used.row.tolist(), strict=True)
    }
    if len(sizes) > 1:
        yield f"the points have {len(sizes)} batch sizes: above the critical one, the loss depends on it, too"
    if parameters.points == "all":
        yield (
            "evaluations before the end of training are fitted: where the learning rate decays later, their loss is "
            "above that of a training that ends there"
        )
    ratios = _stated_ratios(used)
    if parameters.compute == "6ND" and len(ratios):
        least, most = float(ratios.min()) / FLOPS_PER_PARAMETER - 1, float(ratios.max()) / FLOPS_PER_PARAMETER - 1
        if max(-least, most) > _UNLIKE_RULE:
            yield (f"stated FLOPs of a token differ from 6 N by {least:+.0%} to {most:+.0%}: compute=stated uses them")
