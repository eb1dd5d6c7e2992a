"""A workload's scaling at many targets, from the lower envelopes of its studies.

The lower envelopes of a workload's studies, from the records that a selection admits.
For which targets a claim about scaling holds, exactly: evaluated between all breakpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from losslake.analysis.break_points import BreakPoints, max_useful, perfect_ends
from losslake.analysis.envelope import (
    Envelope,
    TargetInterval,
    breakpoints,
    coverage,
    holding_intervals,
    lower_envelope,
    ranks,
    steps_to_targets,
)
from losslake.analysis.identifiability import IdentifiedFits, identified_fits
from losslake.questions.search import Search, at
from losslake_schema.reached import NEVER, Floats, Integers


@dataclass(frozen=True)
class StudyEnvelopes:
    """By study of a workload, its envelope; `row` of an entry is an index into the search's records."""

    found: Search
    envelopes: Sequence[Envelope]

    @cached_property
    def trial_of_record(self) -> Integers:
        """By record, the row of its trial in facts.trials."""
        return np.repeat(self.found.rows, np.diff(self.found.records.offsets))

    def records(self, entries: Integers) -> Integers:
        """By study, the record of the envelope's entry of that index; NEVER stays so."""
        found = [
            int(envelope.row[entry]) if entry != NEVER else NEVER
            for envelope, entry in zip(self.envelopes, entries.tolist(), strict=True)
        ]
        return np.array(found, np.int64)

    def trials(self, records: Integers) -> Integers:
        """Of records, the rows of their trials in facts.trials; NEVER stays so."""
        known = records != NEVER
        rows = at(self.trial_of_record, np.where(known, records, 0).ravel()).reshape(records.shape)
        return np.where(known, rows, NEVER)


def study_envelopes(found: Search) -> StudyEnvelopes:
    """Merge the records of each study's admitted trials."""
    records, facts = found.records, found.facts
    counts = np.diff(records.offsets)
    is_admitted = np.repeat(found.admitted[found.rows], counts)
    kept = np.flatnonzero(is_admitted & (np.arange(len(records.step)) < np.repeat(found.ends, counts)))
    # Trials with records come in the order of study and trial_id, as the envelope wants them.
    bounds = np.searchsorted(
        facts.study_of_trial[np.repeat(found.rows, counts)[kept]], range(len(facts.batch_sizes) + 1)
    )
    losses = records.value * found.sign
    envelopes = []
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own = kept[start:end]
        envelope = lower_envelope(records.step[own], losses[own])
        envelopes.append(Envelope(envelope.step, envelope.loss, own[envelope.row]))
    return StudyEnvelopes(found, envelopes)


@dataclass(frozen=True)
class Sweep:
    """By target and study of one workload. targets: as losses to be beaten strictly."""

    merged: StudyEnvelopes
    targets: Floats

    @property
    def found(self) -> Search:
        return self.merged.found

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        return self.found.facts.batch_sizes

    @cached_property
    def steps(self) -> Floats:
        """Least steps, targets by studies; inf for never."""
        return steps_to_targets(self.merged.envelopes, self.targets)

    @cached_property
    def usable_steps(self) -> Floats:
        """The same, NaN where there is no logarithm: at batch size 0, or where the target was reached at step 0."""
        return np.where((self.steps > 0) & (np.asarray(self.batch_sizes) > 0), self.steps, np.nan)

    @cached_property
    def previous_steps(self) -> Floats:
        """Of the trials with these, the step of the evaluation before; NaN for none."""
        previous = np.full(self.steps.shape, np.nan)
        for study, envelope in enumerate(self.merged.envelopes):
            hits = envelope.first_hits(self.targets)
            is_hit = hits != NEVER
            steps = at(self.found.records.previous_step, envelope.row[hits[is_hit]])
            previous[is_hit, study] = np.where(steps >= 0, steps, np.nan)
        return previous

    @cached_property
    def ran(self) -> Integers:
        """By study, the last step that any admitted trial ran to; -1 for none."""
        return self.found.last_steps

    def perfect_ends(self) -> BreakPoints:
        """By target, where perfect scaling ends."""
        return perfect_ends(self.batch_sizes, self.usable_steps, censored_at=self.ran)

    def max_useful(self) -> BreakPoints:
        """By target, the batch size that no larger one betters by much."""
        return max_useful(self.usable_steps)

    def fits(self) -> IdentifiedFits:
        """By target, the fit, or why there is none."""
        sizes = np.asarray(self.batch_sizes, np.float64)
        kept = sizes > 0
        return identified_fits(sizes[kept], self.usable_steps[:, kept], self.ran[kept], self.previous_steps[:, kept])


