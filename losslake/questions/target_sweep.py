"""The dependence of scaling on the target, and the targets for which a claim about it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from losslake.analysis.break_points import BreakPoints
from losslake.analysis.envelope import Ranks, breakpoints, chosen_targets, coverage, ranks, reach
from losslake.analysis.identifiability import IdentifiedFits
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import finite, whole
from losslake.output.rows import Row, shown, unit
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import (
    WORKLOAD,
    ComparatorParameters,
    Finite,
    Natural,
    ResultParameters,
    check_targets,
)
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ComparatorSummary, Finding, ResultSummary, Summary, results_of
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.targets import target_grid
from losslake.questions.trials.claims import claims
from losslake.questions.trials.scaling_curve import EXACT_STEPS
from losslake.questions.trials.search import open_searches
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.sweep import StudyEnvelopes, Sweep, shared_sizes, steps_at_shared_sizes, study_envelopes
from losslake_schema.reached import NEVER, Floats, strict_bound

Spacing = Literal["breakpoints", "linear", "log"]
MOST_TARGETS = 200
_POST_HOC = "a target chosen after looking at this answer makes any claim look better: report the range, not one target"
_OVERLAP = "estimates of the critical batch size move with the target, but no more than their intervals allow"
_NO_TARGET = "nothing changes between target_min and target_max, so there is no target to show"


class TargetSweepParameters(ResultParameters, ComparatorParameters):
    """The parameters of the target sweep."""

    target_min: Annotated[Finite | None, shown(0.02, "unit of the metric")] = None
    """Lowest target. Default, also for the highest: from the hardest that any batch size reaches to the easiest that
    none reaches at its first evaluation."""
    target_max: Annotated[Finite | None, shown(0.2, "unit of the metric")] = None
    """Highest target."""
    n_targets: Annotated[Natural, shown(50, "targets", ge=1, le=MOST_TARGETS)] = 50
    """Number of targets."""
    spacing: Annotated[Spacing, shown("linear")] = "breakpoints"
    """Spacing of targets: evenly among breakpoints, where the answer changes; linear; or log, by even ratios."""

    def with_goal(self, view: ReleaseView) -> Self:
        """Return these parameters, completed; raises UnknownName, and BadParameter for a bound out of range, too."""
        completed = super().with_goal(view)
        check_targets(completed.metric, target_min=self.target_min, target_max=self.target_max)
        return completed

    def check(self) -> None:
        """Raise BadParameter for bounds in the wrong order."""
        if self.target_min is not None and self.target_max is not None and self.target_min > self.target_max:
            raise BadParameter("target_min", "give finite target_min and target_max, the lower one first")


class TargetSweepRow(Row):
    """A workload and target."""

    workload: str
    target: float
    coverage: Annotated[float, shown(1.0)]
    """Share of the workload's batch sizes that reach the target."""
    fewest_steps: Annotated[int | None, shown(120, "steps")]
    """Fewest steps to the target at any batch size; null if none reaches it."""
    fewest_examples: Annotated[int | None, shown(9600, "batch_unit of the study, mostly examples")]
    """Fewest examples to the target at any batch size; null if none reaches it, and beyond 64 bits."""
    perfect_scaling_end: Annotated[int | None, shown(32, "batch_unit of the study, mostly examples")]
    """Largest batch size that needs at most 1.2 times the fewest examples of any; null if none reached, or they are
    too close to tell."""
    perfect_scaling_end_censoring: Annotated[str | None, shown("left")]
    """left, right: the true end may be below the smallest, above the largest that reached; null for neither."""
    max_useful_batch_size: Annotated[int | None, shown(256, "batch_unit of the study, mostly examples")]
    """Smallest batch size on whose steps no larger one improves by more than a tenth; null if none reached."""
    max_useful_batch_size_censoring: Annotated[str | None, shown("right")]
    """right: the largest that reached the target still gains, or is too close to it to tell; left: it is the smallest;
    null: neither."""
    critical_batch_size: Annotated[float | None, shown(83.7, "batch_unit of the study, mostly examples")]
    """B_c = E_min/S_min of the fit; null where the data can't determine it, for the reason in not_identifiable."""
    critical_batch_size_lower: Annotated[float | None, shown(68.6, "batch_unit of the study, mostly examples")]
    """Lower end of its 90% interval; a one-sided 95% bound if critical_batch_size is null; null for no bound."""
    critical_batch_size_upper: Annotated[float | None, shown(103.1, "batch_unit of the study, mostly examples")]
    """Upper end of its 90% interval; a one-sided 95% bound if critical_batch_size is null; null for no bound."""
    s_min: Annotated[float | None, shown(115.0, "steps")]
    """Fewest steps, at infinite batch size, by the fit; null like critical_batch_size."""
    e_min: Annotated[float | None, shown(9630.0, "batch_unit of the study, mostly examples")]
    """Fewest examples, at the smallest batch size, by the fit; null like critical_batch_size."""
    rms_log_residual: Annotated[float | None, shown(0.08, "none: a ratio, about")]
    """Root mean square of log(steps / fitted steps) over batch sizes; null like critical_batch_size."""
    not_identifiable: Annotated[str | None, shown("no bend")]
    """The reason for no critical batch size: too few, too coarse, too unequal, no bend, no scaling, extrapolated."""
    mean_rank: Annotated[float | None, shown(1.3, "ranks")]
    """Mean rank by steps over the compared batch sizes, 1 for the fewest; null for one workload, or if none reached."""
    n_fewest: Annotated[int | None, shown(8, "batch sizes")]
    """At how many of these no workload needs fewer steps; null for one workload."""
    n_compared: Annotated[int | None, shown(11, "batch sizes")]
    """Batch sizes that all workloads have and at which any reaches the target; null for one workload."""


