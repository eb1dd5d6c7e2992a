"""The answers of a study and of a trial in words.

A study: how many of its trials reached the goal, and which one was first, with which metaparameters. A trial: its
outcome, whether it reached the goal, and its rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from losslake_schema.package_files import read_toml
from losslake_schema.quantities import counted
from losslake_schema.statuses import STATUSES, Status
from losslake_service.web.goals import PageGoal
from losslake_service.web.studies.metaparameters import Metaparameter, distinguishing
from losslake_service.web.studies.trials import StudyTrials, rank_in
from losslake_service.web.templates import significant


@dataclass(frozen=True)
class StatusWords:
    """The words for a status. short: for a table. verb: for one or several trials. meaning: a sentence."""

    status: Status
    short: str
    verb: str
    meaning: str


# In the order of STATUSES.
STATUS_WORDS = [
    StatusWords(status, **read_toml("losslake_service.web", "studies/statuses.toml")[status]) for status in STATUSES
]


@dataclass(frozen=True)
class StudyAnswer:
    """The answer of a study. who, trial_id, did: a sentence about its best trial, if any. more: sentences."""

    headline: str
    who: str = ""
    trial_id: int | None = None
    did: str = ""
    more: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The whole answer in one line."""
        first = [] if self.trial_id is None else [f"{self.who}, trial {self.trial_id}, {self.did}"]
        return " ".join([self.headline, *first, *self.more])


def study_answer(goal: PageGoal, trials: StudyTrials, metaparameters: Sequence[Metaparameter]) -> StudyAnswer:
    """Return the answer of a study for a goal."""
    n_all, n_counted, n_reached = len(trials.trial_id), int(trials.counts.sum()), len(trials.ranked)
    more = tuple(_more(trials))
    best = trials.best
    if not n_counted:
        why = "The only trial did not complete" if n_all == 1 else f"None of the {n_all:,} trials completed"
        return StudyAnswer(f"{why}, so none counts for steps to {goal.text}." if n_all else "No trials.", more=more)
    if best is None:
        return StudyAnswer(f"No trial that completed has a finite value of {goal.metric}.", more=more)
    headline = f"{_who(n_reached, n_counted, n_all)} reached {goal.text}."
    its = distinguishing(metaparameters, best)
    ending = f", with {its}." if its else "."
    number = int(trials.trial_id[best])
    if not n_reached:
        value, step = float(trials.best_value[best]), int(trials.best_step[best])
        did = f"got to {significant(value)} at step {step:,}{ending}"
        return StudyAnswer(headline, "The closest" if n_counted > 1 else "It", number, did, more)
    n_others, previous = _n_others(trials, best), int(trials.previous_step[best])
    others = f", as {counted(n_others, 'other')} did" if n_others else ""
    did = f"did so after {trials.amount_in_words(best)}{_since(previous)}{others}{ending}"
    if n_others > 1 and previous >= 0:
        between = "they reached it somewhere between these two evaluations"
        more = (f"Which of these {n_others + 1:,} was first isn't known: {between}.", *more)
    return StudyAnswer(headline, "The fastest" if n_reached > 1 else "It", number, did, more)


def _who(n_reached: int, n_counted: int, n_all: int) -> str:
    """Return who reached the goal: 3 of 8 trials; None of the 8 trials that completed ever."""
    completed = "" if n_counted == n_all else " that completed"
    if n_counted == 1:
        return f"The only trial{completed}{'' if n_reached else ' never'}"
    trials = f"{n_counted:,} trials{completed}"
    if not n_reached:
        return f"None of the {trials} ever"
    return f"All {trials}" if n_reached == n_counted else f"{n_reached:,} of {'the ' if completed else ''}{trials}"


def _since(previous: int) -> str:
    """Return the evaluation before the goal was reached, in words."""
    return f" (but not yet at step {previous:,})" if previous >= 0 else " (its first evaluation)"


def _n_others(trials: StudyTrials, best: int) -> int:
    """Return how many other trials reached the goal as fast."""
    reached = np.array(trials.ranked)
    are_equal = (trials.steps[reached] == trials.steps[best]) & (trials.amounts[reached] == trials.amounts[best])
    return int(are_equal.sum()) - 1


def _more(trials: StudyTrials) -> Iterator[str]:
    """Yield sentences about the trials that never reached the goal, and those that don't count."""
    stopped = trials.counts & trials.censored
    if stopped.any():
        n = int(stopped.sum())
        would = "it would have isn't known" if n == 1 else "they would have isn't known"
        yield f"{n:,} stopped earlier, at an easier goal of {'its' if n == 1 else 'their'} own: whether {would}."
    never = trials.counts & ~trials.reached & ~stopped
    if trials.ranked and never.any():
        last = int(trials.last_step[never].max())
        seen = f" in up to {counted(last, 'step')}" if last >= 0 else ""
        yield f"{int(never.sum()):,} never did{seen}."
    for index, words in enumerate(STATUS_WORDS):
        uncounted = (trials.status == index) & ~trials.counts
        if uncounted.any():
            n, before = int(uncounted.sum()), int((uncounted & trials.reached).sum())
            had = f", though {before:,} had reached it before" if before else ""
            none = "" if not trials.counts.any() else ": it does not count" if n == 1 else ": they do not count"
            yield f"{n:,} {words.verb}{had}{none}."


def trial_answer(goal: PageGoal | None, trials: StudyTrials, row: int) -> str:
    """Return the headline of a trial: whether it reached the goal, or its last evaluation without a goal."""
    last_step = int(trials.last_step[row])
    if last_step < 0:
        return "It was never evaluated." if goal is None else f"It was never evaluated in {goal.metric}."
    if goal is None:
        return f"It was last evaluated at step {last_step:,}."
    if trials.reached[row]:
        since = _since(int(trials.previous_step[row]))
        return f"It reached {goal.text} after {trials.amount_in_words(row)}{since}."
    if trials.censored[row]:
        # It stopped where it was best; other metrics may go on.
        return f"It stopped at an easier goal of its own, at step {int(trials.best_step[row]):,}, before {goal.text}."
    return f"It never reached {goal.text} within {last_step:,} steps."


def trial_place(goal: PageGoal | None, trials: StudyTrials, row: int) -> str:
    """Return the rank of a trial in its study, or why it has none; empty without a goal."""
    if goal is None or trials.last_step[row] < 0:
        return ""
    if not trials.counts[row]:
        return f"Trials that {STATUS_WORDS[trials.status[row]].verb} have no rank in their study."
    reached = rank_in(trials.ranked, row)
    if reached:
        others = f", of {int(trials.counts.sum()):,} that completed" if len(trials.ranked) < trials.counts.sum() else ""
        return f"Rank {reached[0]:,} of the {reached[1]:,} trials that did{others}."
    by_value = rank_in(trials.by_value, row)
    if by_value is None:
        return f"It has no finite value of {goal.metric}."
    value, step = float(trials.best_value[row]), int(trials.best_step[row])
    came = f"It got to {significant(value)} at step {step:,}"
    return f"{came}: rank {by_value[0]:,} of {by_value[1]:,} by best value."