EVERY_SIZE = "every batch size reaches the target"
THREE_REGIMES = "some batch size is in each regime: perfect scaling, diminishing returns, maximal data parallelism"
FEWEST = "no other workload needs fewer steps at any batch size that all have"


@dataclass(frozen=True)
class Claim:
    """A claim about a workload, and between which targets it holds."""

    workload: str
    claim: str
    intervals: Sequence[TargetInterval]

    def as_fact(self, sign: float) -> dict[str, Any]:
        """The same as a fact of an answer, in the metric's own direction; an end without limit is null."""
        return {
            "workload": self.workload,
            "claim": self.claim,
            "intervals": [
                {"hardest": each.hardest * sign, "easiest": each.easiest * sign if np.isfinite(each.easiest) else None}
                for each in self.intervals
            ],
        }


def claims(merged: Sequence[StudyEnvelopes]) -> list[Claim]:
    """What can be said of each workload, and of several beside each other."""
    return [*(claim for one in merged for claim in _of_one(one)), *(_of_several(merged) if len(merged) > 1 else ())]


def _of_one(merged: StudyEnvelopes) -> Iterator[Claim]:
    points = breakpoints(merged.envelopes)
    if not len(points):
        return
    swept = Sweep(merged, _between(points))
    name = str(merged.found.facts.workload)
    yield Claim(name, EVERY_SIZE, holding_intervals(points, coverage(swept.steps) == 1))
    end, useful = swept.perfect_ends(), swept.max_useful()
    places = np.arange(swept.steps.shape[1])
    is_between = (end.index[:, None] < places) & (places < useful.index[:, None]) & np.isfinite(swept.steps)
    has_three = (end.index != NEVER) & is_between.any(axis=1)
    has_three &= ~end.is_left_censored & ~end.is_right_censored & ~useful.is_right_censored
    yield Claim(name, THREE_REGIMES, holding_intervals(points, has_three))


def _of_several(merged: Sequence[StudyEnvelopes]) -> Iterator[Claim]:
    points = breakpoints([envelope for one in merged for envelope in one.envelopes])
    if not len(points) or not shared_sizes(merged):
        return
    compared = ranks(steps_at_shared_sizes(merged, _between(points)))
    for one, n_fewest in zip(merged, compared.n_fewest, strict=True):
        holds = (n_fewest == compared.n_compared) & (compared.n_compared > 0)
        yield Claim(str(one.found.facts.workload), FEWEST, holding_intervals(points, holds))


def shared_sizes(merged: Sequence[StudyEnvelopes]) -> list[int]:
    """The batch sizes that every workload has, ascending."""
    return sorted(set.intersection(*(set(one.found.facts.batch_sizes) for one in merged)))


def steps_at_shared_sizes(merged: Sequence[StudyEnvelopes], targets: Floats) -> list[Floats]:
    """Of each workload, least steps: targets by shared batch sizes."""
    shared = shared_sizes(merged)
    return [
        Sweep(one, targets).steps[:, [one.found.facts.batch_sizes.index(size) for size in shared]] for one in merged
    ]


def _between(points: Floats) -> Floats:
    """A target between each breakpoint and the next."""
    return np.append(points[1:], np.inf)
