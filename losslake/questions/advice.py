"""Which batch size to use: time and cost to a target at each batch size, from a reader's step times or prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.best_of_n import new_search
from losslake.analysis.measured_levels import measured
from losslake.analysis.settings import are_repeated, drawn_alike, medians_of_settings
from losslake.analysis.step_times import seconds_per_step
from losslake.analysis.time_cost import is_on_front
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import GoalParameters, Natural
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.measure import Counting, Measure, MeasureName
from losslake.questions.trials.resources import doubts_about_times, is_one_system, systems_in_words, systems_of
from losslake.questions.trials.scaling_curve import trial_steps
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.settings import settings_of
from losslake_schema.names import natural_number
from losslake_schema.reached import Flags, Floats, Integers

MOST_STEP_TIMES = 50
# Seconds. Beyond them, products with steps and prices could be 0 or infinite.
LEAST_TIME, MOST_TIME = 1e-9, 1e9
_MOST_NAMED = 8
# From so many trials on, upper bounds hold as they should, even if a third of the trials never reach the target.
_MANY = 20
_DEFINITION = (
    "For each batch size, the best of `budget` new trials that are drawn like the stored ones: its median, and bounds "
    "that each hold with at least 95% probability (distribution-free prediction intervals for order statistics, Hahn "
    "and Meeker 1991). Where stored trials repeat settings, with other seeds or as logs of one submitter and system, "
    "each setting counts as one trial, with the median of its trials. "
    "A bound is null where no stored trial gives one, or too few reached the target: of all searches, at most 5% state "
    "one that is wrong, but of those that state one, more do where many trials never reach the target. Seconds are "
    "{how}. Cost is {cost}. It is assumed that the metaparameters of new trials are searched as those of the stored "
    "ones were, that steps to the target don't depend on the hardware, and that evaluations take no time. n_used "
    "counts trials."
)


class AdviceParameters(GoalParameters):
    """The parameters of advice: step times, or a price."""

    step_time: Annotated[list[str], shown(["64=0.11"], max_length=MOST_STEP_TIMES)] = Field(default_factory=list)
    """Seconds per step at a batch size, BATCH_SIZE=SECONDS; may be repeated. Between two, a step's time is linear in
    the batch size. Default: the times in the logs of trials."""
    price: Annotated[
        float | None, shown(2.5, "currency per accelerator hour", ge=1e-6, le=1e6, allow_inf_nan=False)
    ] = None
    """The price of an accelerator hour, in any currency; default: no costs."""
    accelerators: Annotated[Natural | None, shown(8, "accelerators", ge=1, le=10_000_000)] = None
    """On how many accelerators a trial runs; default: 1 with step times, else as the logs say."""
    budget: Annotated[Natural | None, shown(10, "trials", ge=1, le=1_000_000)] = None
    """Number of new trials at a batch size, of which the best counts; default: half of the smallest number of
    trials (of settings, where they repeat) at any batch size, at least 1."""

    def step_times(self) -> dict[float, float]:
        """Return the seconds per step by batch size; raises BadParameter."""
        known: dict[float, float] = {}
        for text in self.step_time:
            size, _, seconds = text.partition("=")
            number, time = natural_number(size.strip()), _number(seconds)
            if not number or time is None:
                raise BadParameter("step_time", f"step_time={text}: give BATCH_SIZE=SECONDS, such as 64=0.11")
            if number in known:
                raise BadParameter("step_time", f"step_time: batch size {number} is given twice: give it once")
            known[number] = time
        return known


class AdviceRow(Row):
    """A batch size."""

    workload: str
    batch_size: int
    n_trials: int
    n_settings: Annotated[int, shown(64, "settings")]
    """Settings of these trials: equal metaparameters, seeds aside, or one submitter and system. Where they repeat,
    each counts as one trial."""
    n_reached: int
    chance: Annotated[float | None, shown(0.97, "none: a probability")]
    """Probability, at least, that the best new trial reaches the target: that it is no later than the last stored
    trial that does. Null without any stored trial."""
    seconds_per_step: Annotated[float | None, shown(0.11, "seconds")]
    """Seconds per step here, by the given step times; null without any."""
    is_extrapolated: Annotated[bool, shown(False)]
    """True if the batch size is outside the given step times."""
    steps: Annotated[float | None, shown(400.0, "steps")]
    """Median of the steps to the target of the best new trial; null if it mostly doesn't reach it."""
    steps_lower: Annotated[float | None, shown(320.0, "steps")]
    """Lower bound, with 95% probability; null if no stored trial bounds it."""
    steps_upper: Annotated[float | None, shown(520.0, "steps")]
    """Upper bound, with 95% probability; null if it reaches the target less often."""
    seconds: Annotated[float | None, shown(44.0, "seconds")]
    """Median of its seconds to the target; null likewise, or without times."""
    seconds_lower: Annotated[float | None, shown(35.2, "seconds")]
    """Lower bound, with 95% probability; null likewise."""
    seconds_upper: Annotated[float | None, shown(57.2, "seconds")]
    """Upper bound, with 95% probability; null likewise."""
    cost: Annotated[float | None, shown(0.03, "currency of the price")]
    """Median of its cost up to the target; null likewise, or without a price."""
    cost_lower: Annotated[float | None, shown(0.02, "currency of the price")]
    """Lower bound, with 95% probability; null likewise."""
    cost_upper: Annotated[float | None, shown(0.04, "currency of the price")]
    """Upper bound, with 95% probability; null likewise."""
    is_fastest: Annotated[bool, shown(False)]
    """True if it has the least median of seconds of its workload."""
    is_cheapest: Annotated[bool, shown(False)]
    """True if it has the least median of cost of its workload."""
    is_on_front: Annotated[bool, shown(True)]
    """True if no other batch size of the workload is as fast and as cheap, and better in one; false if unknown."""


