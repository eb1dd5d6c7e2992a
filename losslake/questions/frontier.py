"""The best value of every trial against what it took, and the Pareto front over all trials."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from losslake.analysis.time_cost import is_on_front
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.rows import Row, shown
from losslake.questions.declaration.measured import MeasureParameters, MeasureSummary
from losslake.questions.declaration.parameters import SelectionParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, SelectionSummary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.pool import is_pattern
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.examples import shown_sizes
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.resources import doubts_about_times
from losslake.questions.trials.search import Search, open_search
from losslake.questions.trials.step_amounts import measure_noun
from losslake_schema.quantities import plural
from losslake_schema.reached import NEVER, Flags, Floats, Integers


class FrontierParameters(SelectionParameters, MeasureParameters):
    """The parameters of a frontier. A pattern stands for each workload that it matches and that has the metric."""


class FrontierRow(Row):
    """An evaluation: the best one of its trial, or one on the front."""

    workload: str
    batch_size: int | None
    trial_id: int
    step: int
    amount: Annotated[float, shown(25600.0, "what measure says")]
    """The amount of `measure` up to this evaluation."""
    value: Annotated[float, shown(0.0421, "unit of the metric")]
    """The value of the metric."""
    is_best: Annotated[bool, shown(True)]
    """True if it is the best evaluation of its trial."""
    is_on_front: Annotated[bool, shown(False)]
    """True if no other evaluation has as good a value after as little, and is better in one of them."""


class FrontierSummary(SelectionSummary, MeasureSummary, Finding):
    """The amount that was counted, and what is left out."""


@dataclass(frozen=True)
class _Evaluations:
    """The records of the admitted trials of one workload whose amount is known, by trial and step.

    measure: of the amounts. trials: the row of each in facts.trials. is_best: the best of its trial. n_unknown: trials
    whose best has no known amount.
    """

    measure: Measure
    trials: Integers
    step: Integers
    value: Floats
    amount: Floats
    is_best: Flags
    n_unknown: int

    @property
    def search(self) -> Search:
        """The trials."""
        return self.measure.search

    def caveats(self) -> Iterator[str]:
        """Yield in words what is to be known of the amounts."""
        yield from self.measure.caveats()
        if self.measure.in_steps is None:
            yield from doubts_about_times(self.search, None, self.measure.noun)


def _answer(view: ReleaseView, parameters: FrontierParameters) -> Answer:
    """Return a row by trial and by evaluation on the front; raises UnknownName and BadParameter."""
    members, left_out = _members(view, parameters)
    noun = measure_noun(parameters.measure)
    results = [_evaluations(view, parameters, facts) for facts in members]
    each = [one for one in results if isinstance(one, _Evaluations)]
    left_out += [one for one in results if isinstance(one, str)]
    if not each:
        none = "" if len(results) == 1 else f"none of {len(results)} workloads can be counted in {noun}, as this one: "
        raise BadParameter("measure", f"{none}{left_out[-1]}")
    sign = each[0].search.sign
    amounts, values = (np.concatenate([getattr(one, name) for one in each]) for name in ("amount", "value"))
    fronts = np.split(is_on_front(amounts, sign * values), np.cumsum([len(one.step) for one in each])[:-1])
    left_out += [
        f"{one.search.facts.workload}: {one.n_unknown} trials whose {noun} aren't known"
        for one in each
        if one.n_unknown
    ]
    named = parameters.model_copy(update={"workload": [str(one.search.facts.workload) for one in each]})
    return QUESTION.analysis(
        view,
        named,
        [shown_sizes(one.search.facts, _rows(one, front)) for one, front in zip(each, fronts, strict=True)],
        {},
        searches=[one.search for one in each],
        n_used=sum(int(one.is_best.sum()) for one in each),
        left_out=left_out,
        warnings=[
            *_warnings(parameters, {each.workload.model for each in members}),
            *(text for one in each for text in one.measure.caveats()),
            *(
                text
                for one in each
                if parameters.counting().is_timed
                for text in doubts_about_times(one.search, None, noun)
            ),
        ],
    )


QUESTION = Question(
    path="/v1/analysis/frontier",
    doc="The best value of every trial against steps, examples, tokens, FLOPs or time, with the Pareto front.",
    parameters=FrontierParameters,
    row=FrontierRow,
    summary=FrontierSummary,
    compute=_answer,
)


def _members(view: ReleaseView, parameters: FrontierParameters) -> tuple[list[WorkloadFacts], list[str]]:
    """Return the workloads with the metric, and in words those without; raises UnknownName and BadParameter."""
    members: dict[str, WorkloadFacts] = {}
    left_out = []
    for name in parameters.workloads:
        having = view.members(name, parameters.metric)
        members |= {str(facts.workload): facts for facts in having}
        if n := len(view.matching(name)) - len(having):
            left_out.append(f"{name}: {n} {plural('workload', n)} without {parameters.metric}")
    if parameters.measure == "examples":
        units = {view.batch_units(facts)[0] for facts in members.values()}
        if len(units) > 1:
            counted = " and ".join(sorted(map(str, units)))
            raise BadParameter(
                "workload",
                f"batch sizes count {counted}, which can't be compared: count steps, or give fewer workloads",
            )
    return list(members.values()), left_out


def _evaluations(view: ReleaseView, parameters: FrontierParameters, facts: WorkloadFacts) -> _Evaluations | str:
    """Return the evaluations of a workload that a pattern stands for; why there are none, in words."""
    try:
        search = open_search(view, replace(parameters.selection(), with_schedules=True), facts.workload)
        measure = Measure.of(view, search, parameters.counting())
    except BadParameter as error:
        if not any(is_pattern(name) for name in parameters.workloads) or error.parameter == "direction":
            raise
        return str(error)
    records, amounts = search.records, measure.of_records()
    trials = np.repeat(records.rows, np.diff(records.offsets))
    best = search.best_records[search.best_records != NEVER]
    places = np.arange(len(trials))
    is_best, is_within = np.isin(places, best), places < np.repeat(search.ends, np.diff(records.offsets))
    kept = search.admitted[trials] & is_within & np.isfinite(amounts)
    return _Evaluations(
        measure=measure,
        trials=trials[kept],
        step=records.step[kept],
        value=records.value[kept],
        amount=amounts[kept],
        is_best=is_best[kept],
        n_unknown=int((~np.isfinite(amounts[best])).sum()),
    )


def _rows(one: _Evaluations, front: Flags) -> Rows:
    chosen = np.flatnonzero(one.is_best | front)
    facts, trials = one.search.facts, one.trials[chosen]
    sizes = np.asarray(facts.batch_sizes, np.int64)
    return QUESTION.rows.of(
        {
            "workload": str(facts.workload),
            "batch_size": sizes[facts.study_of_trial[trials]],
            "trial_id": facts.trials.trial_id[trials],
            "step": one.step[chosen],
            "amount": one.amount[chosen],
            "value": one.value[chosen],
            "is_best": one.is_best[chosen],
            "is_on_front": front[chosen],
        }
    )


def is_own_objective(metric: str) -> bool:
    """Return True for what a log only calls a loss: each model's own training objective."""
    return metric.partition("/")[2] == "loss"


def _warnings(parameters: FrontierParameters, models: Collection[str]) -> Iterator[str]:
    if is_own_objective(parameters.metric) and len(models) > 1:
        yield f"{parameters.metric} is each model's own training objective: values of different models don't compare"
    if parameters.measure == "steps":
        yield "large batch sizes take fewer steps, each of more examples: measure=examples counts those"
    if parameters.counting().is_timed:
        yield "times are those of each trial's own hardware"
    yield "the best of many trials and evaluations is optimistic, more so for workloads with more of them"
