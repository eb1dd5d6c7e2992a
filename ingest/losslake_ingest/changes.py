"""What an ingest is to change: studies with their new files, to be put into the next release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa

from losslake.lake.data_files import Written
from losslake_ingest.report import Quarantined
from losslake_ingest.study import LoadedPart, StudyFacts, StudyPart, source_digest, study_digest, trial_digests
from losslake_schema.names import Study
from losslake_schema.tables import STATUSES, TRIALS

_STUDIES_AT_ONCE = 1000
_SAID = ("trial_id", "status", "steps", "source", "source_sha256")


@dataclass(frozen=True)
class WrittenPart:
    """A part of a study whose curves are in data files now, small enough to keep a hundred thousand of them.

    packed: its rows of `trials`; as a table they would take ten times the memory. is_carried: it was stored before and
    only stays.
    """

    facts: StudyFacts
    packed: pa.Buffer
    written: Sequence[Written]
    metrics: frozenset[str]
    quarantined: Sequence[Quarantined]
    is_carried: bool = False

    @property
    def trials(self) -> pa.Table:
        """Its rows of `trials`."""
        return pa.Table.from_batches([pa.ipc.read_record_batch(self.packed, TRIALS)])


def packed(trials: pa.Table) -> pa.Buffer:
    """Rows of `trials` as a part keeps them."""
    return pa.record_batch([column.combine_chunks() for column in trials.columns], schema=TRIALS).serialize()


@dataclass
class StudyChange:
    """All that one ingest brought of a study. adds: its trials come beside the stored ones, they are not the whole."""

    study: Study
    source: str
    format: str
    reader_version: str
    adds: bool = False
    parts: list[WrittenPart] = field(default_factory=list)
    source_files: dict[str, str] = field(default_factory=dict)
    n_quarantined: int = 0

    @property
    def source_digest(self) -> str:
        return source_digest(self.reader_version, self.source_files)

    @property
    def trial_ids(self) -> set[int]:
        return {trial_id for part in self.parts for trial_id in part.trials["trial_id"].to_pylist()}

    @property
    def written(self) -> list[Written]:
        return [written for part in self.parts for written in part.written]

    def trials(self) -> pa.Table:
        """The rows of `trials` for this study, in any order."""
        return pa.concat_tables([part.trials for part in self.parts])

    def study_row(self) -> dict[str, object]:
        """The row of `studies` for this study."""
        facts, trials = self.parts[0].facts, self.trials()
        statuses = trials["status"].to_pylist()
        digests = dict(zip(trials["trial_id"].to_pylist(), trials["content_digest"].to_pylist(), strict=True))
        measurements = sum(w.file.rows for w in self.written if w.file.table == "measurements")
        return {
            **self.study.key(),
            **{name: value for name, value in vars(facts).items() if name != "study"},
            "metrics": sorted(frozenset[str]().union(*(part.metrics for part in self.parts))),
            "n_trials": len(statuses),
            **{f"n_{status.lower()}": statuses.count(status) for status in STATUSES},
            "n_quarantined": self.n_quarantined,
            "n_evaluations": sum(trials["n_evaluations"].to_pylist()),
            "n_measurements": measurements,
            "n_nonfinite": sum(trials["n_nonfinite"].to_pylist()),
            "format": self.format,
            "source": self.source,
            "source_digest": self.source_digest,
            "content_digest": study_digest(facts, digests),
        }


def trials_of(changes: Iterable[StudyChange]) -> Iterator[pa.Table]:
    """The rows of `trials` for some studies, those of many in each table."""
    left = iter(changes)
    while some := [change.trials() for change in islice(left, _STUDIES_AT_ONCE)]:
        yield pa.concat_tables(some).combine_chunks()


def trial_rows(part: StudyPart, loaded: LoadedPart, nonfinite: Sequence[int]) -> pa.Table:
    """The rows of `trials` for a loaded part; nonfinite: its measurements that are NaN or infinite, by trial."""
    trials = loaded.trials
    offsets = loaded.curves.offsets
    counts = np.diff(offsets)
    last_rows = np.maximum(offsets[1:] - 1, 0)
    last_steps = loaded.curves.steps[last_rows] if len(loaded.curves.steps) else np.zeros(len(trials), np.int64)
    columns: dict[str, object] = {key: [value] * len(trials) for key, value in part.study.key().items()}
    columns |= {
        **{name: [getattr(trial, name) for trial in trials] for name in _SAID},
        "parameters": [sorted(trial.parameters.items()) for trial in trials],
        "attributes": [sorted(trial.attributes.items()) for trial in trials],
        "n_evaluations": counts,
        "n_nonfinite": nonfinite,
        "last_step": pa.array(last_steps, pa.int64(), mask=counts == 0),
        "content_digest": trial_digests(trials, loaded.curves),
    }
    return pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in TRIALS], schema=TRIALS)
