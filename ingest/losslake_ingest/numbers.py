"""Numbers for trials whose logs give none: a run keeps the number it has, a new one gets the next that is free.

Several logs of one trial as one: Keras writes what it measures on training and on validation data as two runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from losslake.lake.data_files import stored_table
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.mapping.evaluations import Measured, on_common_steps
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.study import Curves
from losslake_schema.names import Study


def joined_run(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Two runs of the same trial as one, under the first one's name; None when they can't be the same.

    They can't when a metric is in both, when they end differently, or when they differ in a metaparameter that both
    name. Attributes in which they differ belong to the logs and not to the trial: they are dropped.
    """
    differ = any(second.parameters.get(name, value) != value for name, value in first.parameters.items())
    if differ or first.curve.values.keys() & second.curve.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes={name: text for name, text in attributes.items() if second.attributes.get(name, text) == text},
        curve=on_common_steps(_measured(first.curve) | _measured(second.curve)),
        files={**second.files, **first.files},
    )


def _measured(curve: Curves) -> dict[str, Measured]:
    """Each metric of a curve at the steps at which it was measured."""
    elapsed = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    found: dict[str, Measured] = {}
    for metric, values in curve.values.items():
        absent = curve.missing.get(metric)
        rows = ~absent if absent is not None else slice(None)
        found[metric] = (curve.steps[rows], values[rows], elapsed[rows])
    return found


_DIGITS = re.compile(r"([0-9]+)")


@dataclass
class _Numbers:
    """The trials of one study: those that are stored, and those that this ingest has brought so far."""

    by_run: dict[str, int] = field(default_factory=dict)
    by_sha256: dict[str, list[int]] = field(default_factory=dict)
    content: dict[int, str] = field(default_factory=dict)
    offered: set[int] = field(default_factory=set)
    highest: int = 0

    def offer(self, number: int) -> None:
        self.offered.add(number)
        self.highest = max(self.highest, number)

    def same_bytes(self, run: PlacedRun) -> int | None:
        return next((number for number in self.by_sha256.get(run.sha256, ()) if number not in self.offered), None)


class TrialNumbers:
    """Numbers the runs of one ingest, on top of what a release holds.

    The same run is the one with the same path in its source, or else the one with the same bytes: a folder that was
    moved, or is offered from another level, adds nothing twice.
    """

    def __init__(self, store: Store, files: Sequence[DataFile]) -> None:
        self._store = store
        self._files = files
        self._studies: dict[Study, _Numbers] = {}

    def number(self, study: Study, runs: Sequence[PlacedRun]) -> tuple[dict[int, PlacedRun], list[PlacedRun]]:
        """The runs of a study by their numbers, ascending, and those whose own number another run has already.

        Runs of one number that can be logs of one trial become one.
        """
        known = self._of(study)
        numbered: dict[int, PlacedRun] = {}
        twice: list[PlacedRun] = []
        new: list[PlacedRun] = []
        for run in sorted(runs, key=lambda run: natural_order(run.run)):
            number = run.trial_id if run.trial_id is not None else known.by_run.get(run.run)
            if number is None:
                new.append(run)
            elif number in known.offered:
                together = joined_run(numbered[number], run) if number in numbered else None
                if together is None:
                    twice.append(run)
                else:
                    numbered[number] = together
            else:
                known.offer(number)
                numbered[number] = run
        for run in new:
            same = known.same_bytes(run)
            number = same if same is not None else known.highest + 1
            known.offer(number)
            numbered[number] = run
        return dict(sorted(numbered.items())), twice

    def content(self, study: Study) -> Mapping[int, str]:
        """The content digest of each stored trial of a study."""
        return self._of(study).content

    def _of(self, study: Study) -> _Numbers:
        if study not in self._studies:
            condition = [pl.col(key) == value for key, value in study.key().items()]
            numbers = self._studies[study] = _Numbers()
            rows = self._stored.filter(*condition).select("trial_id", "source", "source_sha256", "content_digest")
            for trial_id, source, sha256, content in rows.iter_rows():
                numbers.by_run[source] = trial_id
                numbers.by_sha256.setdefault(sha256, []).append(trial_id)
                numbers.content[trial_id] = content
                numbers.highest = max(numbers.highest, trial_id)
        return self._studies[study]

    @cached_property
    def _stored(self) -> pl.DataFrame:
        return pl.DataFrame(stored_table(self._store, self._files, "trials"))


def natural_order(text: str) -> list[tuple[int, int | str]]:
    """A key that sorts `result_2` before `result_10`."""
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in _DIGITS.split(text)]
