"""The best value by batch size within budgets of steps or examples, and without limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.quality import (
    SATURATED,
    Budget,
    Shortfall,
    ending,
    is_within_training,
    share_of_run,
    shared_budgets,
    shortfall,
)
from losslake.analysis.settings import medians_of_settings
from losslake.index.measurement_files import measurements
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import finite
from losslake.output.rows import Row, shown, unit
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import BATCH_UNIT, WORKLOAD, MetricParameters, Natural, ResultParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ResultSummary, SelectionSummary, Summary, entry, results_of
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.examples import examples_column
from losslake.questions.trials.search import Search, at, column_at, open_searches
from losslake.questions.trials.step_warnings import unequal_searches
from losslake.questions.trials.study_results import least_by_study
from losslake_schema.reached import NEVER, Flags, Floats, Integers

MOST_BUDGETS = 50
_VALIDATION, _TEST = "val/", "test/"
_OPTIMISTIC = (
    "the best over evaluations and trials is optimistic, more so with more of either: last=true adds how the best "
    "trial's curve ended, and the test value where validation was best"
)


_STOPPED = "trials stopped as soon as they reached a goal, so that their values don't compare"


class QualityParameters(ResultParameters, MetricParameters):
    """The parameters of solution quality."""

    step_budget: Annotated[list[Natural], shown([1000], "steps", max_length=MOST_BUDGETS)] = Field(default_factory=list)
    """Only evaluations at this step or before; may be repeated. Default, without any budget: the most steps, and the
    most examples, that every batch size was trained for."""
    example_budget: Annotated[list[Natural], shown([100000], BATCH_UNIT, max_length=MOST_BUDGETS)] = Field(
        default_factory=list
    )
    """Only evaluations after at most this many examples, step times batch size; may be repeated."""
    last: Annotated[bool, shown(False)] = False
    """Also read the curves of the best trials, for how they ended and for their test values."""


class QualityRow(Row):
    """A study and budget."""

    workload: str
    budget_kind: Annotated[str, shown("steps")]
    """The limit of a trial: steps, examples (step times batch size), or unlimited."""
    budget: Annotated[int | None, shown(1000, "steps, or batch_unit of the study")]
    """The limit, inclusive; null for unlimited."""
    batch_size: int
    best_value: Annotated[float | None, shown(0.0195, "unit of the metric")]
    """Best finite value over the admitted trials and their evaluations within the budget; null if none."""
    shortfall: Annotated[float | None, shown(0.0028, "unit of the metric")]
    """The difference to the workload's best at any batch size within this budget; 0 for the best; null where
    stopped_at_goal is true."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial that had it first, at the least step; ties go to the lowest trial_id; null without a value."""
    step: Annotated[int | None, shown(400, "steps")]
    """The step of that value; null without a value."""
    examples: Annotated[int | None, shown(25600, "batch_unit of the study, mostly examples")]
    """step times batch_size; null without a value, and beyond 64 bits."""
    share_of_run: Annotated[float | None, shown(0.81)]
    """That step over the last at which the trial was evaluated in the metric, or over a smaller budget in steps; null
    without a value."""
    is_saturated: Annotated[bool | None, shown(True)]
    """True if the best came before the last 5% of the run; otherwise more steps might be better still."""
    is_within_training: Annotated[bool | None, shown(True)]
    """True if trials of the study had to run that far (train_steps); null if unlimited or unknown."""
    stopped_at_goal: Annotated[bool, shown(False)]
    """True if its best trial, or half of those with a value or more, stopped at a goal of its own before the budget was
    used: then what it would have reached isn't known, so that it isn't compared with other batch sizes."""
    n_trials: int
    last_value: Annotated[float | None, shown(0.0223, "unit of the metric")]
    """The trial's last value within the budget; null unless last=true, or if not finite."""
    median_of_last_values: Annotated[float | None, shown(0.0223, "unit of the metric")]
    """Median of the trial's last five finite values within the budget; null unless last=true."""
    test_value: Annotated[float | None, shown(0.0306, "unit of the metric")]
    """The test metric of the same name at that trial and step; null unless last=true."""


class ConclusionSummary(Summary):
    """The loss of solution quality at large batch sizes, within a budget."""

    workload: Annotated[str, shown(WORKLOAD)]
    budget_kind: Annotated[str, shown("steps")]
    budget: Annotated[int | None, shown(416)]
    best_value: Annotated[float, shown(0.02)]
    largest_value: Annotated[float, shown(0.03)]
    best_batch_size: Annotated[int, shown(64)]
    largest_batch_size: Annotated[int, shown(1024)]
    shortfall: Annotated[float, shown(0.01)]
    relative: Annotated[float | None, shown(0.5)]
    p_value: Annotated[float | None, shown(0.002)]
    is_clear: Annotated[bool, shown(True)]
    in_words: Annotated[str, shown("the largest, 1,024, has 0.03 and falls 0.01 (50.0%) short")]


