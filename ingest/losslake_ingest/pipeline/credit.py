"""Contributors of trials.

An offer that names contributors replaces those of its trials; one that names none keeps them. Those of a trial are gone
when the trial is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl
import pyarrow as pa

from losslake_ingest.pipeline.trial_rows import TRIAL_KEYS, key_of
from losslake_schema.contributors import Contributor
from losslake_schema.names import Study, Trial
from losslake_schema.tables import CONTRIBUTORS, STUDY_KEYS


def contributor_rows(
    stored: pa.Table, trials: pa.Table, new: Mapping[Study | Trial, Collection[Contributor]]
) -> pa.Table:
    """Return the table `contributors` of a release, in order.

    stored: rows so far. trials: those of the release. new: by trial, or by study for all of its trials.
    """
    schema = pl.DataFrame(CONTRIBUTORS.empty_table()).schema
    existing = pl.DataFrame(trials.select(TRIAL_KEYS)).cast({key: schema[key] for key in TRIAL_KEYS})
    rows = pl.DataFrame(stored)
    by_study, of_trials = (
        pl.DataFrame(
            [_row(of, each) for of, contributors in new.items() if isinstance(of, kind) for each in contributors],
            schema=schema,
        )
        for kind in (Study, Trial)
    )
    of_studies = existing.join(by_study.drop("trial_id"), on=list(STUDY_KEYS)).select(schema.names())
    for replacing in (of_studies, of_trials):
        rows = pl.concat([rows.join(replacing, on=TRIAL_KEYS, how="anti"), replacing])
    rows = rows.join(existing, on=TRIAL_KEYS, how="semi").unique().sort(schema.names())
    return rows.to_arrow().cast(CONTRIBUTORS).combine_chunks()


def _row(of: Study | Trial, contributor: Contributor) -> dict[str, object]:
    texts = {name: value or "" for name, value in vars(contributor).items()}
    return {**(of.key() if isinstance(of, Study) else key_of(of)), **texts}
