"""The amount up to a target: steps, examples, epochs, seconds or accelerator-seconds; its least by study.

Time to a target is the least time of any trial, which isn't always the one with the fewest steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from losslake.index.measurement_files import measurements
from losslake.output.columns import Nullable
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.examples import examples_of, have_several_schedules
from losslake.questions.trials.resources import doubts_about_times, resources_of
from losslake.questions.trials.search import Search, at, column_at
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.study_results import StudyResults, least_by_study
from losslake_schema.names import CHANGES
from losslake_schema.reached import NEVER, Floats, Integers

MeasureName = Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"]
_MOST_LISTED = 5


@dataclass(frozen=True)
class Counting:
    """The amount to count up to a target. examples_per_epoch, accelerators: None for those that the logs say."""

    measure: MeasureName
    examples_per_epoch: int | None
    accelerators: int | None


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

    name: of the measure. factors: by study, its amount in a step, or in an example where the batch size changes; None
    for times. accelerators: by trial, 1 for
    seconds, NaN if unknown.
    """

    view: ReleaseView
    search: Search
    name: MeasureName
    factors: Floats | None
    accelerators: Floats

    @staticmethod
    def of(view: ReleaseView, search: Search, counting: Counting) -> Measure:
        """Return the measure; raises BadParameter where the logs don't say what it takes."""
        factors, accelerators = _factors(view, search.facts, counting), np.ones(len(search.admitted))
        if counting.measure == "accelerator_seconds":
            accelerators = _accelerators_of(view, search.facts, counting)
        if factors is None:
            _check_times(search)
        return Measure(view, search, counting.measure, factors, accelerators)

    @staticmethod
    def of_seconds(view: ReleaseView, search: Search) -> Measure:
        """Return the measure of seconds, whether the logs have times or not."""
        return Measure(view, search, "seconds", None, np.ones(len(search.admitted)))

    @property
    def noun(self) -> str:
        """The amount that is counted, in words."""
        return self.name.replace("_", "-")

    def of_steps(self, steps: Integers, trials: Integers, studies: Integers) -> Floats:
        """Return the amounts of steps of these trials, in studies of these indices; not for times."""
        assert self.factors is not None
        amounts: Floats = steps * self.factors[studies]
        if self.name == "steps" or not self.search.facts.has_schedules:
            return amounts
        sizes = np.asarray(self.search.facts.batch_sizes, np.float64)
        changes = sizes[studies] == CHANGES
        examples = examples_of(self.view, self.search.facts, steps, trials, studies)
        return np.where(changes, examples * self.factors[studies], amounts)

    def of_records(self) -> Floats:
        """Return the amounts at all records of the search; NaN where they aren't known."""
        records = self.search.records
        trials = np.repeat(records.rows, np.diff(records.offsets))
        if self.factors is not None:
            return self.of_steps(records.step, trials, self.search.facts.study_of_trial[trials])
        if records.elapsed_s is None:
            return np.full(len(records.step), np.nan)
        is_known = np.isfinite(records.elapsed_s) & (records.elapsed_s >= 0)
        return np.where(is_known, records.elapsed_s, np.nan) * self.accelerators[trials]

    def of_trials(self, hits: Integers) -> Floats:
        """Return the amount to the first hit by trial; inf for never, NaN where it isn't known. hits: records."""
        if self.factors is not None:
            steps, studies = at(self.search.records.step, hits), self.search.facts.study_of_trial
            amounts = self.of_steps(steps, np.arange(len(hits)), studies)
        else:
            amounts = _hit_times(self.search, hits) * self.accelerators
        return np.where(hits == NEVER, np.inf, amounts)

    def least(self, results: StudyResults, goal: Goal) -> Amounts:
        """Return the least amounts to a goal. results: of the same goal."""
        if self.factors is not None and (self.name == "steps" or not self._differ):
            studies = np.arange(len(results.row))
            least = self.of_steps(results.steps, results.row, studies)
            none = np.zeros(len(studies), np.int64)
            return Amounts(results.row, least, results.steps, results.n_reached, none, None, None)
        hits = self.search.first_hits(goal)
        return self.least_of(self.of_trials(hits), at(self.search.records.step, hits))

    @property
    def _differ(self) -> bool:
        """True if trials of one study differ in the amounts of a step."""
        return have_several_schedules(self.view, self.search.facts)

    def least_of(self, amounts: Floats, steps: Integers) -> Amounts:
        """Return the least of these times, ties to fewer steps. amounts: as of_trials returns them."""
        facts, of_times = self.search.facts, least_by_study(self.search, amounts, steps)
        row = of_times.row
        resources = resources_of(self.view, facts).take(pa.array(row, mask=row == NEVER))
        return Amounts(
            row=row,
            least=of_times.amount,
            steps=at(steps, row),
            n_known=facts.sums_by_study(np.isfinite(amounts)),
            n_unknown=facts.sums_by_study(np.isnan(amounts)),
            hardware=resources["hardware"],
            accelerator=resources["accelerator"],
        )

    def doubts(self, goal: Goal) -> Iterator[str]:
        """Yield in words how many of the trials that reached a goal have times that can't all be right."""
        if self.factors is None:
            yield from doubts_about_times(self.search, goal, self.noun)

    def left_out(self, n_unknown: int) -> Iterator[str]:
        """Yield in words the trials that reached the target in an unknown amount."""
        if n_unknown:
            what = "no time" if self.name == "seconds" else "no time or number of accelerators"
            yield f"{self.search.facts.workload}: {what} is known for {n_unknown} of the trials that reached the target"