class SweptWorkload(Summary):
    """A workload of the sweep."""

    workload: Annotated[str, shown(WORKLOAD)]
    n_breakpoints: Annotated[int, shown(207)]
    hardest_for_all: Annotated[float | None, shown(0.03)]
    limiting_batch_size: Annotated[int | None, shown(1024)]
    hardest_for_any: Annotated[float | None, shown(0.0133)]


class TargetRange(Summary):
    """Targets between which a claim holds."""

    hardest: Annotated[float, shown(0.03)]
    easiest: Annotated[float | None, shown(None)]


class ClaimSummary(Summary):
    """A claim about scaling, and the targets for which it holds."""

    workload: Annotated[str, shown(WORKLOAD)]
    claim: Annotated[str, shown("every batch size reaches the target")]
    intervals: list[TargetRange]


class TargetSweepSummary(ResultSummary, ComparatorSummary, Finding):
    """The results over all targets."""

    summaries: Annotated[list[SweptWorkload], Field(json_schema_extra=unit("unit of the metric"))]
    """Per workload: the number of targets at which anything changes; the hardest target that all batch sizes reach,
    exclusive, with the batch size that limits it (null if one has no value); and the best value of all."""
    claims: Annotated[list[ClaimSummary], Field(json_schema_extra=unit("unit of the metric"))]
    """The targets for which a claim holds, exactly: those easier than `hardest` up to `easiest`, inclusive, null for no
    limit (comparator=inclusive: from `hardest` to `easiest`, exclusive). No intervals: it holds nowhere."""


def _answer(view: ReleaseView, parameters: TargetSweepParameters) -> Answer:
    """Return scaling at many targets by workload, easiest first; raises UnknownName and BadParameter."""
    parameters.check()
    merged = [study_envelopes(search) for search in open_searches(view, parameters.selection())]
    sign = merged[0].search.sign
    targets = _targets(merged, parameters, sign)
    losses = strict_bound(targets * sign, parameters.known_comparator)
    sweeps = [Sweep(one, losses) for one in merged]
    fits = [one.fits() for one in sweeps]
    compared = ranks(steps_at_shared_sizes(merged, losses)) if len(merged) > 1 and shared_sizes(merged) else None
    return QUESTION.analysis(
        view,
        parameters,
        [
            _rows(one, fit, targets, None if compared is None else _of(compared, index))
            for index, (one, fit) in enumerate(zip(sweeps, fits, strict=True))
        ],
        {
            "results": results_of(one.search for one in merged),
            "summaries": [_summary(one) for one in merged],
            "claims": list(claims(merged)),
        },
        n_used=sum(len(breakpoints(one.envelopes)) for one in merged),
        left_out=(text for one, fit in zip(sweeps, fits, strict=True) for text in _left_out(one, fit)),
        warnings=(
            _POST_HOC,
            *([] if len(targets) else [_NO_TARGET]),
            *(text for one, fit in zip(sweeps, fits, strict=True) for text in _warnings(one, fit)),
        ),
        goals=[Goal(target, parameters.known_comparator) for target in targets[-1:].tolist()] * len(merged),
    )


QUESTION = Question(
    path="/v1/analysis/target-sweep",
    doc="How regimes, critical batch size and the order of workloads depend on the target, and where a claim holds.",
    parameters=TargetSweepParameters,
    row=TargetSweepRow,
    summary=TargetSweepSummary,
    compute=_answer,
    cost=lambda parameters: Cost(5000 + 350 * parameters.n_targets, 300 + 30 * parameters.n_targets, 10),
)


