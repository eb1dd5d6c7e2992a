"""Advice on the batch size: time and cost to a target at each batch size, from a reader's step times or prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.best_of_n import new_search
from losslake.analysis.measured_levels import measured
from losslake.analysis.settings import are_repeated
from losslake.analysis.step_times import FURTHEST, falling
from losslake.analysis.time_cost import is_on_front
from losslake.index.frontiers import COUNTED
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import GoalParameters, Natural, numbers_by_key
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.drawn_trials import DrawnTrials, drawn_by_logs, drawn_by_step_times
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.quantities import amount, plural
from losslake_schema.reached import Floats, Integers
from losslake_schema.statuses import INFEASIBLE, Status

MOST_STEP_TIMES = 50
# Seconds. Beyond them, products with steps and prices could be 0 or infinite.
LEAST_TIME, MOST_TIME = 1e-9, 1e9
# From so many trials on, upper bounds hold as they should, even if a third of the trials never reach the target.
_MANY = 20
_STOPPED = "some trials stopped at an easier goal of their own, so it isn't known how often this one is reached,"
_FEW = (
    "the best of {budget} new trials is probably better than all stored ones, which are fewer (give a smaller budget "
    "for a median),"
)
_MOSTLY = "fewer than half of the searches with a budget of {budget} reach the target"
_NO_STEP_TIME = f"no time per step is known (it holds between two given ones, and up to {FURTHEST:g} times beyond them)"
_DOUBTFUL = (
    "not all of the few trials reach the target at batch size {sizes}: a search states an upper bound where by chance "
    "enough of its trials do, so it holds less often (in {level} of simulations with 5 trials, of which 60% reach it)"
)
_REPEATED = (
    "trials at batch size {sizes} repeat settings, or pooled workloads, so each of these counts as one trial, whose "
    "value is that of any of its trials"
)
_OF_STEPS = "steps times the given seconds per step, linear between the given batch sizes"
_OF_LOGS = "those of the logs, evaluations included"


class AdviceParameters(GoalParameters):
    """The parameters of advice: step times, or a price."""

    status: Annotated[list[Status], shown(["COMPLETE"])] = Field(default_factory=lambda: [*COUNTED, INFEASIBLE])
    """Only trials of this status; may be repeated. Default: all but INCOMPLETE, as new trials miss and diverge, too."""
    step_time: Annotated[list[str], shown(["64=0.11"], max_length=MOST_STEP_TIMES)] = Field(default_factory=list)
    """Seconds per step of the model at a batch size, BATCH_SIZE=SECONDS; may be repeated. Between two, a step's time
    is linear in the batch size, as is up to twice as far beyond them. Default: the times in the logs of trials."""
    price: Annotated[
        float | None, shown(2.5, "currency per accelerator hour", ge=1e-6, le=1e6, allow_inf_nan=False)
    ] = None
    """The price of an accelerator hour, in any currency; default: no costs."""
    accelerators: Annotated[Natural | None, shown(8, "accelerators", ge=1, le=10_000_000)] = None
    """On how many accelerators a trial runs, for costs; default: 1 with step times, else as the logs say. Logs that
    say it can't be overridden, as their times depend on it."""
    budget: Annotated[Natural | None, shown(10, "trials", ge=1, le=1_000_000)] = None
    """Number of new trials at a batch size, of which the best counts; default: half of the smallest number of
    trials (of settings, where they repeat) at any batch size, at least 1."""

    def step_times(self) -> dict[float, float]:
        """Return the seconds per step by batch size; raises BadParameter."""
        form = "BATCH_SIZE=SECONDS, such as 64=0.11"
        times = numbers_by_key("step_time", self.step_time, "batch size", form, _can_be_a_time)
        return {float(size): seconds for size, seconds in times.items()}


def _can_be_a_time(batch_size: int, seconds: float) -> bool:
    return batch_size > 0 and LEAST_TIME <= seconds <= MOST_TIME


