"""Steps to a goal of the trials that a selection admits."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.questions.analysis.scaling_curve import trial_steps
from losslake.questions.goal import Goal
from losslake.questions.search import Search
from losslake_schema.reached import Floats


def admitted_steps(found: Search, goal: Goal) -> Iterator[Floats]:
    """By study, the steps to the target of its admitted trials; inf for never."""
    steps = trial_steps(found, goal)
    for study in range(len(found.facts.batch_sizes)):
        own = found.facts.rows_of(study)
        yield steps[own][found.admitted[own]]
