"""Solution quality: the best value by batch size within budgets of steps, of examples, and without limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.quality import (
    SATURATED,
    Budget,
    Shortfall,
    best_within,
    is_within_training,
    share_of_run,
    shared_budgets,
    shortfall,
)
from losslake.output.answer import Answer
from losslake.output.plain import finite
from losslake.output.rows import Row, shown, unit
from losslake.questions.endings import Endings, endings
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import BATCH_UNIT, WORKLOAD, MetricParameters, Natural
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, examples_of, searches_of
from losslake.questions.summary import Finding, SelectionSummary, Summary
from losslake.questions.sweep import StudyEnvelopes, study_envelopes
from losslake.questions.wording import listed, unequal_searches
from losslake_schema.reached import NEVER, Floats, Integers

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


class QualityParameters(MetricParameters):
    """How good do solutions get within budgets?"""

    step_budget: Annotated[list[Natural], shown([1000], "steps", max_length=MOST_BUDGETS)] = Field(default_factory=list)
    """Only evaluations at this step or before; may be repeated. Default, without any budget: the most steps, and the
    most examples, for which every batch size was trained."""
    example_budget: Annotated[list[Natural], shown([100000], BATCH_UNIT, max_length=MOST_BUDGETS)] = Field(
        default_factory=list
    )
    """Only evaluations after at most this many examples, step times batch size; may be repeated."""
    last: Annotated[bool, shown(False)] = False
    """Whether to read the curves of the best trials too, for how they ended and for their test values."""


class QualityRow(Row):
    """A study and budget."""

    workload: str
    budget_kind: Annotated[str, shown("steps")]
    """What limits a trial: steps, examples (step times batch size), or unlimited."""
    budget: Annotated[int | None, shown(1000, "steps, or batch_unit of the study")]
    """How many of them, inclusive; null for unlimited."""
    batch_size: int
    best_value: Annotated[float | None, shown(0.0195, "unit of the metric")]
    """Best finite value of the metric over the admitted trials and their evaluations within the budget; null if none.
    """
    shortfall: Annotated[float | None, shown(0.0028, "unit of the metric")]
    """How much worse that is than the best of the workload's batch sizes within this budget; 0 for the best itself."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial that had it first, of several at that step the one with the lowest number; null without a value."""
    step: Annotated[int | None, shown(400, "steps")]
    """The step at which it had it; null without a value."""
    examples: Annotated[int | None, shown(25600, "batch_unit of the study, mostly examples")]
    """step times batch_size; null without a value, or where it exceeds 64 bits."""
    share_of_run: Annotated[float | None, shown(0.81)]
    """That step by the trial's last step, or by the budget in steps where that is less; null without a value."""
    is_saturated: Annotated[bool | None, shown(True)]
    """Whether the best came before the last 5% of the run: if not, more steps might be better still."""
    is_within_training: Annotated[bool | None, shown(True)]
    """Whether trials of the study had to run that far (its train_steps); null if unlimited, or where it isn't known."""
    n_trials: int
    last_value: Annotated[float | None, shown(0.0223, "unit of the metric")]
    """The trial's last value within the budget; null unless last=true, or if it isn't finite."""
    median_of_last_values: Annotated[float | None, shown(0.0223, "unit of the metric")]
    """Median of the trial's last five finite values within the budget; null unless last=true."""
    test_value: Annotated[float | None, shown(0.0306, "unit of the metric")]
    """The test metric of the same name at that trial and step (validation selects, test reports); null unless
    last=true."""


class ConclusionSummary(Summary):
    """Whether large batch sizes cost a workload solution quality within a budget."""

    workload: Annotated[str, shown(WORKLOAD)]
    budget_kind: Annotated[str, shown("steps")]
    budget: Annotated[int | None, shown(416)]
    best_value: Annotated[float, shown(0.02)]
    largest_value: Annotated[float, shown(0.03)]
    best_batch_size: Annotated[int, shown(64)]
    largest_batch_size: Annotated[int, shown(1024)]
    shortfall: Annotated[float, shown(0.01)]
    relative: Annotated[float | None, shown(0.5)]
    shortfall_by_chance: Annotated[float | None, shown(0.001)]
    in_words: Annotated[str, shown("the largest, 1,024, has 0.03 and falls 0.01 (50.0%) short")]


class QualitySummary(SelectionSummary, Finding):
    """What the largest batch sizes fall short by."""

    step_budget: Annotated[list[int], shown([1000], "steps")]  # type: ignore[assignment]
    """The step budgets asked for, inclusive."""
    example_budget: Annotated[list[int], shown([100000], BATCH_UNIT)]  # type: ignore[assignment]
    """The example budgets asked for, inclusive."""
    conclusions: Annotated[list[ConclusionSummary], Field(json_schema_extra=unit("unit of the metric"))]
    """By workload and budget: by how much the best value at the largest batch size falls short of the best at any, as a
    number, relative to the best, and beside what half as many trials would fall short by chance."""


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


