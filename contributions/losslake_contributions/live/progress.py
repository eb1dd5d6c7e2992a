"""How far a run has come to its goal, and how that compares to stored trials, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake_contributions.live.stored_trials import StoredTrials
from losslake_schema.reached import Floats, Integers, hits, sign_of
from losslake_service.web.goals import PageGoal


@dataclass(frozen=True)
class Progress:
    """What a curve says. n_not_finite: of its n values. hit, best: indices in the curve; None for none, or no goal."""

    n: int
    n_not_finite: int
    last_step: int | None
    hit: int | None
    best: int | None


def progress_of(steps: Integers, values: Floats, goal: PageGoal | None) -> Progress:
    """Return what a curve says about a goal; the first step of several with the best value counts."""
    n_finite, hit, best = int(np.isfinite(values).sum()), None, None
    if goal is not None and len(values):
        losses = sign_of(goal.direction) * values
        reached = hits(losses, sign_of(goal.direction) * goal.target, goal.comparator)
        hit = int(reached.argmax()) if reached.any() else None
        best = int(np.where(np.isfinite(losses), losses, np.inf).argmin()) if n_finite else None
    return Progress(len(values), len(values) - n_finite, int(steps[-1]) if len(steps) else None, hit, best)


def sentences(
    progress: Progress,
    steps: Integers,
    values: Floats,
    goal: PageGoal | None,
    stored: StoredTrials | None,
    is_finished: bool,
) -> list[str]:
    """Return what there is to say of a run. stored: the trials of its batch size; None if there are none to compare."""
    if not progress.n:
        return ["Nothing was measured." if is_finished else "Nothing is measured yet."]
    said = [] if goal is None else [_reached(progress, steps, values, goal, stored, is_finished)]
    if goal is not None and stored is not None and stored.n_stopped_earlier:
        n = stored.n_stopped_earlier
        said.append(f"{_trials(n)} stopped at an easier goal: the median takes them as not reaching this one.")
    if progress.n_not_finite:
        odd = progress.n_not_finite
        said.append(f"{odd:,} of its {progress.n:,} values {'is' if odd == 1 else 'are'} not finite.")
    return said


def _reached(
    progress: Progress,
    steps: Integers,
    values: Floats,
    goal: PageGoal,
    stored: StoredTrials | None,
    is_finished: bool,
) -> str:
    others = "" if stored is None or not stored.n else f"; {_median(stored)}"
    if progress.hit is not None:
        return f"Reached {goal.text} in {_steps(int(steps[progress.hit]))}{others}."
    if progress.best is None:
        best = "no value is finite"
    else:
        best = f"its best value is {values[progress.best]:.6g}, at step {steps[progress.best]:,}"
    if is_finished:
        return f"Didn't reach {goal.text} in {_steps(progress.last_step or 0)}: {best}{others}."
    return f"Hasn't reached {goal.text} yet: {best}{others}."


def _median(stored: StoredTrials) -> str:
    """Return what the stored trials took, without a capital letter and a full stop."""
    if stored.n == 1:
        return f"the one stored trial {'never reaches it' if stored.median is None else f'took {stored.median:,.0f}'}"
    if stored.median is None:
        return f"the median of {_trials(stored.n)} doesn't reach it ({stored.n_reached:,} {_do(stored.n_reached)})"
    return (
        f"the median of {_trials(stored.n)} took {stored.median:,.0f}"
        if stored.median.is_integer()
        else (f"the median of {_trials(stored.n)} took {stored.median:,.1f}")
    )


def _do(n: int) -> str:
    return "does" if n == 1 else "do"


def _trials(n: int) -> str:
    return f"{n:,} trial{'' if n == 1 else 's'}"


def _steps(n: int) -> str:
    return f"{n:,} step{'' if n == 1 else 's'}"