class QualitySummary(ResultSummary, SelectionSummary, Finding):
    """The shortfalls of the largest batch sizes."""

    step_budget: Annotated[list[int], shown([1000], "steps")]  # type: ignore[assignment]
    """The requested step budgets, inclusive."""
    example_budget: Annotated[list[int], shown([100000], BATCH_UNIT)]  # type: ignore[assignment]
    """The requested example budgets, inclusive."""
    conclusions: Annotated[list[ConclusionSummary], Field(json_schema_extra=unit("unit of the metric"))]
    """By workload and budget: shortfall of the largest batch size's best value against the best at any, also relative
    to the best. p_value: the chance that equal batch sizes show some other one so much better, corrected for their
    number; null for too few settings (trials with other seeds are one). is_clear: it is at most 0.05."""


@dataclass(frozen=True)
class _Best:
    """The best value of each study of a workload within one budget.

    row: of its trial in facts.trials, and records: that record; NEVER for none. of_trials: the best loss of each trial,
    inf for none. stopped_at_goal: as QualityRow has it.
    """

    search: Search
    budget: Budget
    row: Integers
    records: Integers
    of_trials: Floats
    limits: Integers
    within_training: Sequence[bool | None]
    stopped_at_goal: Flags

    @property
    def losses(self) -> Floats:
        """The loss of each study that can be compared with others; inf for none."""
        search = self.search
        counts = self.is_there & ~self.stopped_at_goal
        return np.where(counts, at(search.records.value, self.records) * search.sign, np.inf)

    @property
    def is_there(self) -> Flags:
        return np.asarray(self.records != NEVER)


def _answer(view: ReleaseView, parameters: QualityParameters) -> Answer:
    """Return the best values by workload, budget and batch size; raises UnknownName and BadParameter.

    Without budgets, those that every batch size of the workload was trained for; always also without a limit.
    """
    if len(parameters.step_budget) + len(parameters.example_budget) > MOST_BUDGETS:
        raise BadParameter("step_budget", f"there are more than {MOST_BUDGETS} budgets: give fewer")
    budgets = [Budget("steps", amount) for amount in parameters.step_budget]
    budgets += [Budget("examples", amount) for amount in parameters.example_budget]
    searches = open_searches(view, parameters.selection())
    by_workload = [_bests(view, one, budgets) for one in searches]
    each = [best for bests in by_workload for best in bests]
    return QUESTION.analysis(
        view,
        parameters,
        [part for bests in by_workload for part in _parts(view, bests, parameters.last)],
        {
            "results": results_of(searches),
            "conclusions": [conclusion for best in each if (conclusion := _conclusion(best)) is not None],
        },
        n_used=sum(int(one.n_admitted.sum()) for one in searches),
        left_out=(text for best in each for text in _left_out(best)),
        warnings=(
            *([] if parameters.last else [_OPTIMISTIC]),
            *(
                text
                for one in searches
                if not one.rule.is_of_settings
                for text in unequal_searches(str(one.facts.workload), one.n_admitted.tolist())
            ),
            *(text for best in each for text in _unsaturated(best)),
        ),
    )


QUESTION = Question(
    path="/v1/analysis/quality",
    doc="The best value by batch size within budgets of steps and examples, and how far large batch sizes fall short.",
    parameters=QualityParameters,
    row=QualityRow,
    summary=QualitySummary,
    compute=_answer,
    cost=lambda _: Cost(300_000),
)


def _bests(view: ReleaseView, search: Search, wanted: Sequence[Budget]) -> list[_Best]:
    facts = search.facts
    train_steps = view.train_steps(facts).tolist()
    ran = [steps or last for steps, last in zip(train_steps, search.last_steps.tolist(), strict=True)]
    budgets = [*wanted, Budget("unlimited")] if wanted else shared_budgets(facts.batch_sizes, ran)
    return [_best(search, budget, is_within_training(budget, facts.batch_sizes, train_steps)) for budget in budgets]


