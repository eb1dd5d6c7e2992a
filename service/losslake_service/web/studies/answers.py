"""The answer of a study in words: how many of its trials reached the goal, and which did first, with what.

What became of a trial, in words that need no documentation.
The answer of a trial in words: what became of it, whether it reached the goal, and where that puts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from losslake_schema.tables import STATUSES
from losslake_service.web.goals import GoalShown
from losslake_service.web.studies.metaparameters import Metaparameter, told
from losslake_service.web.studies.trials import StudyTrials, goal_result, rank_in
from losslake_service.web.templates import significant


@dataclass(frozen=True)
class StatusWords:
    """status: as data has it. short: for a table. verb, verbs: of one such trial, of several. meaning: a sentence."""

    status: str
    short: str
    verb: str
    verbs: str
    meaning: str


_WORDS = (
    StatusWords("COMPLETE", "complete", "completed", "completed", "It ran for as many steps as were planned."),
    StatusWords(
        "INCOMPLETE",
        "stopped",
        "was stopped for an outside reason",
        "were stopped for an outside reason",
        "It was stopped for an outside reason before it was done, so nobody knows how it would have gone on.",
    ),
    StatusWords(
        "INFEASIBLE",
        "diverged",
        "diverged",
        "diverged",
        "It diverged: training went so wrong, with a loss that is no number for example, that it could not go on.",
    ),
)
STATUS_WORDS = {words.status: words for words in _WORDS}
BY_INDEX = tuple(STATUS_WORDS[status] for status in STATUSES)
"""In the order of STATUSES, by which trials tell their status."""


@dataclass(frozen=True)
class StudyAnswer:
    """headline: the answer. who, trial_id, did: the trial to look at first, where there is one. more: sentences."""

    headline: str
    who: str = ""
    trial_id: int | None = None
    did: str = ""
    more: Sequence[str] = ()

    @property
    def text(self) -> str:
        """All in a line."""
        first = [] if self.trial_id is None else [f"{self.who}, trial {self.trial_id}, {self.did}"]
        return " ".join([self.headline, *first, *self.more])


def study_answer(goal: GoalShown, trials: StudyTrials, metaparameters: Sequence[Metaparameter]) -> StudyAnswer:
    """What to say of a study whose trials have that goal."""
    n_all, n_counted, n_reached = len(trials.trial_id), int(trials.counts.sum()), len(trials.ranked)
    more = tuple(_more(trials))
    best = trials.best
    if not n_counted:
        why = "The only trial did not complete" if n_all == 1 else f"None of the {n_all:,} trials completed"
        return StudyAnswer(f"{why}, so none counts for steps to {goal.text}." if n_all else "No trials.", more=more)
    if best is None:
        return StudyAnswer(f"No trial that completed has a finite value of {goal.metric}.", more=more)
    who = _of(n_reached, n_counted, n_all) if n_reached else _none(n_counted, n_all)
    headline = f"{who} reached {goal.text}."
    its = told(metaparameters, best)
    ending = f", with {its}." if its else "."
    number = int(trials.trial_id[best])
    if not n_reached:
        value, step = float(trials.best_value[best]), int(trials.best_step[best])
        did = f"came to {significant(value)} at step {step:,}{ending}"
        return StudyAnswer(headline, "The nearest" if n_counted > 1 else "It", number, did, more)
    did = f"did so after {_count(int(trials.steps[best]), 'step')}{_since(int(trials.previous_step[best]))}{ending}"
    return StudyAnswer(headline, "The fastest" if n_reached > 1 else "It", number, did, more)


def _of(n_reached: int, n_counted: int, n_all: int) -> str:
    if n_counted == 1:
        return "The only trial" if n_all == 1 else "The only trial that completed"
    which = f"{n_counted:,} trials" if n_counted == n_all else f"the {n_counted:,} trials that completed"
    return f"All {which.removeprefix('the ')}" if n_reached == n_counted else f"{n_reached:,} of {which}"


def _none(n_counted: int, n_all: int) -> str:
    if n_counted == 1:
        return "The only trial that completed never" if n_all > 1 else "The only trial never"
    which = f"{n_counted:,} trials" if n_counted == n_all else f"{n_counted:,} trials that completed"
    return f"None of the {which} ever"


def _since(previous: int) -> str:
    """Between which evaluations it was reached."""
    return f" (at step {previous:,} not yet)" if previous >= 0 else " (its first evaluation)"


def _more(trials: StudyTrials) -> Iterator[str]:
    """Those that never reached it, and those that don't count."""
    never = trials.counts & ~trials.reached
    if trials.ranked and never.any():
        last = int(trials.last_step[never].max())
        seen = f" in up to {_count(last, 'step')}" if last >= 0 else ""
        yield f"{int(never.sum()):,} never did{seen}."
    for index, words in enumerate(BY_INDEX):
        own = (trials.status == index) & ~trials.counts
        if own.any():
            n, before = int(own.sum()), int((own & trials.reached).sum())
            had = f", though {before:,} had reached it before" if before else ""
            none = "" if not trials.counts.any() else ": it does not count" if n == 1 else ": they do not count"
            yield f"{n:,} {words.verb if n == 1 else words.verbs}{had}{none}."


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def trial_answer(goal: GoalShown | None, trials: StudyTrials, row: int) -> str:
    """The headline: whether it reached the goal; without a goal, what became of it."""
    last_step = int(trials.last_step[row])
    if last_step < 0:
        return "It was never evaluated."
    if goal is None:
        return f"It was last evaluated at step {last_step:,}."
    result = goal_result(goal, trials, row)
    if result.steps is not None:
        before = "its first evaluation" if result.previous_step is None else f"at step {result.previous_step:,} not yet"
        return f"It reached {goal.text} after {result.steps:,} steps ({before})."
    return f"It never reached {goal.text} in the {last_step:,} steps it was seen for."


def trial_place(goal: GoalShown | None, trials: StudyTrials, row: int) -> str:
    """Its rank in the study, or why it has none; empty without a goal."""
    if goal is None or trials.last_step[row] < 0:
        return ""
    if not trials.counts[row]:
        return f"Trials that {BY_INDEX[trials.status[row]].verbs} have no rank in their study."
    reached = rank_in(trials.ranked, row)
    if reached:
        others = f", of {int(trials.counts.sum()):,} that completed" if len(trials.ranked) < trials.counts.sum() else ""
        return f"Number {reached.place:,} of the {reached.among:,} trials that did{others}."
    by_value = rank_in(trials.by_value, row)
    if by_value is None:
        return f"It has no finite value of {goal.metric}."
    value, step = float(trials.best_value[row]), int(trials.best_step[row])
    came = f"It came to {significant(value)} at step {step:,}"
    return f"{came}: number {by_value.place:,} of {by_value.among:,} by the best value."