def _targets(merged: Sequence[StudyEnvelopes], parameters: TargetSweepParameters, sign: float) -> Floats:
    """Return the requested targets, in the metric's unit, from the easiest to the hardest."""
    envelopes = [envelope for one in merged for envelope in one.envelopes]
    everything = chosen_targets(envelopes, 2**62) * sign
    count, spacing = parameters.n_targets, parameters.spacing
    lowest = everything.min(initial=np.inf) if parameters.target_min is None else parameters.target_min
    highest = everything.max(initial=-np.inf) if parameters.target_max is None else parameters.target_max
    if spacing == "breakpoints":
        within = everything[(everything >= lowest) & (everything <= highest)]
        ranked = np.linspace(0, len(within) - 1, min(count, len(within))).round().astype(np.int64)
        return within[ranked] if len(within) else within
    if lowest > highest:
        return np.empty(0)
    ascending = np.array(target_grid(float(lowest), float(highest), count, spacing == "log"))
    return ascending[::-1] if sign > 0 else ascending


def _of(compared: Ranks, workload: int) -> Ranks:
    return Ranks(compared.mean_rank[workload], compared.n_fewest[workload], compared.n_compared)


def _summary(merged: StudyEnvelopes) -> dict[str, Any]:
    search, reached = merged.search, reach(merged.envelopes)

    def value(loss: float | None) -> float | None:
        return None if loss is None else loss * search.sign

    return {
        "workload": str(search.facts.workload),
        "n_breakpoints": len(breakpoints(merged.envelopes)),
        "hardest_for_all": value(reached.hardest_for_all),
        "limiting_batch_size": None if reached.limiting is None else search.facts.batch_sizes[reached.limiting],
        "hardest_for_any": value(reached.hardest_for_any),
    }


def _left_out(one: Sweep, fits: IdentifiedFits) -> list[str]:
    """Return in words the number of targets without a critical batch size, by reason."""
    name, count = one.search.facts.workload, len(one.targets)
    reasons = Counter(reason for reason in fits.refusal if reason is not None)
    return [f"{name}: no critical batch size at {n} of {count} targets: {reason}" for reason, n in reasons.items()]


def _warnings(one: Sweep, fits: IdentifiedFits) -> Iterator[str]:
    name = one.search.facts.workload
    if one.search.facts.is_reference:
        yield f"{name}: {EXACT_STEPS}"
    sizes = fits.critical_batch_size[fits.is_identifiable]
    if len(sizes) > 1 and sizes.max() > 1.5 * sizes.min():
        moved = f"from {sizes.min():.4g} to {sizes.max():.4g}, {sizes.max() / sizes.min():.1f}-fold"
        differs = fits.lower[fits.is_identifiable].max() > fits.upper[fits.is_identifiable].min()
        what = "the critical batch size depends on the target" if differs else _OVERLAP
        yield f"{name}: {what}: {moved}"
    missing = [size for size, one_of in zip(one.batch_sizes, one.merged.envelopes, strict=True) if not len(one_of.loss)]
    if missing:
        yield f"{name}: batch size {', '.join(map(str, missing))} has no finite value and reaches no target"


def _rows(one: Sweep, fits: IdentifiedFits, targets: Floats, compared: Ranks | None) -> Rows:
    end, useful = one.perfect_ends(), one.max_useful()
    return QUESTION.rows.of(
        {
            "workload": str(one.search.facts.workload),
            "target": targets,
            "coverage": coverage(one.steps),
            "fewest_steps": whole(one.steps.min(axis=1)),
            "fewest_examples": whole(_examples(one).min(axis=1)),
            "perfect_scaling_end": _sizes(one, end),
            "perfect_scaling_end_censoring": _censoring(end),
            "max_useful_batch_size": _sizes(one, useful),
            "max_useful_batch_size_censoring": _censoring(useful),
            "critical_batch_size": finite(fits.critical_batch_size),
            "critical_batch_size_lower": finite(fits.lower),
            "critical_batch_size_upper": finite(fits.upper),
            "s_min": finite(fits.s_min),
            "e_min": finite(fits.s_min * fits.critical_batch_size),
            "rms_log_residual": finite(fits.rms_log_residual),
            "not_identifiable": list(fits.refusal),
            "mean_rank": compared and finite(compared.mean_rank),
            "n_fewest": compared and compared.n_fewest,
            "n_compared": compared and compared.n_compared,
        }
    )


def _examples(one: Sweep) -> Floats:
    """Return examples, targets by studies; inf for never."""
    return one.steps * np.asarray(one.batch_sizes, np.float64)


def _sizes(one: Sweep, points: BreakPoints) -> list[int | None]:
    is_known = (points.index != NEVER) & ~(points.is_left_censored & points.is_right_censored)
    ends = zip(points.index.tolist(), is_known.tolist(), strict=True)
    return [one.batch_sizes[index] if known else None for index, known in ends]


def _censoring(points: BreakPoints) -> list[str | None]:
    flags = zip(points.is_left_censored.tolist(), points.is_right_censored.tolist(), strict=True)
    return [{(True, False): "left", (False, True): "right"}.get(each) for each in flags]
