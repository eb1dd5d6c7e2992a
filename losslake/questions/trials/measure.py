"""The amount up to a target in steps, examples, epochs, tokens, FLOPs or times, and its least by study.

Time to a target is the least time of any trial, which isn't always the one with the fewest steps. So it is with tokens
and FLOPs where the trials of a study differ in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.index.measurement_files import measurements
from losslake.output.columns import Nullable
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.resources import doubts_about_times, resources_of
from losslake.questions.trials.search import Search, at, column_at
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_amounts import (
    Counting,
    MeasureName,
    StepAmounts,
    examples_of_epoch,
    flops_of_token,
    measure_noun,
    tokens_of_example,
)
from losslake.questions.trials.study_results import StudyResults, least_by_study
from losslake_schema.reached import NEVER, Floats, Integers


@dataclass(frozen=True)
class Amounts:
    """The least amount by study.

    row: of its trial in facts.trials, NEVER for none. least: undefined there. steps: of that trial. n_known: trials
    that reached the target with a known amount. n_unknown: those without. hardware, accelerator: of the trials of
    `row`, where times are counted.
    """

    row: Integers
    least: Floats
    steps: Integers
    n_known: Integers
    n_unknown: Integers
    hardware: pa.Array | None
    accelerator: pa.Array | None

    def columns(self, search: Search) -> dict[str, Any]:
        """Return the columns that AmountColumns declares."""
        is_known = self.row != NEVER
        return {
            "amount": Nullable(self.least, is_known),
            "amount_trial_id": lambda: column_at(search.facts.trials.trial_id, self.row),
            "amount_trial_workload": lambda: search.facts.workloads_of(self.row),
            "amount_steps": Nullable(self.steps, is_known),
            "n_amounts": self.n_known,
            "hardware": self.hardware,
            "accelerator": self.accelerator,
        }


@dataclass(frozen=True)
class Measure:
    """The amount that is counted in one workload.

    name: of the measure. in_steps: the amounts of steps; None for times. accelerators: by trial, NaN if unknown; None
    where they don't count.
    """

    view: ReleaseView
    search: Search
    name: MeasureName
    in_steps: StepAmounts | None
    accelerators: Floats | None = None

    @staticmethod
    def of(view: ReleaseView, search: Search, counting: Counting) -> Measure:
        """Return the measure; raises BadParameter where the logs don't say what it takes."""
        if not counting.is_timed:
            return Measure(view, search, counting.measure, StepAmounts.of(view, search.facts, counting))
        is_of_each = counting.measure == "accelerator_seconds"
        accelerators = _accelerators_of(view, search.facts, counting) if is_of_each else None
        _check_times(search)
        return Measure(view, search, counting.measure, None, accelerators)

    @staticmethod
    def of_seconds(view: ReleaseView, search: Search) -> Measure:
        """Return the measure of seconds, whether the logs have times or not."""
        return Measure(view, search, "seconds", None)

    @property
    def noun(self) -> str:
        """The amount that is counted, in words."""
        return measure_noun(self.name)

    def of_records(self) -> Floats:
        """Return the amounts at all records of the search; NaN where they aren't known."""
        records = self.search.records
        trials = np.repeat(records.rows, np.diff(records.offsets))
        if self.in_steps is not None:
            return self.in_steps.of_steps(records.step, trials)
        if records.elapsed_s is None:
            return np.full(len(records.step), np.nan)
        is_known = np.isfinite(records.elapsed_s) & (records.elapsed_s >= 0)
        return self._of_times(np.where(is_known, records.elapsed_s, np.nan), trials)

    def of_trials(self, hits: Integers) -> Floats:
        """Return the amount to the first hit by trial; inf for never, NaN where it isn't known. hits: records."""
        trials = np.arange(len(hits))
        if self.in_steps is not None:
            amounts = self.in_steps.of_steps(at(self.search.records.step, hits), trials)
        else:
            amounts = self._of_times(_hit_times(self.search, hits), trials)
        return np.where(hits == NEVER, np.inf, amounts)

    def _of_times(self, seconds: Floats, trials: Integers) -> Floats:
        return seconds if self.accelerators is None else seconds * at(self.accelerators, trials)

    def least(self, results: StudyResults, goal: Goal) -> Amounts:
        """Return the least amounts to a goal. results: of the same goal."""
        if self.in_steps is not None and self.in_steps.grow_alike:
            least = self.in_steps.of_steps(results.steps, results.row)
            none = np.zeros(len(results.row), np.int64)
            return Amounts(results.row, least, results.steps, results.n_reached, none, None, None)
        hits = self.search.first_hits(goal)
        return self.least_of(self.of_trials(hits), at(self.search.records.step, hits))

    def least_of(self, amounts: Floats, steps: Integers) -> Amounts:
        """Return the least of these amounts, ties to fewer steps. amounts: as of_trials returns them."""
        facts, of_study = self.search.facts, least_by_study(self.search, amounts, steps)
        row = of_study.row
        systems = resources_of(self.view, facts).take(pa.array(row, mask=row == NEVER)) if self.in_steps is None else {}
        return Amounts(
            row=row,
            least=of_study.amount,
            steps=at(steps, row),
            n_known=facts.sums_by_study(np.isfinite(amounts)),
            n_unknown=facts.sums_by_study(np.isnan(amounts)),
            hardware=systems["hardware"] if systems else None,
            accelerator=systems["accelerator"] if systems else None,
        )

    def caveats(self) -> Iterator[str]:
        """Yield in words how the amounts of the admitted trials were counted where no log states them."""
        if self.in_steps is not None:
            yield from self.in_steps.caveats(self.search.admitted)

    def doubts(self, goal: Goal) -> Iterator[str]:
        """Yield in words how many of the trials that reached a goal have times that can't all be right."""
        if self.in_steps is None:
            yield from doubts_about_times(self.search, goal, self.noun)

    def left_out(self, n_unknown: int) -> Iterator[str]:
        """Yield in words the trials that reached the target in an unknown amount."""
        if n_unknown:
            what = "no time" if self.name == "seconds" else "no time or number of accelerators"
            if self.in_steps is not None:
                what = f"no {self.in_steps.unknown}"
            yield f"{self.search.facts.workload}: {what} is known for {n_unknown} of the trials that reached the target"


