"""Forecast of a running training: bands for its best value at the end and for its step of the target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from losslake.analysis.forecast import (
    LEVELS,
    REQUIRED_LEVEL,
    Forecast,
    ForecastRefused,
    HeldOut,
    TooFewSettings,
    forecast,
    held_out,
)
from losslake.analysis.forecast_levels import held_in_words
from losslake.analysis.neighbour_bands import groups_needed
from losslake.index.frontiers import COUNTED
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import BATCH_UNIT, GoalParameters, Natural, numbers_by_key
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, Summary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.comparable_trials import ComparableTrials, comparable_trials
from losslake.questions.trials.forecast_words import in_sentences
from losslake.questions.trials.search import Search, open_search
from losslake_schema import registry
from losslake_schema.names import LARGEST_INTEGER
from losslake_schema.statuses import INCOMPLETE, INFEASIBLE, Status

MOST_POINTS = 200
State = Literal["reached", "open", "unknown"]


class ForecastParameters(GoalParameters):
    """The parameters of forecast: a partial curve, and the batch size at which it is trained."""

    status: Annotated[list[Status], shown(["COMPLETE"])] = Field(default_factory=lambda: [*COUNTED, INFEASIBLE])
    """Only trials of this status; may be repeated. Default: all but INCOMPLETE, as new trials miss and diverge, too.
    INCOMPLETE is refused, since it isn't known how such trials would have ended."""
    batch_size: Annotated[Natural, shown(64, BATCH_UNIT)]
    """The batch size of the run; it is compared only with trials of the same one."""
    curve: Annotated[list[str], shown(["20=0.8", "40=0.4"], min_length=1, max_length=MOST_POINTS)]
    """An evaluation of the run so far, STEP=VALUE; repeated, up to 200. VALUE may be nan or inf. Of a longer curve,
    give each value that is better than all before it, and the last evaluation: the forecast is the same."""

    def points(self) -> dict[int, float]:
        """Return the values by step, ascending; raises BadParameter."""
        points = numbers_by_key("curve", self.curve, "step", "STEP=VALUE, such as 100=0.31")
        return dict(sorted(points.items()))


class ForecastRow(Row):
    """A band of one level."""

    workload: str
    batch_size: int
    level: Annotated[float, shown(0.8, "none: a probability")]
    """The probability with which each band holds, by design."""
    best_lower: Annotated[float | None, shown(0.031, "unit of the metric")]
    """The least best value at the end of the run; null if too few settings are compared for this level."""
    best_upper: Annotated[float | None, shown(0.058, "unit of the metric")]
    """The greatest best value at the end of the run; null likewise."""
    steps_lower: Annotated[int | None, shown(320, "steps")]
    """The first step at which the target may be reached; null if the band is that it isn't reached at all, and where
    `state` is not open, or too few settings are compared for this level."""
    steps_upper: Annotated[int | None, shown(None, "steps")]
    """The last such step; null if the run may end without reaching it, and likewise."""
    has_steps: Annotated[bool, shown(True)]
    """True if there is a band of steps, in which null means not reached; false if nothing is said of them."""


class HeldOutLevel(Summary):
    """The coverage of the band of a level among the compared trials themselves."""

    level: Annotated[float, shown(0.8, "none: a probability")]
    n: Annotated[int, shown(40, "trials")]
    n_held: Annotated[int, shown(34, "trials")]
    n_target: Annotated[int, shown(31, "trials")]
    n_target_held: Annotated[int, shown(29, "trials")]


