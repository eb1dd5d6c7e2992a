"""Steps to target: the first step at which each trial reaches a target."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.output.answer import Answer, Part
from losslake.output.columns import Nullable, Rows
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.measured import MeasureParameters, MeasureSummary
from losslake.questions.declaration.parameters import BatchSizeParameters, CrossingParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import BatchSizesSummary, CrossingSummary
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.confirmation import FIRST, Confirmed, confirmed, mean_columns
from losslake.questions.trials.examples import shown_sizes
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.search import Search, at, only_batch_sizes, open_searches, resolution_column
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_warnings import coarse_trials
from losslake_schema.reached import NEVER, NO_STEP, Floats, Integers
from losslake_schema.statuses import STATUSES


class StepsToTargetParameters(BatchSizeParameters, MeasureParameters, CrossingParameters):
    """The parameters of steps to target."""


class StepsToTargetRow(Row):
    """A trial."""

    workload: str
    batch_size: int | None
    trial_id: int
    trial_workload: str | None
    status: str
    steps: int | None
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric at that step; null if the target was not reached."""
    previous_step: int | None
    last_step: int | None
    resolution: float | None
    censored_at: Annotated[int | None, shown(2000, "steps")]
    """If the target was not reached: the last step at which the metric was measured, or the budget if it was measured
    beyond it; null if reached, or never measured."""
    stopped_earlier: Annotated[bool, shown(False)]
    """True if it ended at an easier goal of its own: censored at its last step, not failed."""
    confirmed_steps: Annotated[int | None, shown(420, "steps")]
    """Steps to target by the rule `crossing`, equal to steps for crossing=first; for crossing=mean those of the trial's
    setting; null if no crossing counts."""
    confirmed_previous_step: int | None
    confirmed_mean: float | None
    confirmed_n_seeds: int | None
    amount: Annotated[float | None, shown(11.8, "what measure says")]
    """The amount of `measure` to the target; null if the trial never reaches it, or the amount isn't known."""


class StepsToTargetSummary(MeasureSummary, CrossingSummary, BatchSizesSummary):
    """The request, and warnings about the rows."""

    warnings: Annotated[list[str], shown(["evaluations are far apart"])]
    """Warnings about the rows."""


def _answer(view: ReleaseView, parameters: StepsToTargetParameters) -> Answer:
    """Return steps to target by workload, batch size and trial; raises UnknownName and BadParameter."""
    goal, crossing, batch_sizes = parameters.goal, parameters.crossing_rule(), parameters.batch_size
    searches = open_searches(view, parameters.selection(), with_schedules=True)
    parts: list[Part] = []
    warnings: list[str] = []
    left_out: list[str] = []
    for search in (only_batch_sizes(view, each, batch_sizes) for each in searches):
        hits = search.first_hits(goal)
        steps, previous = at(search.records.step, hits), at(search.records.previous_step, hits)
        crossed = Confirmed(np.where(hits == NEVER, NEVER, steps), previous)
        if crossing != FIRST:
            crossed = confirmed(view, search, goal, crossing, hits)
        measure = Measure.of(view, search, parameters.counting())
        amounts = measure.of_trials(hits)
        parts.append(shown_sizes(search.facts, _rows(search, goal, hits, crossed, amounts)))
        left_out += measure.left_out(int(np.isnan(amounts).sum()))
        warnings += [*coarse_trials(search, hits, steps, previous), *measure.doubts(goal), *measure.caveats()]
        if crossed.means is not None:
            warnings += crossed.means.ended(search.facts.workload, search.admitted)
    facts: dict[str, Any] = {"batch_sizes": list(batch_sizes), **crossing.facts}
    facts |= {"left_out": left_out, "warnings": warnings}
    return QUESTION.answered(view, parameters, parts, facts, searches=searches)


QUESTION = Question(
    path="/v1/steps-to-target",
    doc="When each trial of a workload reaches a target.",
    parameters=StepsToTargetParameters,
    row=StepsToTargetRow,
    summary=StepsToTargetSummary,
    compute=_answer,
    cost=lambda parameters: Cost(1000, 50, 5) if parameters.crossing == "first" else Cost(1000, 800, 80),
)


def _rows(search: Search, goal: Goal, hits: Integers, crossed: Confirmed, amounts: Floats) -> Rows:
    """Return one row per admitted trial."""
    facts, records, admitted = search.facts, search.records, search.admitted
    hits = hits[admitted]
    never = hits == NEVER
    steps, previous_step = at(records.step, hits), at(records.previous_step, hits)
    last_step, seen = facts.trials.last_step[admitted], search.observed_until[admitted]
    confirmed_steps, confirmed_previous = crossed.steps[admitted], crossed.previous_steps[admitted]
    crosses = confirmed_steps != NEVER
    return QUESTION.rows.of(
        {
            "workload": str(facts.workload),
            "batch_size": lambda: np.asarray(facts.batch_sizes, np.int64)[facts.study_of_trial[admitted]],
            "trial_id": facts.trials.trial_id[admitted],
            "trial_workload": lambda: facts.workloads_of(np.flatnonzero(admitted)),
            "status": lambda: pa.array(STATUSES).take(pa.array(facts.trials.status[admitted])),
            "steps": Nullable(steps, ~never),
            "value": lambda: Nullable(at(records.value, hits), ~never),
            "previous_step": lambda: Nullable(previous_step, ~never & (previous_step != NO_STEP)),
            "last_step": lambda: Nullable(last_step, last_step >= 0),
            "resolution": lambda: resolution_column(steps, previous_step, ~never),
            "censored_at": lambda: Nullable(seen, never & (seen != NEVER)),
            "stopped_earlier": lambda: search.stopped_earlier(goal)[admitted],
            "amount": lambda: Nullable(amounts[admitted], np.isfinite(amounts[admitted])),
            "confirmed_steps": Nullable(confirmed_steps, crosses),
            "confirmed_previous_step": lambda: Nullable(confirmed_previous, crosses & (confirmed_previous != NO_STEP)),
            **mean_columns(crossed.means, np.flatnonzero(admitted)),
        }
    )
