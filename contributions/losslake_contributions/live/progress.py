"""The progress of a run to its goal and its outlook, compared with stored trials, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from losslake.analysis.comparable import Comparable
from losslake.analysis.forecast import ForecastRefused, forecast
from losslake.questions.trials.forecast_words import in_sentences
from losslake_contributions.live.stored_trials import StoredTrials
from losslake_schema.quantities import counted
from losslake_schema.reached import Floats, Integers, hits, sign_of
from losslake_service.web.goals import PageGoal


@dataclass(frozen=True)
class Progress:
    """The state of a curve, and how it stands to a goal.

    n_not_finite: of its n values. last, best: step and value; best is the first of several with the best value. hit:
    the index of the first value that reaches the goal. reached_at: its step. None for none; best, hit and reached_at
    are None without a goal, too.
    """

    n: int
    n_not_finite: int
    last: tuple[int, float] | None
    best: tuple[int, float] | None
    hit: int | None
    reached_at: int | None


def progress_of(steps: Integers, values: Floats, goal: PageGoal | None) -> Progress:
    """Return what a curve says about a goal. steps: ascending."""
    n, n_finite = len(values), int(np.isfinite(values).sum())
    last = (int(steps[-1]), float(values[-1])) if n else None
    best = hit = None
    if goal is not None and n_finite:
        sign = sign_of(goal.direction)
        losses = sign * values
        reached = hits(losses, sign * goal.target, goal.comparator)
        hit = int(reached.argmax()) if reached.any() else None
        least = int(np.where(np.isfinite(losses), losses, np.inf).argmin())
        best = int(steps[least]), float(values[least])
    return Progress(n, n - n_finite, last, best, hit, None if hit is None else int(steps[hit]))


def sentences(progress: Progress, goal: PageGoal | None, stored: StoredTrials | None, is_finished: bool) -> list[str]:
    """Return what there is to say of a run. stored: the trials of its batch size; None if there are none to compare."""
    if progress.last is None:
        return ["Nothing was measured." if is_finished else "Nothing is measured yet."]
    step, value = progress.last
    if goal is None:
        texts = [f"The last value is {value:.6g}, at step {step:,}."]
    else:
        texts = [f"{_reached(progress, goal, step, is_finished)}{'; ' + _median(stored) if stored else ''}."]
    if goal is not None and stored is not None and stored.n_stopped_earlier:
        n = counted(stored.n_stopped_earlier, "trial")
        texts.append(f"{n} stopped at an easier goal: the median takes them as not reaching this one.")
    if progress.n_not_finite:
        n_odd = progress.n_not_finite
        texts.append(f"{n_odd:,} of its {progress.n:,} values {'is' if n_odd == 1 else 'are'} not finite.")
    return texts


def _reached(progress: Progress, goal: PageGoal, last_step: int, is_finished: bool) -> str:
    """Return the clause about the goal: reached, or the best value. last_step: of its curve."""
    if progress.reached_at is not None:
        return f"Reached {goal.text} in {counted(progress.reached_at, 'step')}"
    best = "no value is finite"
    if progress.best is not None:
        best = f"its best value is {progress.best[1]:.6g}, at step {progress.best[0]:,}"
    if is_finished:
        return f"Didn't reach {goal.text} in {counted(last_step, 'step')}: {best}"
    return f"Hasn't reached {goal.text} yet: {best}"


def _median(stored: StoredTrials) -> str:
    """Return the clause about the steps of stored trials."""
    trials, median = counted(stored.n, "trial"), stored.median
    if not stored.n:
        return "no stored trial of its batch size counts"
    if median is not None:
        took = f"{median:,.0f}" if median.is_integer() else f"{median:,.1f}"
        return f"the one stored trial took {took}" if stored.n == 1 else f"the median of {trials} took {took}"
    if stored.n == 1:
        return "the one stored trial doesn't reach it"
    return f"the median of {trials} doesn't reach it ({stored.n_reached:,} {'does' if stored.n_reached == 1 else 'do'})"


def outlook(trials: Comparable, steps: Integers, values: Floats) -> Iterator[str]:
    """Yield how a run may go on, or why that can't be said. steps: ascending; none for a run without measurements."""
    if not len(steps):
        return
    try:
        result = forecast(trials, steps, values)
    except ForecastRefused as error:
        yield f"How it goes on can't be forecast: {error}."
        return
    yield from in_sentences(result)
    if result.place != "within":
        yield f"It is {result.place} of the {result.n_trials:,} stored trials at this step, so it may be unlike them."
