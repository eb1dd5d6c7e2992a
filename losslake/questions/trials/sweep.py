"""The scaling of a workload at many targets, from the lower envelopes of its studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from losslake.analysis.best_setting import setting_envelope
from losslake.analysis.break_points import BreakPoints, dominated, max_useful, perfect_ends
from losslake.analysis.envelope import Envelope, lower_envelope, steps_to_targets
from losslake.analysis.identifiability import IdentifiedFits, identified_fits
from losslake.questions.trials.scaling_curve import known_before
from losslake.questions.trials.search import Search
from losslake_schema.reached import NEVER, Floats


@dataclass(frozen=True)
class StudyEnvelopes:
    """The envelope of each study of a workload."""

    search: Search
    envelopes: Sequence[Envelope]


def study_envelopes(search: Search) -> StudyEnvelopes:
    """Return the envelope of each study: of the records of its admitted trials, or of its best setting."""
    return StudyEnvelopes(search, search.once(_envelopes))


def _envelopes(search: Search) -> Sequence[Envelope]:
    records, facts, rule = search.records, search.facts, search.rule
    counts = np.diff(records.offsets)
    is_admitted = np.repeat(search.admitted[search.rows], counts)
    kept = np.flatnonzero(is_admitted & (np.arange(len(records.step)) < np.repeat(search.ends, counts)))
    # Trials with records come in the order of study and trial_id, as the envelope wants them.
    trial = np.repeat(search.rows, counts)[kept]
    bounds = np.searchsorted(facts.study_of_trial[trial], range(len(facts.batch_sizes) + 1)).tolist()
    losses = records.value * search.sign
    envelopes = []
    for study, (start, end) in enumerate(pairwise(bounds)):
        rows = kept[start:end]
        of_study = records.step[rows], losses[rows], records.previous_step[rows]
        if rule.is_of_settings:
            trials = np.flatnonzero(search.admitted & (facts.study_of_trial == study))
            seed = np.searchsorted(trials, trial[start:end])
            envelopes.append(setting_envelope(*of_study, seed, rule.settings[trials], rule.seeds))
        else:
            envelopes.append(lower_envelope(*of_study))
    return envelopes


@dataclass(frozen=True)
class Sweep:
    """The scaling of one workload by target and study. targets: losses to beat strictly."""

    merged: StudyEnvelopes
    targets: Floats

    @property
    def search(self) -> Search:
        """The search of the workload."""
        return self.merged.search

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """The batch sizes of the studies."""
        return self.search.facts.batch_sizes

    @cached_property
    def steps(self) -> Floats:
        """The fewest steps, targets by studies; inf for never."""
        return steps_to_targets(self.merged.envelopes, self.targets)

    @cached_property
    def usable_steps(self) -> Floats:
        """The same, NaN where there is no logarithm: where the target was reached at step 0."""
        return np.where(self.steps > 0, self.steps, np.nan)

    @cached_property
    def tuned_steps(self) -> Floats:
        """The same, NaN also where a batch size is dominated."""
        sizes, previous = self.batch_sizes, self.previous_steps
        return np.where(
            dominated(sizes, self.usable_steps, self.search.rule.undertuned_tau, previous).is_dominated,
            np.nan,
            self.usable_steps,
        )

    @cached_property
    def previous_steps(self) -> Floats:
        """The steps of the evaluations before these, as known_before has them."""
        previous = np.full(self.steps.shape, NEVER, np.int64)
        for study, envelope in enumerate(self.merged.envelopes):
            hits = envelope.first_hits(self.targets)
            is_hit = hits != NEVER
            previous[is_hit, study] = envelope.previous_step[hits[is_hit]]
        return known_before(self.search.facts, self.steps, previous)

    def perfect_ends(self) -> BreakPoints:
        """Return the end of perfect scaling by target."""
        return perfect_ends(self.batch_sizes, self.tuned_steps, censored_at=self.search.last_steps)

    def max_useful(self) -> BreakPoints:
        """Return the largest useful batch size by target."""
        return max_useful(self.batch_sizes, self.tuned_steps)

    def fits(self) -> IdentifiedFits:
        """Return the fit by target, or why there is none."""
        return identified_fits(
            np.asarray(self.batch_sizes, np.float64),
            self.tuned_steps,
            self.search.last_steps,
            self.previous_steps,
            None if self.search.rule.is_of_settings else self.search.n_admitted,
        )


def shared_sizes(merged: Sequence[StudyEnvelopes]) -> list[int]:
    """Return the batch sizes that every workload has, ascending."""
    return sorted(set.intersection(*(set(one.search.facts.batch_sizes) for one in merged)))


def steps_at_shared_sizes(merged: Sequence[StudyEnvelopes], targets: Floats) -> list[Floats]:
    """Return the fewest steps of each workload: targets by shared batch sizes."""
    shared = shared_sizes(merged)
    return [
        Sweep(one, targets).steps[:, [one.search.facts.batch_sizes.index(size) for size in shared]] for one in merged
    ]