def curve_amounts(
    view: ReleaseView, facts: WorkloadFacts, study: int, counting: Counting
) -> Callable[[Mapping[str, pa.Array]], pa.Array]:
    """Return a function that gives the amounts at evaluations of a study, null where they aren't known.

    It takes their columns. Raises BadParameter.
    """
    if counting.measure == "seconds":
        return lambda columns: columns["elapsed_s"]
    rows = facts.rows_of(study)
    trials = facts.trials.trial_id[rows]

    def places(columns: Mapping[str, pa.Array]) -> Integers:
        """Return the rows in facts.trials of these evaluations."""
        found: Integers = rows.start + np.searchsorted(trials, columns["trial_id"].to_numpy())
        return found

    if not counting.is_timed:
        in_steps = StepAmounts.of(view, facts, counting)
        return lambda columns: _known(in_steps.of_steps(columns["step"].to_numpy(), places(columns)))
    accelerators = _accelerators_of(view, facts, counting)
    return lambda columns: _known(columns["elapsed_s"].to_numpy(zero_copy_only=False) * accelerators[places(columns)])


def curve_caveats(view: ReleaseView, facts: WorkloadFacts, study: int, counting: Counting) -> Iterator[str]:
    """Yield in words how the amounts of a study's trials are counted where no log states them; raises BadParameter."""
    is_counted = facts.study_of_trial == study
    yield from StepAmounts.of(view, facts, counting).caveats(is_counted)


def _known(amounts: Floats) -> pa.Array:
    return pa.array(amounts, mask=np.isnan(amounts))


def _accelerators_of(view: ReleaseView, facts: WorkloadFacts, counting: Counting) -> Floats:
    """Return by trial the number of accelerators; raises BadParameter."""
    if counting.accelerators:
        return np.full(len(facts.trials.trial_id), float(counting.accelerators))
    return _accelerators(resources_of(view, facts), facts)


def _accelerators(resources: pa.Table, facts: WorkloadFacts) -> Floats:
    counts = resources["accelerators"].to_numpy()
    if np.isnan(counts).all():
        why = f"the logs of {facts.workload} don't say how many accelerators their trials ran on"
        raise BadParameter("accelerators", f"{why}: give accelerators=N if all ran on the same number")
    return np.asarray(counts, np.float64)


def _check_times(search: Search) -> None:
    """Raise BadParameter if the records of the workload have no times."""
    records = search.records
    if search.is_stored and len(records.step) and (records.elapsed_s is None or np.isnan(records.elapsed_s).all()):
        why = f"the logs of {search.facts.workload} have no times: give measure=steps or examples"
        raise BadParameter("measure", why)


def refusals(view: ReleaseView, search: Search) -> dict[MeasureName, BadParameter]:
    """Return why a workload can't be counted in a measure, by measure; without those in which it can."""
    refused: dict[MeasureName, BadParameter] = {}
    facts, resources = search.facts, resources_of(view, search.facts)
    needs: tuple[tuple[Callable[[], object], tuple[MeasureName, ...]], ...] = (
        (lambda: examples_of_epoch(resources, facts), ("epochs",)),
        (lambda: tokens_of_example(resources, facts, Counting("tokens")), ("tokens", "flops")),
        (lambda: flops_of_token(resources, facts, Counting("flops")), ("flops",)),
        (lambda: _accelerators(resources, facts), ("accelerator_seconds",)),
        (lambda: _check_times(search), ("seconds", "accelerator_seconds")),
    )
    for check, measures in needs:
        try:
            check()
        except BadParameter as error:
            refused |= dict.fromkeys(measures, error)
    return refused


def _hit_times(search: Search, hits: Integers) -> Floats:
    """Return by trial the seconds to its first hit; NaN without a hit, and where no time is known.

    hits: by trial, which record it is; NEVER for none.
    """
    if not (hits != NEVER).any():
        return np.full(len(hits), np.nan)
    if search.is_stored:
        times = search.records.elapsed_s
        elapsed = np.full(len(hits), np.nan) if times is None else at(times, hits)
    else:
        elapsed = _times_of_measurements(search, hits)
    return np.where((hits != NEVER) & np.isfinite(elapsed) & (elapsed >= 0), elapsed, np.nan)


def _times_of_measurements(search: Search, hits: Integers) -> Floats:
    """Return the same for a direction without stored records, from the measurements."""
    elapsed = np.full(len(hits), np.nan)
    steps = at(search.records.step, hits)
    for _, study_rows, facts, stored in search.facts.parts():
        rows = study_rows.start + np.flatnonzero(hits[study_rows] != NEVER)
        trials = search.facts.trials.trial_id[rows]
        for part in measurements(search.view.store, facts.files(stored), search.metric, trials.tolist()):
            numbers, measured_at = part["trial_id"].to_numpy(), part["step"].to_numpy()
            at_row = np.minimum(np.searchsorted(trials, numbers), len(trials) - 1)
            is_hit = (trials[at_row] == numbers) & (steps[rows][at_row] == measured_at)
            elapsed[rows[at_row[is_hit]]] = part["elapsed_s"].to_numpy(zero_copy_only=False)[is_hit]
    return elapsed
