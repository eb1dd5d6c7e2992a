"""The measurements of studies or trials, as they were logged, or thinned for a plot.

Thinning curves for plots: M4 in each pixel column, together with every record, so that no target crossing moves.

Source: METHODS 6.2; Jugel et al. 2014, "M4: A Visualization-Oriented Time Series Data Aggregation". Answers are never
computed from thinned curves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from losslake.index.measurement_files import measurements
from losslake.output.answer import Answer, prefetched
from losslake.output.columns import RowShape
from losslake.output.rows import Row, shown
from losslake.questions.declaration.measured import MeasureParameters, MeasureSummary
from losslake.questions.declaration.parameters import (
    MOST_PLACES,
    WORKLOAD,
    FieldsParameters,
    Natural,
    ReleaseParameters,
)
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ReleaseSummary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_study, parse_trial
from losslake.questions.release.view import Metric, ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.measure import curve_amounts, curve_caveats
from losslake_schema.names import LARGEST_INTEGER, Study, Trial
from losslake_schema.reached import Flags, Floats, Integers

ROWS_IN_A_COLUMN = 4


LEAST_POINTS = 4


class CurvesParameters(FieldsParameters, MeasureParameters, ReleaseParameters):
    """The parameters of curves: either trials or studies."""

    trial: Annotated[list[str], shown([f"{WORKLOAD}/64/1"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Curve of this trial: collection/dataset/model/optimizer/batch_size/trial_id; may be repeated."""
    study: Annotated[list[str], shown([f"{WORKLOAD}/64"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Curves of all trials of this study: collection/dataset/model/optimizer/batch_size; may be repeated. `*` stands
    for any text within one of the first four parts: the curves of all studies that match."""
    metric: Annotated[list[str], shown(["val/classification_error"])] = Field(default_factory=list)
    """Only this metric, split/quantity; may be repeated. Default: all that the study measures."""
    step_min: Annotated[Natural, shown(100, "steps")] = 0
    """Only evaluations at this step or after."""
    step_max: Annotated[Natural, shown(2000, "steps")] = LARGEST_INTEGER
    """Only evaluations at this step or before."""
    every: Annotated[Natural, shown(10, "evaluations", ge=1)] = 1
    """Return only the first and every n-th later evaluation of each trial and metric."""
    points: Annotated[Natural | None, shown(400, "evaluations", ge=LEAST_POINTS)] = None
    """Thin for a plot, to about this many evaluations per trial and metric: M4 and every record; no crossing moves."""
    axis: Annotated[Literal["linear", "log"], shown("log")] = "linear"
    """For points: the scale of steps in the plot."""

    def check(self) -> None:
        """Raise BadParameter for parameters that contradict each other."""
        if bool(self.study) == bool(self.trial):
            raise BadParameter("trial", "give either trial=… or study=…, and not both; each may be repeated")
        if self.step_min > self.step_max:
            raise BadParameter("step_min", f"step_min={self.step_min} is above step_max={self.step_max}: give less")
        if self.points is not None and self.every > 1:
            raise BadParameter("every", "every and points both leave out evaluations: give one of them")


class CurvesRow(Row):
    """A measurement."""

    workload: str
    batch_size: int | None
    trial_id: int
    step: int
    metric: str
    value: float
    elapsed_s: float | None
    amount: Annotated[float | None, shown(26880.0, "what measure says")]
    """step in what `measure` counts; null if unknown. Only there if `measure` isn't steps."""


class CurvesSummary(MeasureSummary, ReleaseSummary):
    """The studies and trials, and what was left out of their curves."""

    studies: Annotated[list[str], shown(["bundled/digits/mlp_64/nesterov_momentum/64"])]
    """The requested studies."""
    trials: Annotated[list[str], shown(["bundled/digits/mlp_64/nesterov_momentum/64/17"])]
    """The requested trials."""
    thinned: Annotated[str | None, shown("to every 10th evaluation of a trial and metric")]
    """The rule by which evaluations were left out; null if none were."""
    warnings: Annotated[list[str], shown(["FLOPs are 6 x n_parameters a token"])]
    """The rules by which FLOPs were counted that no log states; empty for other measures."""


# One metric of one study: the study's workload and index, the metric, and the numbers of trials, None for all.
_Part = tuple[WorkloadFacts, int, Metric, tuple[int, ...] | None]


def _answer(view: ReleaseView, parameters: CurvesParameters) -> Answer:
    """Return measurements by study, metric in the order requested, trial_id and step.

    Raises UnknownName and BadParameter.
    """
    studies, trials = [*map(parse_study, parameters.study)], [*map(parse_trial, parameters.trial)]
    parameters.check()
    wanted: dict[Study, tuple[int, ...] | None] = dict.fromkeys(
        each for study in studies for each in view.studies(study, parameters.metric)
    )
    for study in dict.fromkeys(trial.study for trial in trials):
        wanted[study] = tuple(sorted({trial.trial_id for trial in trials if trial.study == study}))
    parts = [part for study, numbers in wanted.items() for part in _parts(view, parameters, study, numbers)]
    facts: dict[str, Any] = {
        "release": view.number,
        "studies": [str(study) for study in studies],
        "trials": [str(trial) for trial in trials],
        "thinned": _how_thinned(parameters),
        **{name: getattr(parameters, name) for name in MeasureSummary.model_fields},
        "warnings": _caveats(view, parameters, wanted),
    }
    batches = (batch for part in parts for batch in _rows(view, parameters, *part))
    return Answer(facts, _shape(parameters).schema, prefetched(batches))


QUESTION = Question(
    path="/v1/curves",
    doc="The measurements of some trials, or of all trials of some studies.",
    parameters=CurvesParameters,
    row=CurvesRow,
    summary=CurvesSummary,
    compute=_answer,
    sometimes=("amount",),
)
_ALWAYS = QUESTION.rows.only([column.name for column in QUESTION.rows.columns if column.name != "amount"])


def _caveats(view: ReleaseView, parameters: CurvesParameters, studies: Iterable[Study]) -> list[str]:
    """Return in words the rules by which the FLOPs of these studies are counted, each once."""
    counting = parameters.counting()
    if counting.measure != "flops":
        return []
    of_each = (curve_caveats(view, *view.study(study), counting) for study in studies)
    return list(dict.fromkeys(text for of_study in of_each for text in of_study))


def _shape(parameters: CurvesParameters) -> RowShape:
    """Return the columns of an answer: each amount takes space, and without a measure it is the step."""
    return _ALWAYS if parameters.measure == "steps" else QUESTION.rows


def _how_thinned(parameters: CurvesParameters) -> str | None:
    """Return in words what was left out; None for nothing."""
    if parameters.points is not None:
        axis = "the logarithm of steps" if parameters.axis == "log" else "steps"
        return (
            f"for a plot, to about {parameters.points} evaluations a trial and metric: first, last, least and greatest "
            f"in even columns of {axis} (M4), and every record, so that no target crossing moves"
        )
    return f"to every {parameters.every}th evaluation of a trial and metric" if parameters.every > 1 else None


def _parts(
    view: ReleaseView, parameters: CurvesParameters, study: Study, trials: tuple[int, ...] | None
) -> Iterator[_Part]:
    facts, index = view.study(study)
    for trial_id in trials or ():
        view.trial(Trial(study, trial_id))
    for name in dict.fromkeys(parameters.metric or facts.metrics[index]):
        yield facts, index, view.metric(facts, name, index), trials


def _rows(
    view: ReleaseView,
    parameters: CurvesParameters,
    facts: WorkloadFacts,
    study: int,
    metric: Metric,
    trials: tuple[int, ...] | None,
) -> Iterator[pa.RecordBatch]:
    files = view.measurement_files(facts, study)
    parts: Iterator[pa.RecordBatch] = (
        _within_steps(rows, parameters) for rows in measurements(view.store, files, metric.name, trials)
    )
    if parameters.points is not None or parameters.every > 1:
        # A trial may go on in the next row group.
        batches = list(parts)
        parts = iter([_thinned(pa.concat_batches(batches), metric, parameters)] if batches else [])
    names = {"workload": str(facts.workload), "batch_size": facts.batch_sizes[study] or None, "metric": metric.name}
    shape = _shape(parameters)
    amounts_of = curve_amounts(view, facts, study, parameters.counting()) if shape is QUESTION.rows else None
    for rows in parts:
        if rows.num_rows:
            measured = dict(zip(rows.schema.names, rows.columns, strict=True))
            if amounts_of is not None:
                measured["amount"] = amounts_of(measured)
            yield shape.of({**measured, **names}).batch()


def _within_steps(rows: pa.RecordBatch, parameters: CurvesParameters) -> pa.RecordBatch:
    if parameters.step_min == 0 and parameters.step_max == LARGEST_INTEGER:
        return rows
    steps = rows["step"]
    return rows.filter(pc.and_(pc.greater_equal(steps, parameters.step_min), pc.less_equal(steps, parameters.step_max)))


def _thinned(rows: pa.RecordBatch, metric: Metric, parameters: CurvesParameters) -> pa.RecordBatch:
    trial_id, step, value = (rows[name].to_numpy() for name in ("trial_id", "step", "value"))
    if parameters.points is None:
        return rows.filter(pa.array(every_so_many(trial_id, parameters.every)))
    signs = {"minimize": (1.0,), "maximize": (-1.0,)}.get(metric.direction or "", (1.0, -1.0))
    kept = kept_for_plot(trial_id, step, value.astype(np.float64), signs, parameters.points, parameters.axis == "log")
    return rows.filter(pa.array(kept))


def kept_for_plot(
    trial_id: Integers, step: Integers, value: Floats, signs: tuple[float, ...], points: int, is_log: bool
) -> Flags:
    """Return True for the evaluations of a metric to keep: about `points` per trial, and its records.

    The steps from the first to the last of all trials are cut into points / 4 columns, evenly in step or in its
    logarithm. In each column a trial keeps its first, last, least and greatest finite value, and its first that is
    not finite. trial_id, step: ascending. signs: 1 for the records of minimizing, -1 for those of maximizing.
    """
    if not len(step):
        return np.zeros(0, np.bool_)
    position = np.log(np.maximum(step, 1).astype(np.float64)) if is_log else step.astype(np.float64)
    width = float(position.max() - position.min())
    n_columns = max(points // ROWS_IN_A_COLUMN, 1)
    column = (
        ((position - position.min()) / width * n_columns).astype(np.int64) if width else np.zeros(len(step), np.int64)
    )
    column = np.minimum(column, n_columns - 1)
    kept = np.zeros(len(step), np.bool_)
    starts = np.flatnonzero(np.r_[True, (np.diff(trial_id) != 0) | (np.diff(column) != 0)])
    is_finite = np.isfinite(value)
    kept[starts] = kept[np.r_[starts[1:], len(step)] - 1] = True
    kept |= _first_in_group(starts, ~is_finite)
    for sign in (1.0, -1.0):
        loss = np.where(is_finite, value * sign, np.inf)
        least = np.repeat(np.minimum.reduceat(loss, starts), np.diff(np.r_[starts, len(step)]))
        kept |= _first_in_group(starts, is_finite & (loss == least))
    for sign in signs:
        kept |= records(trial_id, value, sign)
    return kept


def records(trial_id: Integers, value: Floats, sign: float) -> Flags:
    """Return True for values strictly better than every earlier one of their trial; never NaN or infinite."""
    is_record = np.zeros(len(value), np.bool_)
    loss = np.where(np.isfinite(value), value * sign, np.inf)
    for start, end in pairwise([*_starts(trial_id), len(value)]):
        before = np.r_[np.inf, np.minimum.accumulate(loss[start:end])[:-1]]
        is_record[start:end] = loss[start:end] < before
    return is_record


def every_so_many(trial_id: Integers, count: int) -> Flags:
    """Return True for the first row of each trial, and for every `count`-th after it."""
    starts = _starts(trial_id)
    lengths = np.diff(np.r_[starts, len(trial_id)])
    within = np.arange(len(trial_id)) - np.repeat(starts, lengths)
    return np.asarray(within % count == 0)


def _starts(trial_id: Integers) -> Integers:
    """Return the first row of each trial."""
    return np.flatnonzero(np.r_[True, np.diff(trial_id) != 0][: len(trial_id)])


def _first_in_group(starts: Integers, flags: Flags) -> Flags:
    """Return only the first flag that is set in each group of rows."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(flags)]))
    rows = np.flatnonzero(flags)
    _, first = np.unique(group[rows], return_index=True)
    is_first = np.zeros(len(flags), np.bool_)
    is_first[rows[first]] = True
    return is_first