class AdviceRow(Row):
    """A batch size."""

    workload: str
    batch_size: int
    n_trials: int
    n_settings: Annotated[int, shown(64, "settings")]
    """Settings of these trials: equal metaparameters, seeds aside, or one submitter and system; workloads where several
    are pooled. Where they repeat, each counts as one trial."""
    n_reached: int
    chance: Annotated[float | None, shown(0.97, "none: a probability")]
    """Probability, at least, that the best new trial reaches the target: that it is no later than the last stored
    trial that does. Null without any stored trial, or if some stopped at an easier goal of their own."""
    seconds_per_step: Annotated[float | None, shown(0.11, "seconds")]
    """Seconds per step here, by the given step times; null without any."""
    is_extrapolated: Annotated[bool, shown(False)]
    """True if the batch size is outside the given step times, and its own is extrapolated from them."""
    steps: Annotated[float | None, shown(400.0, "steps")]
    """Median of the steps to the target of the best new trial; null if it mostly doesn't reach it, if `budget` is
    above the number of stored trials (of settings, where they repeat), or if some stopped at an easier goal."""
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
    """The parameters, and the advice in sentences."""

    step_time: Annotated[list[str], shown(["64=0.11"])]
    """The given step times."""
    price: Annotated[float | None, shown(2.5, "currency per accelerator hour")]
    """The given price of an accelerator hour; null without one."""
    accelerators: Annotated[int | None, shown(8, "accelerators")]
    """The given number of accelerators; null if the logs' or 1."""
    budget: Annotated[int | None, shown(10, "trials")]
    """Number of new trials at a batch size."""
    advice: Annotated[list[str], shown(["Fastest: batch size 512, 35.2 s (30.1 to 44 s)."])]
    """The fastest and the cheapest batch size of each workload, in sentences, and on what their times were measured."""


