"""Solution quality: the best value by batch size within budgets of steps, of examples, and without limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.quality import SATURATED, Budget, best_within, is_within_training, share_of_run, shared_budgets
from losslake.output.answer import Answer, row_shape
from losslake.output.plain import finite
from losslake.questions.analysis.finding import Finding
from losslake.questions.analysis.quality_conclusions import Conclusion, conclusion
from losslake.questions.endings import Endings, endings
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import examples_of
from losslake.questions.search import Search, at, facts_of, search
from losslake.questions.selection import Selection
from losslake.questions.sweep import StudyEnvelopes, study_envelopes
from losslake.questions.wording import listed, unequal_searches
from losslake_schema.reached import NEVER, Floats, Integers

QUALITY = row_shape(
    "quality", "workload", "budget_kind", "budget", "batch_size", "best_value", "shortfall", "trial_id", "step",
    "examples", "share_of_run", "is_saturated", "is_within_training", "n_trials", "last_value",
    "median_of_last_values", "test_value",
)  # fmt: skip
MOST_BUDGETS = 50
_DEFINITION = (
    "Q(B): the best finite value over the admitted trials and all their evaluations with step <= budget, or "
    "step x batch size <= budget (both inclusive), or any; a tie goes to the least step, then to the lower trial_id. "
    "Equal steps favour large batch sizes, equal examples small ones. n_used counts trials."
)
_OPTIMISTIC = (
    "the best over evaluations and trials is optimistic, more so with more of either: last=true adds how the best "
    "trial's curve ended, and the test value where validation was best"
)


@dataclass(frozen=True)
class _Best:
    """The best of each study of a workload within one budget. records: by study, NEVER for none."""

    merged: StudyEnvelopes
    budget: Budget
    records: Integers
    limits: Integers
    within_training: Sequence[bool | None]

    @property
    def is_there(self) -> Sequence[bool]:
        found: list[bool] = (self.records != NEVER).tolist()
        return found


def quality(
    view: ReleaseView,
    selection: Selection,
    step_budgets: Sequence[int] = (),
    example_budgets: Sequence[int] = (),
    with_last: bool = False,
) -> Answer:
    """The best values by workload, budget and batch size; raises UnknownName and BadParameter.

    Without budgets, those that every batch size of the workload was trained for; always also without a limit.
    with_last: read the best trials' curves, for how they ended and for the test value at the best validation value.
    """
    if len(step_budgets) + len(example_budgets) > MOST_BUDGETS:
        raise BadParameter("step_budget", f"there are more than {MOST_BUDGETS} budgets: give fewer")
    asked = [Budget("steps", amount) for amount in step_budgets]
    asked += [Budget("examples", amount) for amount in example_budgets]
    searches = [search(view, selection, workload) for workload in selection.workloads]
    found = [_bests(view, one, asked) for one in searches]
    each = [best for bests in found for best in bests]
    conclusions = [made for best in each if (made := _conclusion(best)) is not None]
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(int(one.n_admitted.sum()) for one in searches),
        left_out=tuple(text for best in each for text in _left_out(best)),
        warnings=(
            *([] if with_last else [_OPTIMISTIC]),
            *(
                text
                for one in searches
                for text in unequal_searches(
                    str(one.facts.workload), one.n_admitted.tolist(), "trials= takes equally many"
                )
            ),
            *(text for best in each for text in _unsaturated(best)),
        ),
    )
    facts = facts_of(view, selection, searches[0].direction)
    facts |= {"step_budget": list(step_budgets), "example_budget": list(example_budgets)}
    facts |= {"conclusions": [one.as_fact() for one in conclusions]} | finding.facts()
    batches = [batch for bests in found for batch in _batches(view, selection, bests, with_last)]
    return Answer(facts, QUALITY.schema, iter(batches))


def _bests(view: ReleaseView, found: Search, asked: Sequence[Budget]) -> list[_Best]:
    facts, merged = found.facts, study_envelopes(found)
    of_workload = {"first_study": facts.first_study, "last_study": facts.last_study}
    train_steps = [int(steps) for (steps,) in view.rows("train_steps", of_workload)]
    ran = [steps or last for steps, last in zip(train_steps, found.last_steps.tolist(), strict=True)]
    budgets = [*asked, Budget("unlimited")] if asked else shared_budgets(facts.batch_sizes, ran)
    limits = np.array([budget.steps(facts.batch_sizes) for budget in budgets])
    entries = best_within(merged.envelopes, limits)
    return [
        _Best(merged, budget, merged.records(own), limit, is_within_training(budget, facts.batch_sizes, train_steps))
        for budget, limit, own in zip(budgets, limits, entries, strict=True)
    ]


def _conclusion(best: _Best) -> Conclusion | None:
    counts = [there and within is not False for there, within in zip(best.is_there, best.within_training, strict=True)]
    return conclusion(best.merged.found, best.budget, best.limits, np.where(counts, best.records, NEVER))


def _batches(
    view: ReleaseView, selection: Selection, bests: Sequence[_Best], with_last: bool
) -> Iterator[pa.RecordBatch]:
    """The rows of a workload, a batch per budget."""
    ends: Sequence[Endings | None] = [None] * len(bests)
    if with_last:
        merged = bests[0].merged
        records = np.array([best.records for best in bests])
        steps = at(merged.found.records.step, records.ravel()).reshape(records.shape)
        limits = np.array([best.limits for best in bests])
        ends = endings(view, merged.found.facts, selection.metric, merged.trials(records), steps, limits)
    for best, own in zip(bests, ends, strict=True):
        yield _rows(best, own)


def _left_out(best: _Best) -> list[str]:
    """In words, batch sizes without a value, and those that the conclusion leaves out."""
    where = f"{best.merged.found.facts.workload}, {best.budget.in_words}"
    sizes = best.merged.found.facts.batch_sizes
    without = [size for size, there in zip(sizes, best.is_there, strict=True) if not there]
    short = [
        size
        for size, there, within in zip(sizes, best.is_there, best.within_training, strict=True)
        if there and within is False
    ]
    return [
        *([f"{where}: no admitted trial has a finite value at batch size {listed(without)}"] if without else []),
        *([f"{where}: trained for less, not in the conclusion: batch size {listed(short)}"] if short else []),
    ]


def _unsaturated(best: _Best) -> list[str]:
    shares = _shares(best)
    late = [size for size, share in zip(best.merged.found.facts.batch_sizes, shares, strict=True) if share > SATURATED]
    if not late:
        return []
    where = f"{best.merged.found.facts.workload}, {best.budget.in_words}"
    return [f"{where}: at batch size {listed(late)} the best came in the last 5% of the run: more steps may be better"]


def _shares(best: _Best) -> list[float]:
    """By study, at which share of its run, or of the budget if that is less, the best trial was best; NaN for none."""
    found = best.merged.found
    last = np.minimum(at(found.facts.trials.last_step, best.merged.trials(best.records)), best.limits)
    step = at(found.records.step, best.records)
    shares = share_of_run(step.astype(np.float64), last.astype(np.float64))
    result: list[float] = np.where(best.records != NEVER, shares, np.nan).tolist()
    return result


def _shortfalls(losses: Floats) -> Floats:
    """By study, how far its loss is above the least; not finite where there is none."""
    with np.errstate(invalid="ignore", over="ignore"):
        short: Floats = losses - losses.min(initial=np.inf)
    return short


def _rows(best: _Best, ends: Endings | None) -> pa.RecordBatch:
    found, sizes = best.merged.found, best.merged.found.facts.batch_sizes
    steps: list[int] = at(found.records.step, best.records).tolist()
    values = at(found.records.value, best.records)
    losses = np.where(best.records != NEVER, values * found.sign, np.inf)
    shares = _shares(best)
    trials = at(found.facts.trials.trial_id, best.merged.trials(best.records)).tolist()

    def where_there(values: Sequence[Any]) -> list[Any]:
        return [value if there else None for value, there in zip(values, best.is_there, strict=True)]

    columns: dict[str, Any] = {
        "workload": [str(found.facts.workload)] * len(sizes),
        "budget_kind": [best.budget.kind] * len(sizes),
        "budget": [best.budget.amount] * len(sizes),
        "batch_size": sizes,
        "best_value": where_there(values.tolist()),
        "shortfall": finite(_shortfalls(losses)).to_pylist(),
        "trial_id": where_there(trials),
        "step": where_there(steps),
        "examples": where_there([examples_of(step, size) for step, size in zip(steps, sizes, strict=True)]),
        "share_of_run": [None if np.isnan(share) else share for share in shares],
        "is_saturated": [None if np.isnan(share) else share <= SATURATED for share in shares],
        "is_within_training": best.within_training,
        "n_trials": found.n_admitted.tolist(),
        "last_value": ends and ends.last,
        "median_of_last_values": ends and ends.median,
        "test_value": ends and ends.test,
    }
    nothing = [None] * len(sizes)
    arrays = [pa.array(columns[field.name] or nothing, field.type) for field in QUALITY.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=QUALITY.schema)