def curve_amounts(
    view: ReleaseView, facts: WorkloadFacts, study: int, counting: Counting
) -> Callable[[Mapping[str, pa.Array]], pa.Array]:
    """Return a function that gives the amounts at evaluations of a study, null where they aren't known.

    It takes their columns. Raises BadParameter.
    """
    factors = _factors(view, facts, counting)
    if factors is not None:
        import pyarrow.compute as pc  # here, since commands do without it: it takes 0.02 s to import

        factor = float(factors[study])
        if facts.batch_sizes[study] == CHANGES and counting.measure != "steps":
            return lambda columns: pa.array(_examples_at(view, facts, study, columns) * factor)
        return lambda columns: pc.multiply(columns["step"].cast(pa.float64()), factor)
    if counting.measure == "seconds":
        return lambda columns: columns["elapsed_s"]
    rows = facts.rows_of(study)
    trials, accelerators = facts.trials.trial_id[rows], _accelerators_of(view, facts, counting)[rows]

    def accelerator_seconds(columns: Mapping[str, pa.Array]) -> pa.Array:
        numbers = accelerators[np.searchsorted(trials, columns["trial_id"].to_numpy())]
        amounts = columns["elapsed_s"].to_numpy(zero_copy_only=False) * numbers
        return pa.array(amounts, mask=np.isnan(amounts))

    return accelerator_seconds


def _examples_at(view: ReleaseView, facts: WorkloadFacts, study: int, columns: Mapping[str, pa.Array]) -> Floats:
    """Return the examples up to evaluations of a study."""
    rows = facts.rows_of(study)
    trials = rows.start + np.searchsorted(facts.trials.trial_id[rows], columns["trial_id"].to_numpy())
    return examples_of(view, facts, columns["step"].to_numpy(), trials)


def _factors(view: ReleaseView, facts: WorkloadFacts, counting: Counting) -> Floats | None:
    """Return by study the amount in a step; None for times. Raises BadParameter."""
    sizes = np.asarray(facts.batch_sizes, np.float64)
    if facts.has_schedules:
        sizes[0] = 1.0  # of examples, which `Measure.of_steps` counts by trial
    match counting.measure:
        case "steps":
            return np.ones(len(sizes))
        case "examples":
            return sizes
        case "epochs":
            return sizes / (counting.examples_per_epoch or _epoch(resources_of(view, facts), facts))
    return None


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


def _epoch(resources: pa.Table, facts: WorkloadFacts) -> float:
    """Return the examples in an epoch of a workload; raises BadParameter."""
    counts = np.unique(resources["examples_per_epoch"].drop_null().to_numpy())
    if len(counts) == 1:
        return float(counts[0])
    why = f"the logs of {facts.workload} don't say how many examples an epoch has"
    if len(counts):
        listed = ", ".join(f"{count:,.12g}" for count in counts[:_MOST_LISTED]) + (", …" * (len(counts) > _MOST_LISTED))
        why = f"the logs of {facts.workload} have epochs of {listed} examples"
    raise BadParameter("examples_per_epoch", f"{why}: give examples_per_epoch=N")


def _check_times(search: Search) -> None:
    """Raise BadParameter if the records of the workload have no times."""
    records = search.records
    if search.is_stored and len(records.step) and (records.elapsed_s is None or np.isnan(records.elapsed_s).all()):
        why = f"the logs of {search.facts.workload} have no times: give measure=steps or examples"
        raise BadParameter("measure", why)


def refusals(view: ReleaseView, search: Search) -> dict[MeasureName, BadParameter]:
    """Return why a workload can't be counted in a measure, by measure; without those in which it can."""
    refused: dict[MeasureName, BadParameter] = {}
    resources = resources_of(view, search.facts)
    try:
        _epoch(resources, search.facts)
    except BadParameter as error:
        refused["epochs"] = error
    try:
        _check_times(search)
        _accelerators(resources, search.facts)
    except BadParameter as error:
        refused["accelerator_seconds"] = error
        if error.parameter == "measure":
            refused["seconds"] = error
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
