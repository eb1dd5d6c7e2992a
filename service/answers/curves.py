"""Curves: the measurements of a study or of one of its trials, as they were logged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from schema.names import LARGEST_INTEGER, Study, Trial
from schema.tables import MEASUREMENTS
from service.answers.described import DESCRIBED
from service.release_view import ReleaseView

CURVE_COLUMNS = ("batch_size", "trial_id", "step", "metric", "value", "elapsed_s")
_NONE = pa.schema([(name, MEASUREMENTS.field(name).type) for name in CURVE_COLUMNS]).empty_table()


@dataclass(frozen=True)
class CurveQuestion:
    """How did a study, or one of its trials, go?

    trial_id: None for all trials of the study. metrics: empty for all that the study measures.
    """

    study: Study
    trial_id: int | None = None
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CurveRow:
    """One measurement."""

    __pydantic_config__ = DESCRIBED

    batch_size: int
    """Batch size of the study, in the workload's batch unit."""
    trial_id: int
    """Number of the trial within its study."""
    step: int
    """Updates of the parameters before this evaluation."""
    metric: str
    """The metric measured: split/quantity."""
    value: float | Literal["NaN", "Infinity", "-Infinity"]
    """The value as the log has it; JSON has no number for these three, so they are strings."""
    elapsed_s: float | Literal["NaN", "Infinity", "-Infinity"] | None
    """Seconds since the start of training; null where the log doesn't say."""


@dataclass(frozen=True, slots=True)
class Curves:
    """The measurements of a study or a trial."""

    __pydantic_config__ = DESCRIBED

    release: int
    """The release that answered."""
    study: str
    """The study: collection/dataset/model/optimizer/batch_size."""
    rows: tuple[CurveRow, ...]
    """One row per measurement, by metric in the order asked for, trial_id and step."""


def curves(view: ReleaseView, question: CurveQuestion) -> pa.Table:
    """The measurements asked for, in CURVE_COLUMNS, by metric, trial_id and step; raises UnknownName."""
    return pa.concat_tables([_NONE, *curve_parts(view, question)])


def curve_parts(view: ReleaseView, question: CurveQuestion) -> Iterator[pa.Table]:
    """The measurements asked for, one metric at a time; raises UnknownName before the first."""
    facts, study = view.study(question.study)
    if question.trial_id is not None:
        view.trial(Trial(question.study, question.trial_id))
    metrics = question.metrics or facts.metrics[study]
    for metric in metrics:
        view.metric(facts, metric, study)
    trials = (0, LARGEST_INTEGER) if question.trial_id is None else (question.trial_id, question.trial_id)
    files = view.measurement_files(facts, study)
    return (_part(view, question.study, metric, trials, files) for metric in dict.fromkeys(metrics))


def _part(view: ReleaseView, study: Study, metric: str, trials: tuple[int, int], files: list[str]) -> pa.Table:
    parameters: dict[str, Any] = {
        "files": files,
        "metric": metric,
        "first_trial": trials[0],
        "last_trial": trials[1],
    }
    found = view.table("curve", parameters)
    constant = {"batch_size": pa.scalar(study.batch_size, pa.int64()), "metric": pa.scalar(metric, pa.string())}
    columns = [pa.repeat(constant[name], found.num_rows) if name in constant else found[name] for name in CURVE_COLUMNS]
    return pa.table(columns, names=CURVE_COLUMNS)