def answer(view: ReleaseView, parameters: QualityParameters) -> Answer:
    """The best values by workload, budget and batch size; raises UnknownName and BadParameter.

    Without budgets, those that every batch size of the workload was trained for; always also without a limit.
    """
    if len(parameters.step_budget) + len(parameters.example_budget) > MOST_BUDGETS:
        raise BadParameter("step_budget", f"there are more than {MOST_BUDGETS} budgets: give fewer")
    budgets = [Budget("steps", amount) for amount in parameters.step_budget]
    budgets += [Budget("examples", amount) for amount in parameters.example_budget]
    searches = searches_of(view, parameters.selection())
    by_workload = [_bests(view, one, budgets) for one in searches]
    each = [best for bests in by_workload for best in bests]
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        [batch for bests in by_workload for batch in _batches(view, bests, parameters.last)],
        {
            "step_budget": list(parameters.step_budget),
            "example_budget": list(parameters.example_budget),
            "conclusions": [made for best in each if (made := _conclusion(best)) is not None],
        },
        definition=_DEFINITION,
        n_used=sum(int(one.n_admitted.sum()) for one in searches),
        left_out=(text for best in each for text in _left_out(best)),
        warnings=(
            *([] if parameters.last else [_OPTIMISTIC]),
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


QUESTION = Question(
    path="/v1/analysis/quality",
    doc="The best value by batch size within budgets of steps and examples, and what large batch sizes fall short by.",
    parameters=QualityParameters,
    row=QualityRow,
    summary=QualitySummary,
    answer=answer,
)


def _bests(view: ReleaseView, found: Search, wanted: Sequence[Budget]) -> list[_Best]:
    facts, merged = found.facts, study_envelopes(found)
    of_workload = {"first_study": facts.first_study, "last_study": facts.last_study}
    train_steps = [int(steps) for (steps,) in view.rows("train_steps", of_workload)]
    ran = [steps or last for steps, last in zip(train_steps, found.last_steps.tolist(), strict=True)]
    budgets = [*wanted, Budget("unlimited")] if wanted else shared_budgets(facts.batch_sizes, ran)
    limits = np.array([budget.steps(facts.batch_sizes) for budget in budgets])
    entries = best_within(merged.envelopes, limits)
    return [
        _Best(merged, budget, merged.records(own), limit, is_within_training(budget, facts.batch_sizes, train_steps))
        for budget, limit, own in zip(budgets, limits, entries, strict=True)
    ]


def _conclusion(best: _Best) -> dict[str, Any] | None:
    """Whether large batch sizes cost quality: by how much the largest falls short of the best, with numbers."""
    found = best.merged.found
    counts = [there and within is not False for there, within in zip(best.is_there, best.within_training, strict=True)]
    losses = np.where(counts, at(found.records.value, best.records) * found.sign, np.inf)
    compared = shortfall(found.facts.batch_sizes, losses, _trial_losses(found, best.limits))
    if compared is None:
        return None
    numbers = asdict(compared)
    by_chance = numbers.pop("by_chance")
    return {
        "workload": str(found.facts.workload),
        "budget_kind": best.budget.kind,
        "budget": best.budget.amount,
        "best_value": numbers.pop("best_loss") * found.sign,
        "largest_value": numbers.pop("largest_loss") * found.sign,
        **numbers,
        "shortfall_by_chance": by_chance,
        "in_words": _in_words(f"{found.facts.workload}, {best.budget.in_words}", compared, found.sign),
    }


def _in_words(what: str, compared: Shortfall, sign: float) -> str:
    """A conclusion in one sentence with the numbers. sign: 1 to minimize, -1 to maximize."""
    largest = f"{compared.largest_batch_size:,}"
    start = f"{what}: the best value {compared.best_loss * sign:.5g} is at batch size {compared.best_batch_size:,}"
    if compared.best_batch_size == compared.largest_batch_size:
        return f"{start}, the largest: nothing is lost"
    if not compared.shortfall:
        return f"{start}, and the largest, {largest}, has the same"
    share = "" if compared.relative is None else f" ({compared.relative:.1%})"
    by_chance = ""
    if compared.by_chance is not None:
        by_chance = f"; half as many trials there would fall {compared.by_chance:.2g} short on average"
    return (
        f"{start}{by_chance}; the largest, {largest}, has {compared.largest_loss * sign:.5g} and falls "
        f"{compared.shortfall:.2g}{share} short"
    )


def _trial_losses(found: Search, limits: Integers) -> list[Floats]:
    """By study, the best loss of each admitted trial within the limits, inf for none."""
    facts, records = found.facts, found.records
    of_trials = np.full(len(found.admitted), np.inf)
    if len(records.step):
        limit = np.repeat(limits[facts.study_of_trial[found.rows]], np.diff(records.offsets))
        losses = np.where(records.step <= limit, records.value * found.sign, np.inf)
        of_trials[found.rows] = np.minimum.reduceat(losses, records.offsets[:-1])
    by_study = (facts.rows_of(study) for study in range(len(facts.batch_sizes)))
    return [of_trials[rows][found.admitted[rows]] for rows in by_study]


def _batches(view: ReleaseView, bests: Sequence[_Best], with_last: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a workload, a batch per budget."""
    ends: Sequence[Endings | None] = [None] * len(bests)
    if with_last:
        merged = bests[0].merged
        records = np.array([best.records for best in bests])
        steps = at(merged.found.records.step, records.ravel()).reshape(records.shape)
        limits = np.array([best.limits for best in bests])
        ends = endings(view, merged.found.facts, merged.found.metric, merged.trials(records), steps, limits)
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
    arrays = [pa.array(columns[field.name] or nothing, field.type) for field in QUESTION.rows.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=QUESTION.rows.schema)
