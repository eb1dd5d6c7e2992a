"""The lower envelopes of a workload's studies, from the records that a selection admits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake.analysis.envelope import Envelope, lower_envelope
from losslake.questions.search import Search, at
from losslake_schema.reached import NEVER, Integers


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