class AdviceSummary(GoalSummary, Finding):
    """What was given, and the advice in sentences."""

    step_time: Annotated[list[str], shown(["64=0.11"])]
    """The given step times."""
    price: Annotated[float | None, shown(2.5, "currency per accelerator hour")]
    """The given price of an accelerator hour; null without one."""
    accelerators: Annotated[int | None, shown(8, "accelerators")]
    """The given number of accelerators; null if the logs' or 1."""
    budget: Annotated[int | None, shown(10, "trials")]
    """How many new trials are run at a batch size."""
    advice: Annotated[list[str], shown(["Fastest: batch size 512, 35.2 s (30.1 to 44 s)."])]
    """The fastest and the cheapest batch size of each workload, in sentences."""


@dataclass(frozen=True)
class _Amounts:
    """By trial of a workload: steps, seconds and cost to the target; inf for never, NaN for unknown.

    per_step: seconds by study, NaN without step times. extrapolated: by study. settings: by trial. doubts: about the
    times of the logs, in words.
    """

    search: Search
    steps: Floats
    seconds: Floats
    cost: Floats
    per_step: Floats
    extrapolated: Flags
    settings: Integers
    doubts: tuple[str, ...] = ()

    def chosen(self, study: int) -> Integers:
        """Return the rows of the admitted trials of a study."""
        rows = self.search.facts.rows_of(study)
        chosen: Integers = rows.start + np.flatnonzero(self.search.admitted[rows])
        return chosen

    def alike(self, study: int) -> Floats:
        """Return the steps of a study that are drawn alike: of its trials, or of settings that they repeat."""
        chosen = self.chosen(study)
        return drawn_alike(self.steps[chosen], self.settings[chosen], medians_of_settings)


def _answer(view: ReleaseView, parameters: AdviceParameters) -> Answer:
    """Return time and cost by workload and batch size; raises UnknownName and BadParameter."""
    known, goal = parameters.step_times(), parameters.goal
    if not known and parameters.price is None:
        why = "give step_time=BATCH_SIZE=SECONDS, at two batch sizes or more, or price= of an accelerator hour, or both"
        raise BadParameter("step_time", why)
    searches = open_searches(view, parameters.selection())
    each = [_amounts(view, search, goal, parameters, known) for search in searches]
    counts = [len(one.alike(study)) for one in each for study in range(len(one.search.facts.batch_sizes))]
    budget = parameters.budget or max(1, min(filter(None, counts), default=2) // 2)
    rows = [row for amounts in each for row in _rows(amounts, budget)]
    return QUESTION.analysis(
        view,
        parameters,
        [pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)],
        {"budget": budget, "advice": list(_advice(rows))},
        definition=_DEFINITION.format(how=_how(known), cost=_cost(parameters)),
        n_used=sum(int(search.n_admitted.sum()) for search in searches),
        left_out=(text for amounts in each for text in _left_out(amounts)),
        warnings=(text for amounts in each for text in _warnings(amounts, budget)),
    )