class ForecastSummary(GoalSummary, Finding):
    """The run so far, the forecast in sentences, and with what it was compared."""

    batch_size: Annotated[int, shown(64, BATCH_UNIT)]
    """The batch size of the run."""
    curve: Annotated[list[str], shown(["20=0.8", "40=0.4"])]
    """The given partial curve."""
    forecast: Annotated[list[str], shown(["Best value at the end: 0.031 to 0.058 (80%)."])]
    """The forecast in sentences."""
    step: Annotated[int, shown(40, "steps")]
    """The last step of the curve."""
    best_value: Annotated[float, shown(0.4, "unit of the metric")]
    """The best value so far."""
    place: Annotated[Literal["within", "better than all", "worse than all"], shown("within")]
    """The rank of the best value so far among those of the compared trials at this step."""
    median_best: Annotated[float, shown(0.042, "unit of the metric")]
    """Median of the best value at the end of the most similar trials, moved by the same improvement."""
    state: Annotated[State, shown("open")]
    """Of the target: reached; open, with bands of its step; or unknown, if too few trials say when it is reached."""
    reached_at: Annotated[int | None, shown(None, "steps")]
    """The first step of the curve that reaches the target; null if none does."""
    median_steps: Annotated[int | None, shown(480, "steps")]
    """Median step of the target of the most similar trials; null if half of them never reached it, or if not open."""
    n_settings: Annotated[int, shown(63, "settings")]
    """Settings of the compared trials; equal to n_used where settings aren't repeated."""
    n_open: Annotated[int, shown(55, "trials")]
    """Trials that hadn't reached the target by this step either, and of which it is known whether they did later."""
    n_alike: Annotated[int, shown(8, "trials")]
    """The most similar of these; 0 if not open."""
    n_alike_reached: Annotated[int, shown(6, "trials")]
    """Number of the most similar ones that went on to reach the target."""
    held_out: list[HeldOutLevel]
    """Per level, for how many compared trials (up to 40) the bands at this step held, each held out with its setting:
    `n_held` of `n` for the value, `n_target_held` of `n_target` for the step of the target."""


def _answer(view: ReleaseView, parameters: ForecastParameters) -> Answer:
    """Return the bands by level; raises UnknownName and BadParameter."""
    points = parameters.points()
    if INCOMPLETE in parameters.status:
        why = "how trials of status INCOMPLETE would have ended isn't known, so no run is compared with them"
        raise BadParameter("status", f"{why}: leave this status out")
    _check_values(parameters.metric, points)
    if len(parameters.workloads) != 1:
        raise BadParameter("workload", "a run is compared with one workload or pattern: give workload once")
    search = open_search(view, parameters.selection(), parameters.workloads[0])
    study = view.index_of(search.facts, parameters.batch_size)
    trials = comparable_trials(search, parameters.goal, study)
    try:
        result = forecast(trials.comparable, list(points), list(points.values()))
    except TooFewSettings as error:
        raise BadParameter("batch_size", f"{error}{_others(search, parameters)}") from None
    except ForecastRefused as error:
        raise BadParameter("curve", f"{error}: give the curve of a run that is still training") from None
    coverage = held_out(trials.comparable, result.step)
    name = str(search.facts.workload)
    return QUESTION.analysis(
        view,
        parameters,
        [QUESTION.rows.of(_columns(name, parameters.batch_size, result))],
        {**_facts(result), "forecast": [*_sentences(result, coverage)], "held_out": [vars(each) for each in coverage]},
        n_used=result.n_trials,
        left_out=(f"{name}: {text}" for text in _left_out(result, trials)),
        warnings=(f"{name}: {text}" for text in _warnings(result, trials)),
        level=f"{REQUIRED_LEVEL:.0%}",
        final=held_in_words("final", REQUIRED_LEVEL),
        target=held_in_words("target", REQUIRED_LEVEL),
    )


QUESTION = Question(
    path="/v1/analysis/forecast",
    doc="Whether a running training is on track: bands for its best value at the end, and for its step of the target.",
    parameters=ForecastParameters,
    row=ForecastRow,
    summary=ForecastSummary,
    compute=_answer,
)


def _check_values(metric: str, points: Mapping[int, float]) -> None:
    """Raise BadParameter for a value that the metric never has, such as a percentage where it is a fraction."""
    definition = registry.metrics().get(metric)
    if definition is None:
        return
    lowest, highest = definition.limits
    for step, value in points.items():
        if math.isfinite(value) and not lowest <= value <= highest:
            meant = definition.meant_by(value)
            do = f"give a value there, not {value:g}" if meant is None else f"did you mean {meant:g}?"
            raise BadParameter("curve", f"curve={step}={value:g}: {definition.range_in_words}: {do}")


