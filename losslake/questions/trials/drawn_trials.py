"""Steps, seconds and cost to a goal of the stored trials of a workload, from which new trials are predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from losslake.analysis.settings import are_repeated
from losslake.analysis.step_times import seconds_per_step
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.resources import accelerators_of, doubts_about_times, resources_of, several_systems
from losslake.questions.trials.scaling_curve import trial_steps
from losslake.questions.trials.search import Search
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_amounts import Counting, MeasureName
from losslake_schema.reached import Flags, Floats, Integers

_GIVE_TIMES = "give step_time=BATCH_SIZE=SECONDS, at two batch sizes or more"


@dataclass(frozen=True)
class DrawnTrials:
    """The steps, seconds and cost to a goal of the trials of a workload; inf for never, NaN for unknown.

    settings: by trial, as drawn_as_wholes has them. is_stopped: by trial, True if it ended at an easier goal of its
    own, so that it isn't known whether it would reach this one. per_step: seconds by study, NaN where they aren't
    given. extrapolated: by study. systems, accelerators: on which times were measured,
    in words and by name; empty for one system.
    doubts: about these times, in words.
    """

    search: Search
    steps: Floats
    seconds: Floats
    cost: Floats
    settings: Integers
    is_stopped: Flags
    per_step: Floats
    extrapolated: Flags
    systems: str = ""
    accelerators: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The workload."""
        return str(self.search.facts.workload)

    @cached_property
    def chosen(self) -> list[Integers]:
        """The rows of the admitted trials, by study."""
        return self.search.facts.rows_where(self.search.admitted)

    @cached_property
    def n_alike(self) -> list[int]:
        """The number that are drawn, by study: distinct settings where trials repeat settings, else trials."""
        settings = [self.settings[rows] for rows in self.chosen]
        return [len(np.unique(each)) if are_repeated(each) else len(each) for each in settings]


def drawn_by_step_times(search: Search, goal: Goal, step_times: Mapping[float, float], price: float) -> DrawnTrials:
    """Return trials whose steps take the given times.

    step_times: seconds by batch size. price: of a second, NaN for none.
    """
    facts, is_stopped = search.facts, search.stopped_earlier(goal)
    steps = np.where(is_stopped, np.nan, trial_steps(search, goal))
    per_step, extrapolated = seconds_per_step(step_times, facts.batch_sizes)
    seconds = np.where(np.isfinite(steps), steps * per_step[facts.study_of_trial], steps)
    settings = facts.drawn_as_wholes
    return DrawnTrials(search, steps, seconds, seconds * price, settings, is_stopped, per_step, extrapolated)


def drawn_by_logs(view: ReleaseView, search: Search, goal: Goal, price: float, accelerators: int | None) -> DrawnTrials:
    """Return trials whose times are in their logs; raises BadParameter where they aren't.

    price: of an accelerator second. accelerators: of each trial, for logs that don't say it.
    """
    facts, is_stopped, hits = search.facts, search.stopped_earlier(goal), search.first_hits(goal)
    steps = np.where(is_stopped, np.nan, trial_steps(search, goal))
    seconds, used = (
        np.where(is_stopped, np.nan, measure.of_trials(hits)) for measure in _measures(view, search, accelerators)
    )
    is_timed = np.isfinite(seconds)
    systems = several_systems(view, facts, is_timed)
    none = np.full(len(facts.batch_sizes), np.nan)
    return DrawnTrials(
        search=search,
        steps=steps,
        seconds=seconds,
        cost=used * price,
        settings=facts.drawn_as_wholes,
        is_stopped=is_stopped,
        per_step=none,
        extrapolated=np.isfinite(none),
        systems=systems,
        accelerators=tuple(accelerators_of(view, facts, is_timed)) if systems else (),
        doubts=tuple(doubts_about_times(search, goal)),
    )


def _measures(view: ReleaseView, search: Search, accelerators: int | None) -> Iterator[Measure]:
    """Yield the measures of seconds and of accelerator-seconds in the logs; raises BadParameter."""
    name, counts = search.facts.workload, resources_of(view, search.facts)["accelerators"]
    if accelerators and counts.filter(pa.array(search.admitted)).null_count < search.admitted.sum():
        why = f"the logs of {name} say on how many accelerators their times were measured"
        raise BadParameter("accelerators", f"{why}: leave accelerators out, or {_GIVE_TIMES}")
    measures: tuple[MeasureName, ...] = ("seconds", "accelerator_seconds")
    for measure in measures:
        try:
            yield Measure.of(view, search, Counting(measure, accelerators=accelerators))
        except BadParameter as error:
            if error.parameter != "measure":
                raise
            raise BadParameter("step_time", f"the logs of {name} have no times: {_GIVE_TIMES}") from None