QUESTION = Question(
    path="/v1/analysis/advice",
    doc="Which batch size to use: time and cost to a target at each, from step times or the price of an accelerator.",
    parameters=AdviceParameters,
    row=AdviceRow,
    summary=AdviceSummary,
    compute=_answer,
)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if LEAST_TIME <= value <= MOST_TIME and "_" not in text else None


def _how(known: dict[float, float]) -> str:
    return "steps times the given seconds per step, linear in between" if known else "those of the logs"


def _cost(parameters: AdviceParameters) -> str:
    return (
        "seconds times accelerators times the price"
        if parameters.price is not None
        else "not computed, without a price"
    )


def _amounts(
    view: ReleaseView, search: Search, goal: Goal, parameters: AdviceParameters, known: dict[float, float]
) -> _Amounts:
    steps, facts = trial_steps(search, goal), search.facts
    settings = settings_of(view, facts).number
    hourly = np.nan if parameters.price is None else parameters.price / 3600
    if known:
        per_step, extrapolated = seconds_per_step(known, facts.batch_sizes)
        factors = per_step[facts.study_of_trial]
        seconds = np.where(np.isfinite(steps), np.where(steps == np.inf, 0.0, steps) * factors, np.inf)
        cost = seconds * hourly * (parameters.accelerators or 1)
        return _Amounts(search, steps, seconds, cost, per_step, extrapolated, settings)
    hits = search.first_hits(goal)
    measures: tuple[MeasureName, ...] = ("seconds", "accelerator_seconds")
    seconds, used = (
        Measure.of(view, search, Counting(measure, None, parameters.accelerators)).of_trials(hits)
        for measure in measures
    )
    unknown = np.full(len(facts.batch_sizes), np.nan)
    doubts = tuple(_doubts(view, search, goal, np.isfinite(seconds)))
    return _Amounts(search, steps, seconds, used * hourly, unknown, np.isfinite(unknown), settings, doubts)


def _doubts(view: ReleaseView, search: Search, goal: Goal, is_timed: Flags) -> Iterator[str]:
    """Yield what to know about the times of the logs. is_timed: by trial, True if the time to the target is known."""
    systems = systems_of(view, search.facts, is_timed)
    if not is_one_system(systems):
        where = f"{search.facts.workload}: the times in its logs were measured on {systems_in_words(systems)}"
        yield f"{where}: batch sizes differ by their hardware, too, for all of which the price is the same"
    yield from doubts_about_times(search, goal)


def _rows(amounts: _Amounts, budget: int) -> list[dict[str, Any]]:
    facts = amounts.search.facts
    rows: list[dict[str, Any]] = []
    for study, size in enumerate(facts.batch_sizes):
        chosen = amounts.chosen(study)
        settings, steps = amounts.settings[chosen], amounts.steps[chosen]
        row: dict[str, Any] = {
            "workload": str(facts.workload),
            "batch_size": size,
            "n_trials": len(chosen),
            "n_settings": len(np.unique(settings)),
            "n_reached": int(np.isfinite(steps).sum()),
            "chance": new_search(amounts.alike(study), budget).chance if len(chosen) else None,
            "seconds_per_step": _plain(amounts.per_step[study]),
            "is_extrapolated": bool(amounts.extrapolated[study]),
        }
        for name in ("steps", "seconds", "cost"):
            row |= _bounds(name, getattr(amounts, name)[chosen], settings, budget)
        rows.append(row)
    times, costs = (np.array([np.inf if row[n] is None else row[n] for row in rows]) for n in ("seconds", "cost"))
    fronts = is_on_front(times, costs) if np.isfinite(costs).any() else times == times.min(initial=np.inf)
    for row, time, cost, front in zip(rows, times, costs, fronts, strict=True):
        row["is_fastest"] = bool(np.isfinite(time) and time == times.min())
        row["is_cheapest"] = bool(np.isfinite(cost) and cost == costs.min())
        row["is_on_front"] = bool(front and np.isfinite(time))
    return rows


