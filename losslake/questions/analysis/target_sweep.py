"""Target sweep: how scaling depends on the target, and for which targets a claim about it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from losslake.analysis.break_points import BreakPoints
from losslake.analysis.envelope import Ranks, breakpoints, chosen_targets, coverage, ranks, reach
from losslake.analysis.identifiability import IdentifiedFits
from losslake.output.answer import Answer, row_shape
from losslake.output.plain import finite, whole
from losslake.questions.analysis.finding import Finding
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import target_grid
from losslake.questions.search import facts_of, search
from losslake.questions.selection import Selection
from losslake.questions.sweep import StudyEnvelopes, Sweep, claims, shared_sizes, steps_at_shared_sizes, study_envelopes
from losslake_schema.reached import NEVER, Comparator, Floats, strict_bound

TARGET_SWEEP = row_shape(
    "target-sweep", "workload", "target", "coverage", "fewest_steps", "fewest_examples", "perfect_scaling_end",
    "perfect_scaling_end_censoring", "max_useful_batch_size", "max_useful_batch_size_censoring", "critical_batch_size",
    "critical_batch_size_lower", "critical_batch_size_upper", "s_min", "e_min", "rms_log_residual", "not_identifiable",
    "mean_rank", "n_fewest", "n_compared",
)  # fmt: skip
Spacing = Literal["breakpoints", "linear", "log"]
MOST_TARGETS = 200
_DEFINITION = (
    "Steps to every target are exact, from the records of all admitted trials merged by (step, trial_id). coverage: "
    "share of batch sizes that reach the target. Break points are read off the steps (tolerances 0.2 and 0.1); the "
    "critical batch size is B_c of the robust fit of S = S_min (1 + B_c/B), null where the data can't tell it. Ranks "
    "are by batch size, over those that all workloads have and any reaches the target at; never comes last. "
    "Claims are evaluated between all breakpoints. n_used counts breakpoints: targets at which anything changes."
)
_POST_HOC = "a target chosen after looking at this answer makes any claim look better: report the range, not one target"
_CENSORED = {(True, False): "left", (False, True): "right"}


@dataclass(frozen=True)
class TargetGrid:
    """Which targets to look at, from lowest to highest; None for what the data has to choose.

    spacing: evenly among the targets for which something changes, evenly, or by even ratios.
    """

    lowest: float | None = None
    highest: float | None = None
    count: int = 50
    spacing: Spacing = "breakpoints"

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_TARGETS:
            raise BadParameter("n_targets", f"n_targets is {self.count:,}: give 1 to {MOST_TARGETS:,}")
        given = [end for end in (self.lowest, self.highest) if end is not None]
        if not np.isfinite(given).all() or given != sorted(given):
            raise BadParameter("target_min", "give finite target_min and target_max, the lower one first")


def target_sweep(
    view: ReleaseView, selection: Selection, comparator: Comparator = "strict", grid: TargetGrid | None = None
) -> Answer:
    """Scaling at many targets by workload, from the easiest to the hardest; raises UnknownName and BadParameter."""
    merged = [study_envelopes(search(view, selection, workload)) for workload in selection.workloads]
    sign = merged[0].found.sign
    targets = _targets(merged, grid or TargetGrid(), sign)
    losses = strict_bound(targets * sign, comparator)
    sweeps = [Sweep(one, losses) for one in merged]
    fits = [one.fits() for one in sweeps]
    compared = ranks(steps_at_shared_sizes(merged, losses)) if len(merged) > 1 and shared_sizes(merged) else None
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(len(breakpoints(one.envelopes)) for one in merged),
        left_out=tuple(text for one, fit in zip(sweeps, fits, strict=True) for text in _left_out(one, fit)),
        warnings=(
            _POST_HOC,
            *_nothing(targets),
            *(text for one, fit in zip(sweeps, fits, strict=True) for text in _warnings(one, fit)),
        ),
    )
    facts = facts_of(view, selection, merged[0].found.direction) | {"comparator": comparator}
    facts |= {"summaries": [_summary(one) for one in merged]}
    facts |= {"claims": [claim.as_fact(sign) for claim in claims(merged)]} | finding.facts()
    batches = [
        _rows(one, fit, targets, None if compared is None else _of(compared, index))
        for index, (one, fit) in enumerate(zip(sweeps, fits, strict=True))
    ]
    return Answer(facts, TARGET_SWEEP.schema, iter(batches))


def _targets(merged: Sequence[StudyEnvelopes], grid: TargetGrid, sign: float) -> Floats:
    """The targets of the grid in the metric's unit, from the easiest to the hardest."""
    envelopes = [envelope for one in merged for envelope in one.envelopes]
    everything = chosen_targets(envelopes, 2**62) * sign
    lowest = grid.lowest if grid.lowest is not None else everything.min(initial=np.inf)
    highest = grid.highest if grid.highest is not None else everything.max(initial=-np.inf)
    if grid.spacing == "breakpoints":
        within = everything[(everything >= lowest) & (everything <= highest)]
        ranked = np.linspace(0, len(within) - 1, min(grid.count, len(within))).round().astype(np.int64)
        return within[ranked] if len(within) else within
    if lowest > highest:
        return np.empty(0)
    ascending = np.array(target_grid(float(lowest), float(highest), grid.count, grid.spacing == "log"))
    return ascending[::-1] if sign > 0 else ascending