def _others(search: Search, parameters: ForecastParameters) -> str:
    """Return in words which other batch sizes have enough settings."""
    enough = []
    for study, size in enumerate(search.facts.batch_sizes):
        if size != parameters.batch_size:
            groups = comparable_trials(search, parameters.goal, study).comparable.groups
            enough += [size] if len(np.unique(groups)) >= groups_needed(REQUIRED_LEVEL) else []
    if not enough:
        return ", as no other batch size of the workload has: a pattern (workload=\u2026/*) pools the trials of several"
    return f"; batch sizes with as many are {listed(enough)}, but their steps say nothing of those of this one"


def _columns(name: str, batch_size: int, result: Forecast) -> dict[str, Any]:
    bands = result.bands
    steps = [band.target_steps or (math.inf, math.inf) for band in bands]
    return {
        "workload": name,
        "batch_size": batch_size,
        "level": [band.level for band in bands],
        "best_lower": [None if band.final is None else band.final[0] for band in bands],
        "best_upper": [None if band.final is None else band.final[1] for band in bands],
        "steps_lower": [_whole(first) for first, _ in steps],
        "steps_upper": [_whole(last) for _, last in steps],
        "has_steps": [band.target_steps is not None for band in bands],
    }


def _whole(step: float | None) -> int | None:
    return None if step is None or not math.isfinite(step) else min(int(step), LARGEST_INTEGER)


def _state(result: Forecast) -> State:
    if result.reached_at is not None:
        return "reached"
    return "unknown" if result.target is None or result.target.median is None else "open"


def _facts(result: Forecast) -> dict[str, Any]:
    target = result.target
    return {
        "step": result.step,
        "best_value": result.best,
        "place": result.place,
        "median_best": result.median,
        "state": _state(result),
        "reached_at": result.reached_at,
        "median_steps": None if target is None else _whole(target.median),
        "n_settings": result.n_settings,
        "n_open": 0 if target is None else target.n_trials,
        "n_alike": 0 if target is None else target.n_alike,
        "n_alike_reached": 0 if target is None else target.n_alike_reached,
    }


def _sentences(result: Forecast, coverage: list[HeldOut]) -> Iterator[str]:
    """Yield the forecast in words, and how often such bands held for the compared trials."""
    yield f"Best value so far: {result.best:.4g}, by step {result.step:,}."
    yield from in_sentences(result)
    place = LEVELS.index(REQUIRED_LEVEL)
    check = coverage[place]
    is_open = result.bands[place].target_steps is not None and check.n_target > 0
    yield (
        f"Of {check.n} of the compared trials, each held out, {check.n_held} ended in such a band"
        + (f", and {check.n_target_held} of {check.n_target} reached the target in theirs." if is_open else ".")
    )


def _left_out(result: Forecast, trials: ComparableTrials) -> Iterator[str]:
    if trials.n_valueless:
        yield f"{trials.n_valueless} trials without a number"
    if result.n_ended:
        yield f"{result.n_ended} trials that ended by step {result.step}"
    if result.n_unmeasured:
        yield f"{result.n_unmeasured} trials without a number by step {result.step}"
    if result.n_beyond:
        yield f"{result.n_beyond} trials beyond the first {result.n_trials}, equally many of each setting"


def _warnings(result: Forecast, trials: ComparableTrials) -> Iterator[str]:
    if result.place != "within":
        yield (
            f"at step {result.step} the run is {result.place} of the {result.n_trials} compared trials: it may be "
            "unlike them, and then the bands say nothing"
        )
    few = [band.level for band in result.bands if band.final is None]
    if few:
        needed = ", ".join(f"{groups_needed(level)} for {level:.0%}" for level in few)
        yield f"{result.n_settings} settings are too few for some levels, which need more: {needed}"
    if _state(result) == "unknown" and result.target is not None:
        yield (
            f"only {result.target.n_settings} settings hadn't reached the target by step {result.step} and say when "
            f"they did: too few for a band of its step, which needs {groups_needed(REQUIRED_LEVEL)}"
        )
    ends = trials.comparable.target_steps == trials.comparable.last_steps
    if ends.mean() > 0.5:
        yield (
            f"{int(ends.sum())} of {len(ends)} trials end where they reach the target: the best value at the end is "
            "that at which such runs stop, not what longer training would give"
        )
