"""The contributors of a release: those of stored trials, and those that offers name.

An offer that names contributors replaces those of its trials; one that names none keeps them. Those of a trial are gone
when the trial is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from losslake_ingest.pipeline.trial_rows import TRIAL_KEYS, key_of
from losslake_schema.contributors import Contributor
from losslake_schema.names import Study, Trial
from losslake_schema.tables import CONTRIBUTORS, STUDY_KEYS

Contributors = tuple[Contributor, ...]


@dataclass(frozen=True)
class Credits:
    """The contributors that offers name, by trial, and by study for all of its trials."""

    trials: Mapping[Trial, Contributors] = field(default_factory=dict)
    studies: Mapping[Study, Contributors] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return True if there are any contributors."""
        return bool(self.trials or self.studies)


def contributor_rows(stored: pa.Table, trials: pa.Table, new: Credits) -> pa.Table:
    """Return the table `contributors` of a release, in order. stored: rows so far. trials: those of the release."""
    schema = pl.DataFrame(CONTRIBUTORS.empty_table()).schema
    existing = pl.DataFrame(trials.select(TRIAL_KEYS)).cast({key: schema[key] for key in TRIAL_KEYS})
    rows = pl.DataFrame(stored)
    by_study = pl.DataFrame([_row(s.key(), each) for s, many in new.studies.items() for each in many], schema=schema)
    of_studies = existing.join(by_study.drop("trial_id"), on=list(STUDY_KEYS)).select(schema.names())
    of_trials = pl.DataFrame([_row(key_of(t), each) for t, many in new.trials.items() for each in many], schema=schema)
    for replacing in (of_studies, of_trials):
        rows = pl.concat([rows.join(replacing, on=TRIAL_KEYS, how="anti"), replacing])
    rows = rows.join(existing, on=TRIAL_KEYS, how="semi").unique().sort(schema.names())
    return rows.to_arrow().cast(CONTRIBUTORS).combine_chunks()


def _row(keys: Mapping[str, object], contributor: Contributor) -> dict[str, object]:
    return {**keys, **{name: value or "" for name, value in vars(contributor).items()}}