def _answer(view: ReleaseView, parameters: AdviceParameters) -> Answer:
    """Return time and cost by workload and batch size; raises UnknownName and BadParameter."""
    step_times, goal = parameters.step_times(), parameters.goal
    if not step_times and parameters.price is None:
        why = "give step_time=BATCH_SIZE=SECONDS, at two batch sizes or more, or price= of an accelerator hour, or both"
        raise BadParameter("step_time", why)
    if parameters.accelerators and parameters.price is None:
        raise BadParameter("price", "accelerators count for costs: give price= of an accelerator hour, too")
    if step_times and len({(each.dataset, each.model) for each in parameters.workloads}) > 1:
        why = "the step times of one model don't hold for another: give workloads of one data set and model"
        raise BadParameter("workload", why)
    searches = open_searches(view, parameters.selection())
    each = [_drawn(view, search, goal, parameters, step_times) for search in searches]
    counts = filter(None, (n for one in each for n in one.n_alike))
    budget = parameters.budget or max(1, min(counts, default=2) // 2)
    tables = [(one, _rows(one, budget)) for one in each]
    return QUESTION.analysis(
        view,
        parameters,
        [pa.RecordBatch.from_pylist([row for _, rows in tables for row in rows], QUESTION.rows.schema)],
        {"budget": budget, "advice": [text for one, rows in tables for text in _advice(one, rows, len(tables) > 1)]},
        n_used=sum(int(search.n_admitted.sum()) for search in searches),
        left_out=(text for one, rows in tables for text in _left_out(one, rows, step_times, budget)),
        warnings=[
            *(
                f"a step at batch size {larger:.0f} takes less time than one at {smaller:.0f}: check these step times"
                for smaller, larger in falling(step_times)
            ),
            *(text for one, rows in tables for text in _warnings(one, rows)),
        ],
        how=_OF_STEPS if step_times else _OF_LOGS,
        cost=_cost(parameters),
        assumed=_assumed(step_times),
    )


QUESTION = Question(
    path="/v1/analysis/advice",
    doc="Which batch size to use: time and cost to a target at each, from step times or the price of an accelerator.",
    parameters=AdviceParameters,
    row=AdviceRow,
    summary=AdviceSummary,
    compute=_answer,
)


def _cost(parameters: AdviceParameters) -> str:
    if parameters.price is None:
        return "not computed, without a price"
    if parameters.accelerators or not parameters.step_time:
        return "seconds times accelerators times the price"
    return "seconds times the price of 1 accelerator, since no number is given"


def _assumed(step_times: Mapping[float, float]) -> str:
    if step_times:
        return "steps to the target don't depend on the hardware, and that evaluations take no time"
    return "they run on the hardware of the stored ones"


def _drawn(
    view: ReleaseView, search: Search, goal: Goal, parameters: AdviceParameters, step_times: Mapping[float, float]
) -> DrawnTrials:
    """Return what trials of a workload took to the goal; raises BadParameter where logs don't say it."""
    hourly = np.nan if parameters.price is None else parameters.price / 3600
    if step_times:
        return drawn_by_step_times(search, goal, step_times, hourly * (parameters.accelerators or 1))
    return drawn_by_logs(view, search, goal, hourly, parameters.accelerators)


def _rows(trials: DrawnTrials, budget: int) -> list[dict[str, Any]]:
    facts = trials.search.facts
    rows: list[dict[str, Any]] = []
    for study, size in enumerate(facts.batch_sizes):
        chosen = trials.chosen[study]
        settings, steps = trials.settings[chosen], trials.steps[chosen]
        row: dict[str, Any] = {
            "workload": str(facts.workload),
            "batch_size": size,
            "n_trials": len(chosen),
            "n_settings": len(np.unique(settings)),
            "n_reached": int(np.isfinite(steps).sum()),
            "chance": None if _are_unknown(steps) else new_search(steps, budget, settings).chance,
            "seconds_per_step": _plain(trials.per_step[study]),
            "is_extrapolated": bool(trials.extrapolated[study]),
        }
        for name in ("steps", "seconds", "cost"):
            row |= _bounds(name, getattr(trials, name)[chosen], settings, budget)
        rows.append(row)
    times, costs = (np.array([np.inf if row[n] is None else row[n] for row in rows]) for n in ("seconds", "cost"))
    fronts = is_on_front(times, costs) if np.isfinite(costs).any() else times == times.min(initial=np.inf)
    for row, time, cost, front in zip(rows, times, costs, fronts, strict=True):
        row["is_fastest"] = bool(np.isfinite(time) and time == times.min())
        row["is_cheapest"] = bool(np.isfinite(cost) and cost == costs.min())
        row["is_on_front"] = bool(front and np.isfinite(time))
    return rows


def _bounds(name: str, values: Floats, settings: Integers, budget: int) -> dict[str, float | None]:
    """Return the columns of a median and its bounds. They are null unless the amounts of all trials are known."""
    if _are_unknown(values):
        return dict.fromkeys((name, f"{name}_lower", f"{name}_upper"))
    new = new_search(values, budget, settings)
    return {name: _plain(new.median), f"{name}_lower": _plain(new.lower), f"{name}_upper": _plain(new.upper)}


def _are_unknown(values: Floats) -> bool:
    return not len(values) or bool(np.isnan(values).any())


def _plain(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


_BESTS = (("is_fastest", "seconds", "time", "Fastest", " s"), ("is_cheapest", "cost", "cost", "Cheapest", ""))


def _advice(trials: DrawnTrials, rows: Sequence[dict[str, Any]], is_named: bool) -> Iterator[str]:
    """Yield the sentences of a workload. is_named: whether they begin with it."""
    across = ""
    if trials.systems:
        kinds = f" with {len(trials.accelerators)} kinds of accelerators" if len(trials.accelerators) > 1 else ""
        across = f" across {trials.systems}{kinds}, at one price"
    sentences = [
        f"{start}{across}: {_best(row, rows, name, noun, unit)}."
        for row in rows
        for flag, name, noun, start, unit in _BESTS
        if row[flag]
    ]
    if sentences and trials.systems:
        sentences.append(f"Times were measured on {trials.systems}, so batch sizes differ by their hardware, too.")
    yield from (f"{trials.name}: {text[:1].lower()}{text[1:]}" if is_named else text for text in sentences)


def _best(row: dict[str, Any], rows: Sequence[dict[str, Any]], name: str, noun: str, unit: str) -> str:
    """Return a batch size and its time or cost in words, and among how many it is the best if not of all."""
    between = _between(row[f"{name}_lower"], row[f"{name}_upper"], unit)
    n_known = sum(each[name] is not None for each in rows)
    how = ", by an extrapolated step time" if row["is_extrapolated"] else ""
    if len(rows) == 1:
        return f"batch size {row['batch_size']:,}, the only one, {amount(row[name])}{unit} ({between}){how}"
    among = f", of {n_known} {plural('batch size', n_known)} with a known {noun}" if n_known < len(rows) else ""
    return f"batch size {row['batch_size']:,}, {amount(row[name])}{unit} ({between}){how}{among}"


def _between(lower: float | None, upper: float | None, unit: str) -> str:
    """Return bounds in words."""
    if lower is None:
        return "no stored trial bounds it" if upper is None else f"at most {amount(upper)}{unit}"
    low = amount(lower)
    return f"at least {low}{unit}" if upper is None else f"{low} to {amount(upper)}{unit}"


def _left_out(
    trials: DrawnTrials, rows: Sequence[dict[str, Any]], step_times: Mapping[float, float], budget: int
) -> Iterator[str]:
    """Yield why batch sizes have no median."""
    facts, studies = trials.search.facts, range(len(rows))
    stopped, alike = facts.sums_by_study(trials.is_stopped), trials.n_alike
    is_reached = np.isfinite(trials.steps) & trials.search.admitted
    untimed = facts.sums_by_study(is_reached & np.isnan(trials.seconds))
    uncosted = facts.sums_by_study(is_reached & np.isfinite(trials.seconds) & np.isnan(trials.cost))
    decided = [at for at in studies if alike[at] and not stopped[at]]
    seen = [at for at in decided if rows[at]["n_reached"]]
    sizes_of_reasons = {
        _STOPPED: [at for at in studies if stopped[at]],
        "no trial reaches the target": [at for at in decided if not rows[at]["n_reached"]],
        _FEW.format(budget=budget): [at for at in seen if alike[at] < budget],
        _MOSTLY.format(budget=budget): [at for at in seen if alike[at] >= budget and rows[at]["steps"] is None],
        _NO_STEP_TIME: [at for at in studies if step_times and np.isnan(trials.per_step[at])],
        "not all times to the target are known": [at for at in studies if not step_times and untimed[at]],
        "not all costs to the target are known": [at for at in studies if not step_times and uncosted[at]],
    }
    for why, those in sizes_of_reasons.items():
        if those:
            yield f"{trials.name}: {why} at batch size {listed(facts.batch_sizes[at] for at in those)}"


def _warnings(trials: DrawnTrials, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    if trials.systems:
        yield (
            f"{trials.name}: the times in its logs were measured on {trials.systems}: batch sizes differ by their "
            "hardware, too, for all of which the price is the same"
            + (f"; where=accelerator={trials.accelerators[0]} takes those of one" if trials.accelerators else "")
        )
    yield from trials.doubts
    is_doubtful = [
        row["steps_upper"] is not None and trials.n_alike[at] < _MANY and row["n_reached"] < row["n_trials"]
        for at, row in enumerate(rows)
    ]
    is_repeated = [are_repeated(trials.settings[chosen]) for chosen in trials.chosen]
    notes = {
        "step times are extrapolated at batch size {sizes}": [row["is_extrapolated"] for row in rows],
        _DOUBTFUL: is_doubtful,
        _REPEATED: is_repeated,
    }
    for text, flags in notes.items():
        if any(flags):
            sizes = listed(row["batch_size"] for row, flag in zip(rows, flags, strict=True) if flag)
            yield f"{trials.name}: {text.format(sizes=sizes, level=measured('advice few'))}"
