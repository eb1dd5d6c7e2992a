"""The rows of the SQL views: those of the lists of the same name, and of the views of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from losslake.output.rows import Row, shown
from losslake.questions.lists.listing import LISTINGS


class _StudyKeys(Row):
    collection: str
    dataset: str
    model: str
    optimizer: str
    batch_size: int


class MeasurementRow(_StudyKeys):
    """A measurement."""

    metric: str
    trial_id: int
    step: int
    value: Annotated[float, shown(0.0421, "unit of the metric")]
    """The value, the float64 that the log's text says; may be NaN or infinite."""
    elapsed_s: float | None


class RecordRow(_StudyKeys):
    """A measurement better than all before of its trial."""

    metric: Annotated[str, shown("val/classification_error")]
    """The metric: split/quantity; only metrics of which somebody has said which way is better have records."""
    trial_id: int
    step: Annotated[int, shown(400, "steps")]
    """Updates of the parameters before the evaluation that is the record."""
    previous_step: Annotated[int | None, shown(380, "steps")]
    """The step of the trial's measurement of this metric before, whether a record or not; null for its first."""
    value: Annotated[float, shown(0.0421, "unit of the metric")]
    """The value, strictly better than at every earlier step; never NaN or infinite."""
    elapsed_s: float | None


class StepsToTargetViewRow(_StudyKeys):
    """A trial and goal."""

    trial_id: int
    status: str
    metric: str
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target; reached means strictly better."""
    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to target: the first step at which the trial reaches the target; null if it never does (censored at
    last_step)."""
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric at that step; null if the target was never reached."""
    previous_step: Annotated[int | None, shown(380, "steps")]
    """The evaluation before: the true crossing lies in (previous_step, steps]; null if there is none."""
    last_step: Annotated[int | None, shown(2000, "steps")]
    """The last step at which the trial was evaluated; null if it never was."""


class StepsToResultViewRow(_StudyKeys):
    """A study and goal."""

    metric: str
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target; reached means strictly better."""
    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to result: the least steps to target over the COMPLETE trials of the study; null if none reached it."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial that took these steps, of several the one with the lowest number; null if none reached the target."""
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric of that trial at that step; null if none reached the target."""
    examples: int | None
    previous_step: int | None
    n_trials: Annotated[int, shown(63, "trials")]
    """Trials that are COMPLETE."""
    n_reached: Annotated[int, shown(21, "trials")]
    """Of these, the trials that reached the target."""


VIEW_ROWS: Mapping[str, type[Row]] = {
    **{listing.name: listing.row for listing in LISTINGS},
    "measurements": MeasurementRow,
    "records": RecordRow,
    "steps_to_target": StepsToTargetViewRow,
    "steps_to_result": StepsToResultViewRow,
}
"""By name of a view; a macro has the columns of the view that it is named with."""