def _best(search: Search, budget: Budget, within_training: Sequence[bool | None]) -> _Best:
    limits = np.asarray(budget.steps(search.facts.batch_sizes))
    records = search.last_records(limits)
    steps, losses = at(search.records.step, records), at(search.records.value, records) * search.sign
    of_trials = np.where(records == NEVER, np.inf, losses)
    row = least_by_study(search, of_trials, steps).row
    return _Best(
        search=search,
        budget=budget,
        row=row,
        records=np.where(row == NEVER, NEVER, at(records, row)),
        of_trials=of_trials,
        limits=limits,
        within_training=within_training,
        stopped_at_goal=_stopped_at_goal(search, row, limits),
    )


def _stopped_at_goal(search: Search, best: Integers, limits: Integers) -> Flags:
    """Return by study whether its best trial, or half of its trials or more, stopped at a goal before its limit.

    best: rows in facts.trials, NEVER for none. limits: the last step within a budget.
    """
    ended, has_value = search.ended_at_goal, search.best_records != NEVER
    has_stopped = has_value & (ended != NEVER) & (ended < limits[search.facts.study_of_trial])
    n_stopped, n_trials = (search.facts.sums_by_study(flags) for flags in (has_stopped, has_value))
    of_best = (best != NEVER) & np.append(has_stopped, False)[best]
    return np.asarray(of_best | ((n_stopped > 0) & (2 * n_stopped >= n_trials)))


def _conclusion(best: _Best) -> dict[str, Any] | None:
    """Return how far the largest batch size falls short of the best; None where they can't be compared."""
    search = best.search
    losses = np.where([within is not False for within in best.within_training], best.losses, np.inf)
    compared = shortfall(search.facts.batch_sizes, losses, _setting_losses(best))
    if compared is None:
        return None
    return entry(
        ConclusionSummary,
        compared,
        workload=str(search.facts.workload),
        budget_kind=best.budget.kind,
        budget=best.budget.amount,
        best_value=compared.best_loss * search.sign,
        largest_value=compared.largest_loss * search.sign,
        in_words=_in_words(
            f"{search.facts.workload}, {best.budget.in_words}",
            compared,
            search.sign,
            compared.largest_batch_size == search.facts.batch_sizes[-1],
        ),
    )


def _in_words(what: str, compared: Shortfall, sign: float, is_last: bool) -> str:
    """Return a conclusion as a sentence with its numbers. sign: 1 to minimize, -1 to maximize.

    is_last: whether the largest batch size compared is the largest of all.
    """
    largest, noun = f"{compared.largest_batch_size:,}", "the largest" if is_last else "the largest compared"
    start = f"{what}: the best value {compared.best_loss * sign:.5g} is at batch size {compared.best_batch_size:,}"
    if compared.best_batch_size == compared.largest_batch_size:
        return f"{start}, {noun}: nothing is lost"
    if not compared.shortfall:
        return f"{start}, and {noun}, {largest}, has the same"
    share = "" if compared.relative is None else f" ({compared.relative:.1%})"
    return (
        f"{start}; {noun}, {largest}, has {compared.largest_loss * sign:.5g} and falls "
        f"{compared.shortfall:.2g}{share} short, {_chance(compared)}"
    )


def _chance(compared: Shortfall) -> str:
    """Return in words whether equal batch sizes would show the shortfall."""
    if compared.p_value is None:
        return "which too few settings were tried to tell from chance"
    is_clear = "more than equal batch sizes would show" if compared.is_clear else "which may be chance"
    return f"{is_clear} (p = {compared.p_value:.2g}, corrected for the number of batch sizes)"


def _setting_losses(best: _Best) -> list[Floats]:
    """Return by study the median over the admitted trials of a setting of their best losses."""
    facts, settings = best.search.facts, best.search.facts.trials.setting
    admitted = facts.rows_where(best.search.admitted)
    return [medians_of_settings(best.of_trials[rows], settings[rows]) for rows in admitted]


def _parts(view: ReleaseView, bests: Sequence[_Best], with_last: bool) -> Iterator[Rows]:
    """Yield the rows of a workload, one part per budget."""
    yield from map(_rows, bests, endings(view, bests) if with_last else repeat({}))


def _left_out(best: _Best) -> Iterator[str]:
    """Yield in words the batch sizes without a value, and those that the conclusion leaves out."""
    where = f"{best.search.facts.workload}, {best.budget.in_words}"
    sizes = np.array(best.search.facts.batch_sizes)
    is_short = np.array([within is False for within in best.within_training])
    without, short, alike = ~best.is_there, best.is_there & is_short, best.is_there & best.stopped_at_goal
    for studies, why in (
        (without, "no admitted trial has a finite value at batch size"),
        (short, "trained for less, not in the conclusion: batch size"),
        (alike, f"{_STOPPED}: batch size"),
    ):
        if studies.any():
            yield f"{where}: {why} {listed(sizes[studies])}"