def _nothing(targets: Floats) -> list[str]:
    return [] if len(targets) else ["nothing changes between target_min and target_max, so there is no target to show"]


def _of(compared: Ranks, workload: int) -> Ranks:
    return Ranks(compared.mean_rank[workload], compared.n_fewest[workload], compared.n_compared)


def _summary(merged: StudyEnvelopes) -> dict[str, Any]:
    found, reached = merged.found, reach(merged.envelopes)

    def value(loss: float | None) -> float | None:
        return None if loss is None else loss * found.sign

    return {
        "workload": str(found.facts.workload),
        "n_breakpoints": len(breakpoints(merged.envelopes)),
        "hardest_for_all": value(reached.hardest_for_all),
        "limiting_batch_size": None if reached.limiting is None else found.facts.batch_sizes[reached.limiting],
        "hardest_for_any": value(reached.hardest_for_any),
    }


def _left_out(one: Sweep, fits: IdentifiedFits) -> list[str]:
    """In words, at how many targets there is no critical batch size, and why."""
    name, count = one.found.facts.workload, len(one.targets)
    reasons = Counter(reason for reason in fits.refusal if reason is not None)
    return [f"{name}: no critical batch size at {n} of {count} targets: {reason}" for reason, n in reasons.items()]


def _warnings(one: Sweep, fits: IdentifiedFits) -> list[str]:
    name = one.found.facts.workload
    known = fits.critical_batch_size[fits.is_identifiable]
    found = []
    if len(known) > 1 and known.max() > 1.5 * known.min():
        moved = f"from {known.min():.4g} to {known.max():.4g}, {known.max() / known.min():.1f}-fold"
        found.append(f"{name}: the critical batch size depends on the target: {moved}")
    missing = [size for size, one_of in zip(one.batch_sizes, one.merged.envelopes, strict=True) if not len(one_of.loss)]
    if missing:
        found.append(f"{name}: batch size {', '.join(map(str, missing))} has no finite value and reaches no target")
    return found


def _rows(one: Sweep, fits: IdentifiedFits, targets: Floats, compared: Ranks | None) -> pa.RecordBatch:
    end, useful = one.perfect_ends(), one.max_useful()
    columns: dict[str, Any] = {
        "workload": [str(one.found.facts.workload)] * len(targets),
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
        "mean_rank": None if compared is None else finite(compared.mean_rank),
        "n_fewest": None if compared is None else compared.n_fewest,
        "n_compared": None if compared is None else compared.n_compared,
    }
    nothing = [None] * len(targets)
    arrays = [pa.array(nothing if (own := columns[f.name]) is None else own, f.type) for f in TARGET_SWEEP.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=TARGET_SWEEP.schema)


def _examples(one: Sweep) -> Floats:
    """Targets by studies; inf for never, at batch size 0 as well."""
    sizes = np.broadcast_to(np.asarray(one.batch_sizes, np.float64), one.steps.shape)
    examples: Floats = np.full(one.steps.shape, np.inf)
    np.multiply(one.steps, sizes, out=examples, where=np.isfinite(one.steps))
    return examples


def _sizes(one: Sweep, points: BreakPoints) -> list[int | None]:
    return [one.batch_sizes[index] if index != NEVER else None for index in points.index.tolist()]


def _censoring(points: BreakPoints) -> list[str | None]:
    flags = zip(points.is_left_censored.tolist(), points.is_right_censored.tolist(), strict=True)
    return [_CENSORED.get(each) for each in flags]
