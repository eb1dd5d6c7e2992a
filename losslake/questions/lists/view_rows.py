"""The rows of the SQL views and macros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from losslake.output.rows import Row, shown
from losslake.questions.lists.listings import LISTINGS


class _StudyKeys(Row):
    collection: str
    dataset: str
    model: str
    optimizer: str
    batch_size: int | None


class _TrialKeys(_StudyKeys):
    trial_id: int


class _TrialStatus(_TrialKeys):
    status: str


class _GoalColumns(Row):
    metric: str
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target; `comparator` says what reaches it."""
    comparator: Annotated[str, shown("strict")]
    """strict: a better value reaches the target; inclusive: an equal one, too."""


class ContributorViewRow(_TrialKeys):
    """A trial and contributor."""

    name: Annotated[str, shown("Ann Lee")]
    """Name of who contributed: a person or an organisation."""
    orcid: Annotated[str, shown("0000-0002-1825-0097")]
    """ORCID iD; empty if none is stated."""
    role: Annotated[str, shown("data collection")]
    """Their role."""
    contribution: Annotated[str, shown("0199d1c5-7d1e-7a53-8f0c-5b6f0a9c2d11")]
    """Identifier of the submission that the trial came with; empty if there was none."""


class CopyRow(_TrialStatus):
    """A trial and another log of the same run."""

    steps: Annotated[int | None, shown(2000, "steps")]
    """Steps trained, as that log says."""
    parameters: dict[str, float]
    attributes: dict[str, Any]
    source: Annotated[str, shown("training_results_v4.1/NVIDIA/results/eos_n1452/gpt3/result_0.txt")]
    """File of that log, within what it was read from."""
    source_sha256: Annotated[str | None, shown("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069")]
    """sha256 of that file, in hexadecimal."""


class MeasurementRow(_StudyKeys):
    """A measurement."""

    metric: str
    trial_id: int
    step: int
    value: Annotated[float, shown(0.0421, "unit of the metric")]
    """The value, as the float64 of the log's text; may be NaN or infinite."""
    elapsed_s: float | None


class RecordRow(_StudyKeys):
    """A measurement better than all previous ones of its trial."""

    metric: Annotated[str, shown("val/classification_error")]
    """The metric, split/quantity; only metrics with a known direction have records."""
    trial_id: int
    step: Annotated[int, shown(400, "steps")]
    """Updates of the parameters before the evaluation that is the record."""
    previous_step: Annotated[int | None, shown(380, "steps")]
    """The step of the trial's previous measurement of this metric, a record or not; null for its first."""
    value: Annotated[float, shown(0.0421, "unit of the metric")]
    """The value, strictly better than at every earlier step; never NaN or infinite."""
    elapsed_s: float | None


class StepsToTargetViewRow(_GoalColumns, _TrialStatus):
    """A trial and goal."""

    steps: Annotated[int | None, shown(400, "steps")]
    """First step at which the trial reaches the target; null if it never does."""
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric at that step; null if the target was never reached."""
    previous_step: Annotated[int | None, shown(380, "steps")]
    """The previous evaluation: the true crossing lies in (previous_step, steps]; null if there is none."""
    last_step: Annotated[int | None, shown(2000, "steps")]
    """The last step at which the trial was evaluated in any metric; null if it never was."""
    elapsed_s: Annotated[float | None, shown(12.5, "seconds")]
    """Time to the target, since the start of training; null if it was never reached, or the log doesn't say."""
    examples: int | None


class StepsToResultViewRow(_GoalColumns, _StudyKeys):
    """A study and goal."""

    steps: Annotated[int | None, shown(400, "steps")]
    """Least steps to target over the COMPLETE and MISSED trials of the study; null if none reached it."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial that took these steps; ties go to the lowest trial_id; null if none reached the target."""
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """Value of the metric for that trial at that step; null if none reached the target."""
    examples: int | None
    previous_step: int | None
    n_trials: Annotated[int, shown(63, "trials")]
    """Trials that are COMPLETE or MISSED."""
    n_reached: Annotated[int, shown(21, "trials")]
    """Number of these trials that reached the target."""


class FlagsRow(_TrialKeys):
    """A flagged trial."""

    rule: Annotated[str, shown("too_few_examples")]
    """The rule: too_few_examples, small_epoch or equal_curve, which counts."""
    metric: str | None
    target: Annotated[float | None, shown(0.759, "unit of the metric")]
    """The target that it reaches too early; of several goals, the one that it is furthest below its neighbours in; null
    for the other rules."""
    examples: Annotated[float | None, shown(4358144.0, "batch_unit of the study, mostly examples")]
    """Examples with which the trial reaches the target; those of an epoch for small_epoch; null for equal_curve."""
    least_examples: Annotated[float | None, shown(44840845.0, "batch_unit of the study, mostly examples")]
    """The least number of examples that its neighbours in batch size allow, less than a quarter of which is flagged;
    for small_epoch, half of what is usual; null for equal_curve."""
    same_as: Annotated[int | None, shown(1)]
    """The first trial of the study with the same curve, for equal_curve."""