def _unsaturated(best: _Best) -> Iterator[str]:
    late = np.array(best.search.facts.batch_sizes)[_shares(best) > SATURATED]
    if len(late):
        where = f"{best.search.facts.workload}, {best.budget.in_words}"
        yield f"{where}: at batch size {listed(late)} the best came in the last 5% of the run: more steps may be better"


def _shares(best: _Best) -> Floats:
    """Return by study at which share of its run, or of a smaller budget, the best trial was best; NaN for none."""
    search = best.search
    last = np.minimum(at(search.last_evaluated, best.row), best.limits)
    step = at(search.records.step, best.records)
    shares = share_of_run(step.astype(np.float64), last.astype(np.float64))
    return np.where(best.records != NEVER, shares, np.nan)


def _shortfalls(losses: Floats) -> Floats:
    """Return by study how far its loss is above the least; not finite where there is none."""
    with np.errstate(invalid="ignore", over="ignore"):
        short: Floats = losses - losses.min(initial=np.inf)
    return short


def _rows(best: _Best, end: Ending) -> Rows:
    search, sizes = best.search, best.search.facts.batch_sizes
    steps = at(search.records.step, best.records)
    shares = _shares(best)
    return QUESTION.rows.of(
        {
            "workload": str(search.facts.workload),
            "budget_kind": best.budget.kind,
            "budget": best.budget.amount,
            "batch_size": sizes,
            "best_value": column_at(search.records.value, best.records),
            "shortfall": finite(_shortfalls(best.losses)),
            "trial_id": column_at(search.facts.trials.trial_id, best.row),
            "step": column_at(search.records.step, best.records),
            "examples": examples_column(steps, sizes, best.records != NEVER),
            "share_of_run": finite(shares),
            "is_saturated": pa.array(shares <= SATURATED, mask=np.isnan(shares)),
            "is_within_training": best.within_training,
            "stopped_at_goal": best.stopped_at_goal,
            "n_trials": search.n_admitted,
            **end,
        }
    )


# By study, in columns: the last value, the median of the last five, and the test value; None for none.
Ending = Mapping[str, Sequence[float | None]]
_ENDING = ("last_value", "median_of_last_values", "test_value")
_NO_CURVE = (np.empty(0, np.int64), np.empty(0))


def endings(view: ReleaseView, bests: Sequence[_Best]) -> list[Ending]:
    """Return by budget and study the end of the best trial's curve; files are read once for all budgets.

    The test value is that of the metric of the same name of the split `test`: validation selects, test reports.
    """
    search = bests[0].search
    columns = [[*_of_study(view, search, study, bests)] for study in range(len(search.facts.batch_sizes))]
    return [dict(zip(_ENDING, zip(*row, strict=True), strict=True)) for row in zip(*columns, strict=True)]


def _of_study(
    view: ReleaseView, search: Search, study: int, bests: Sequence[_Best]
) -> Iterator[tuple[float | None, float | None, float | None]]:
    """Yield by budget the last value of the trial's curve, the median of its last five, and its test value."""
    facts, metric, trial_id = search.facts, search.metric, search.facts.trials.trial_id
    trials = [int(trial_id[best.row[study]]) if best.row[study] != NEVER else None for best in bests]
    chosen = sorted({trial for trial in trials if trial is not None})
    tests = metric.replace(_VALIDATION, _TEST, 1)
    has_test = metric.startswith(_VALIDATION) and tests in facts.metrics[study]
    curves = _curves(view, facts, study, metric, chosen)
    tested = _curves(view, facts, study, tests, chosen if has_test else [])
    for trial, best in zip(trials, bests, strict=True):
        (evaluated, values), (tested_at, test_values) = (each.get(trial, _NO_CURVE) for each in (curves, tested))
        value = test_values[tested_at == at(search.records.step, best.records)[study]]
        is_known = len(value) > 0 and math.isfinite(value[0])
        end = ending(values[evaluated <= best.limits[study]])
        yield end.last, end.median, float(value[0]) if is_known else None


def _curves(
    view: ReleaseView, facts: WorkloadFacts, study: int, metric: str, trials: Sequence[int]
) -> Mapping[int | None, tuple[Integers, Floats]]:
    """Return by trial its evaluations by ascending step: steps and values."""
    files = view.measurement_files(facts, study)
    parts = list(measurements(view.store, files, metric, trials)) if trials else []
    if not parts:
        return {}
    rows = pa.Table.from_batches(parts)
    numbers, steps, values = (rows[name].to_numpy() for name in ("trial_id", "step", "value"))
    return {trial: (steps[numbers == trial], values[numbers == trial]) for trial in trials}
