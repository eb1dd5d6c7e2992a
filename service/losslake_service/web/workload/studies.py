"""The table of studies: what each batch size takes to the target, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.output.answer import Answer
from losslake.questions.metaparameters import metaparameters
from losslake.questions.scaling import scaling
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Trial
from losslake_schema.tables import STATUSES
from losslake_service.web.workload.state import WorkloadAsked


@dataclass(frozen=True)
class TrialLink:
    """A trial by its number, and its page."""

    number: int
    url: str


@dataclass(frozen=True)
class StudyShown:
    """A study. n_trials: of any status; n_counted: those that count, of which n_reached reach the target.

    steps, previous_step, examples, best_trial, learning_rate: of the trial that takes the fewest steps; None if none
    reaches the target. censored_at: up to which step those were trained. best_value: of any evaluation; gap: how much
    it falls short of the target.
    """

    batch_size: int
    url: str
    n_trials: int
    n_incomplete: int
    n_infeasible: int
    n_counted: int
    n_reached: int
    steps: int | None
    previous_step: int | None
    examples: int | None
    censored_at: int | None
    regime: str | None
    best_trial: TrialLink | None
    learning_rate: float | None
    best_value: float | None
    gap: float | None


@dataclass(frozen=True)
class StatusCounts:
    """By study, how many trials have each status."""

    n_trials: list[int]
    n_complete: list[int]
    n_incomplete: list[int]
    n_infeasible: list[int]


def status_counts(facts: WorkloadFacts) -> StatusCounts:
    """Count the trials of a workload."""
    by_status = [facts.sums_by_study(facts.trials.status == number).tolist() for number in range(len(STATUSES))]
    return StatusCounts(np.diff(facts.offsets).tolist(), *by_status)


def studies_shown(asked: WorkloadAsked, regimes: Answer) -> tuple[StudyShown, ...]:
    """The studies by ascending batch size. regimes: the answer to the same goal."""
    view, selection, goal = asked.page.view, asked.selection, asked.as_goal
    counts = status_counts(asked.facts)
    rates = _learning_rates(asked)
    rows = zip(scaling(view, selection, goal).table().to_pylist(), regimes.table().to_pylist(), strict=True)
    found = []
    for place, (row, of_regime) in enumerate(rows):
        study = Study(asked.workload, row["batch_size"])
        number = row["trial_id"]
        found.append(
            StudyShown(
                batch_size=study.batch_size,
                url=asked.page_of(study),
                n_trials=counts.n_trials[place],
                n_incomplete=counts.n_incomplete[place],
                n_infeasible=counts.n_infeasible[place],
                n_counted=row["n_trials"],
                n_reached=row["n_reached"],
                regime=of_regime["regime"],
                best_trial=None if number is None else TrialLink(number, asked.page_of(Trial(study, number))),
                learning_rate=rates[place],
                **{name: row[name] for name in ("steps", "previous_step", "examples")},
                **{name: row[name] for name in ("censored_at", "best_value", "gap")},
            )
        )
    return tuple(found)


def _learning_rates(asked: WorkloadAsked) -> list[float | None]:
    """By study, that of the trial with the fewest steps, where it is a number."""
    rows = metaparameters(asked.page.view, asked.selection, asked.as_goal, within=0).table().to_pylist()
    first = [row for row in rows if row["rank"] in (None, 1)]
    values = [dict(row["parameters"] or ()).get("learning_rate") for row in first]
    return [value if isinstance(value, float) else None for value in values]
