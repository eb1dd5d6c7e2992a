"""The answer of a study in words: how many of its trials reached the goal, and which did first, with what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from losslake_service.web.goals import GoalShown
from losslake_service.web.studies.metaparameter_table import told
from losslake_service.web.studies.metaparameters import Metaparameter
from losslake_service.web.studies.statuses import BY_INDEX
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import significant


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