class TrialResourcesRow(_TrialKeys):
    """The hardware that a trial ran on, the examples of its epochs, and the size of its model, as its log says."""

    hardware: Annotated[str | None, shown("dgxh100_n8")]
    """The system, in the log's words."""
    accelerator: Annotated[str | None, shown("NVIDIA H100")]
    """The model of its accelerators."""
    accelerators: Annotated[float | None, shown(8.0, "accelerators")]
    """Number of accelerators that it ran on."""
    examples_per_epoch: Annotated[float | None, shown(1281167.0, "batch_unit of the study, mostly examples")]
    """The examples of an epoch."""
    n_parameters: Annotated[float | None, shown(124439808.0, "parameters")]
    """Parameters of the model, with its embeddings."""
    n_parameters_non_embedding: Annotated[float | None, shown(85056000.0, "parameters")]
    """Parameters of the model, without its embeddings."""
    n_active_parameters: Annotated[float | None, shown(3600000000.0, "parameters")]
    """Parameters that a token passes, where these are fewer: those of a mixture of experts."""
    tokens_per_example: Annotated[float | None, shown(1024.0, "tokens")]
    """The tokens in one of what batch_size counts; 1 where that is tokens."""
    flops_per_token: Annotated[float | None, shown(860000000.0, "floating-point operations")]
    """Operations of training for a token, forward and backward, as its log or mapping states them."""


class TrialSchedulesRow(_TrialKeys):
    """The schedule of a trial's learning rate, as its log, mapping or hyperparameters say."""

    schedule: Annotated[str | None, shown("cosine")]
    """The kind of schedule: constant, linear, cosine, polynomial, exponential, step, wsd (warm-up, stable, decay) or
    another word of the log; null for unknown."""
    warmup_end: Annotated[int | None, shown(500, "steps")]
    """The step at which warm-up ends, 0 without; null for unknown."""
    decay_start: Annotated[int | None, shown(500, "steps")]
    """The step after which the learning rate falls; null for unknown, and where it never falls."""
    schedule_end: Annotated[int | None, shown(2000, "steps")]
    """The step from which the learning rate falls no further; null for unknown, and without an end."""
    is_finished: Annotated[bool | None, shown(True)]
    """True if the trial was evaluated at schedule_end or later; null if that isn't known, or it was never evaluated."""
    schedule_source: Annotated[str | None, shown("stated")]
    """stated, by a log or mapping; hyperparameters, from which it follows; curve, of logged learning rates; null if
    nothing is known."""


class _AmountRow(_GoalColumns, _StudyKeys):
    measure: Annotated[str, shown("seconds")]
    """The unit of amount."""


class AmountsToRow(_AmountRow):
    """A trial."""

    trial_id: int
    status: str
    amount: Annotated[float | None, shown(11.8, "what measure says")]
    """The amount up to the target; null if it is never reached, or the amount isn't known."""
    steps: int | None
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric at that step; null if the target was never reached."""
    elapsed_s: float | None
    hardware: Annotated[str | None, shown("dgxh100_n8")]
    """The hardware of the trial, in the log's words."""


class AmountAtRow(_AmountRow):
    """A study."""

    amount: Annotated[float | None, shown(11.8, "what measure says")]
    """The least amount up to the target of any COMPLETE or MISSED trial; null if none is known."""
    trial_id: Annotated[int | None, shown(23)]
    """The trial with that amount; ties go to fewer steps, then to the lowest trial_id."""
    steps: Annotated[int | None, shown(420, "steps")]
    """Steps of that trial to the target."""
    hardware: Annotated[str | None, shown("dgxh100_n8")]
    """The hardware of that trial, in the log's words."""
    n_trials: Annotated[int, shown(63, "trials")]
    """Trials that are COMPLETE or MISSED."""
    n_reached: Annotated[int, shown(21, "trials")]
    """Number of these trials that reached the target."""
    n_amounts: Annotated[int, shown(20, "trials")]
    """Number of these trials whose amount is known."""


class PooledResultRow(StepsToResultViewRow):
    """A batch size of the workloads that a pattern pools."""

    trial_workload: str | None
    n_workloads: Annotated[int, shown(5, "workloads")]
    """Workloads that have the batch size and measure the metric."""


class BestSettingRow(StepsToResultViewRow):
    """A study."""

    steps: Annotated[int | None, shown(400, "steps")]
    """The least, over settings, of the median or mean steps of their trials; null if no setting reaches the target."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial at the median, or nearest to the mean; ties go to the lowest trial_id; null if steps is."""
    setting: Annotated[str, shown("NVIDIA dgxh100_n8")]
    """The best setting: submitter and system, or numeric metaparameters other than seeds; trial N if none is known."""
    n_settings: Annotated[int, shown(5, "settings")]
    """Settings of which it is the best."""
    n_seeds: Annotated[int, shown(10, "trials")]
    """Its trials."""
    steps_q25: Annotated[int | None, shown(390, "steps")]
    """Steps within which a quarter of these reach the target; null if fewer do."""
    steps_q75: Annotated[int | None, shown(420, "steps")]
    """Steps within which three quarters of these do; null likewise."""


# By name of a view; a macro has the columns of the view that it is named after, or its own.
VIEW_ROWS: Mapping[str, type[Row]] = {
    **{listing.name: listing.row for listing in LISTINGS},
    "contributors": ContributorViewRow,
    "copies": CopyRow,
    "measurements": MeasurementRow,
    "records": RecordRow,
    "steps_to_target": StepsToTargetViewRow,
    "steps_to_result": StepsToResultViewRow,
    "pooled_result_at": PooledResultRow,
    "best_setting_at": BestSettingRow,
    "trial_resources": TrialResourcesRow,
    "trial_schedules": TrialSchedulesRow,
    "amounts_to": AmountsToRow,
    "amount_at": AmountAtRow,
    "flags": FlagsRow,
}