def _bounds(name: str, values: Floats, settings: Integers, budget: int) -> dict[str, float | None]:
    """Return the columns of a median and its bounds. Without all amounts of trials that reached it, they are null."""
    if not len(values) or np.isnan(values).any():
        return dict.fromkeys((name, f"{name}_lower", f"{name}_upper"))
    new = new_search(drawn_alike(values, settings, medians_of_settings), budget)
    lower = None if new.lower is None else _plain(new.lower)
    return {name: _plain(new.median), f"{name}_lower": lower, f"{name}_upper": _plain(new.upper)}


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _advice(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    several = len({row["workload"] for row in rows}) > 1
    for row in rows:
        for flag, name, word, unit in (
            ("is_fastest", "seconds", "Fastest", " s"),
            ("is_cheapest", "cost", "Cheapest", ""),
        ):
            if row[flag]:
                where = f"{row['workload']}: " if several else ""
                start = word.lower() if several else word
                size, between = f"{row['batch_size']:,}", _between(row[f"{name}_lower"], row[f"{name}_upper"], unit)
                yield f"{where}{start}: batch size {size}, {row[name]:,.3g}{unit} ({between})."


def _between(lower: float | None, upper: float | None, unit: str) -> str:
    """Return bounds in words."""
    if lower is None and upper is None:
        return "no stored trial bounds it"
    if lower is None:
        return f"at most {upper:,.3g}{unit}"
    return f"at least {lower:,.3g}{unit}" if upper is None else f"{lower:,.3g} to {upper:,.3g}{unit}"


def _left_out(amounts: _Amounts) -> Iterator[str]:
    facts = amounts.search.facts
    if np.isfinite(amounts.per_step).any():
        unknown = [size for size, time in zip(facts.batch_sizes, amounts.per_step, strict=True) if np.isnan(time)]
        if unknown:
            yield f"{facts.workload}: no time per step is known at batch size {_listed(unknown)}"
        return
    is_reached = np.isfinite(amounts.steps) & amounts.search.admitted
    untimed = is_reached & np.isnan(amounts.seconds)
    uncosted = is_reached & ~untimed & np.isnan(amounts.cost)
    for noun, is_unknown in (("times", untimed), ("costs", uncosted)):
        counts = facts.sums_by_study(is_unknown).tolist()
        if any(counts):
            sizes = [size for size, count in zip(facts.batch_sizes, counts, strict=True) if count]
            yield f"{facts.workload}: not all {noun} to the target are known at batch size {_listed(sizes)}"


def _warnings(amounts: _Amounts, budget: int) -> Iterator[str]:
    facts = amounts.search.facts
    yield from amounts.doubts
    outside = [size for size, is_out in zip(facts.batch_sizes, amounts.extrapolated, strict=True) if is_out]
    if outside:
        yield f"{facts.workload}: step times at batch size {_listed(outside)} are extrapolated"
    few = [size for study, size in enumerate(facts.batch_sizes) if len(amounts.alike(study)) < budget]
    if few:
        yield f"{facts.workload}: fewer than {budget} trials or settings are stored at batch size {_listed(few)}"
    doubtful = [size for study, size in enumerate(facts.batch_sizes) if _is_doubtful(amounts.alike(study), budget)]
    if doubtful:
        yield (
            f"{facts.workload}: not all of the few trials reach the target at batch size {_listed(doubtful)}: a search "
            "states an upper bound where by chance enough of its trials do, so it holds less often (in "
            f"{measured('advice few')} of simulations with 5 trials, of which 60% reach it)"
        )
    repeated = [
        size for study, size in enumerate(facts.batch_sizes) if are_repeated(amounts.settings[amounts.chosen(study)])
    ]
    if repeated:
        yield (
            f"{facts.workload}: trials at batch size {_listed(repeated)} repeat settings, so each setting counts as "
            "one trial, with the median of its trials"
        )


def _is_doubtful(steps: Floats, budget: int) -> bool:
    """Return True for an upper bound from few trials of which some never reach the target."""
    return 0 < len(steps) < _MANY and bool(np.isinf(steps).any() and np.isfinite(new_search(steps, budget).upper))


def _listed(sizes: Sequence[int]) -> str:
    named = ", ".join(f"{size:,}" for size in sizes[:_MOST_NAMED])
    return named + (f" and {len(sizes) - _MOST_NAMED} others" if len(sizes) > _MOST_NAMED else "")
