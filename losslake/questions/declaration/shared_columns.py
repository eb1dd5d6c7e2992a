"""The glossary of columns: those that have the same meaning in several answers."""

from __future__ import annotations

from typing import Annotated, Any

from losslake.output.rows import Row, shown


class SharedColumns(Row):
    """The columns that have the same meaning in several answers."""

    workload: Annotated[str, shown("bundled/digits/mlp_64/nesterov_momentum")]
    """The workload: collection/dataset/model/optimizer, or a pattern, as the parameter `workload` takes it."""
    collection: Annotated[str, shown("bundled")]
    """The source of the studies; slashes separate sub-collections."""
    dataset: Annotated[str, shown("digits")]
    """Data set trained on."""
    model: Annotated[str, shown("mlp_64")]
    """Model trained."""
    optimizer: Annotated[str, shown("nesterov_momentum")]
    """Optimizer that trained it."""
    batch_size: Annotated[int, shown(64, "batch_unit of the study, mostly examples")]
    """Batch size of the study, in its batch_unit; null for the trials that change theirs."""
    batch_unit: Annotated[str | None, shown("examples")]
    """Unit of the batch size: examples, tokens, sequences, seconds of audio; null where the source doesn't say."""
    study: Annotated[str, shown("bundled/digits/mlp_64/nesterov_momentum/64")]
    """The study: collection/dataset/model/optimizer/batch_size, as the parameter `study` takes it; `scheduled` stands
    for batch sizes that change."""
    trial: Annotated[str, shown("bundled/digits/mlp_64/nesterov_momentum/64/17")]
    """The trial: collection/dataset/model/optimizer/batch_size/trial_id, as the parameter `trial` takes it."""
    trial_id: Annotated[int, shown(17)]
    """Number of the trial within its study."""
    trial_workload: Annotated[str | None, shown("bundled/digits/mlp_64/nesterov_momentum")]
    """The workload of the trial if `workload` is a pattern; null without a pattern, or without a trial."""
    status: Annotated[str, shown("COMPLETE")]
    """COMPLETE, MISSED (ran to its end without reaching a goal), INCOMPLETE (stopped for an outside reason) or
    INFEASIBLE (diverged)."""
    metric: Annotated[str, shown("val/classification_error")]
    """The metric: split/quantity."""
    metrics: Annotated[list[str], shown(["train/cross_entropy_error", "val/classification_error"])]
    """Metrics measured, by name."""
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target; comparator says whether an equal value reaches it."""
    step: Annotated[int, shown(400, "steps")]
    """Updates of the parameters before this evaluation."""
    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to target: the first step at which the trial reaches it; null if it never does within the budgets."""
    value: Annotated[float, shown(0.0421, "unit of the metric")]
    """The value as the log has it; may be NaN or infinite."""
    elapsed_s: Annotated[float | None, shown(12.5, "seconds")]
    """Time since the start of training; null where the log doesn't say."""
    previous_step: Annotated[int | None, shown(380, "steps")]
    """That trial's evaluation before: the true crossing lies in (previous_step, steps]; null if there is none."""
    last_step: Annotated[int | None, shown(2000, "steps")]
    """The last step at which the trial was evaluated in any metric, whatever the budgets; null if it never was."""
    examples: Annotated[int | None, shown(25600, "batch_unit of the study, mostly examples")]
    """steps times batch_size, or the sum over steps of a batch size that changes; null if the target was not reached,
    or where it exceeds 64 bits."""
    resolution: Annotated[float | None, shown(0.04, "none: a ratio")]
    """Resolution of steps: (steps - previous_step) / steps; null without target or earlier evaluation."""
    phase: Annotated[str | None, shown("decay")]
    """The phase of the schedule of the learning rate in which that trial reached the target: before_decay, decay (or
    beyond it, where the end isn't known) or finished; null without a target reached, or where it isn't known."""
    confirmed_previous_step: Annotated[int | None, shown(400, "steps")]
    """The evaluation before confirmed_steps, of the same trial, or for crossing=mean of all trials of its setting; null
    if there is none."""
    confirmed_mean: Annotated[float | None, shown(3.2768, "unit of the metric")]
    """For crossing=mean: the mean at confirmed_steps over the trials of the setting; null otherwise."""
    confirmed_n_seeds: Annotated[int | None, shown(10, "trials")]
    """For crossing=mean: how many trials that are, all that the setting has admitted; null otherwise."""
    n_trials: Annotated[int, shown(64, "trials")]
    """Trials admitted: of an admitted status, and among the first `trials` of those by trial_id."""
    n_reached: Annotated[int, shown(21, "trials")]
    """Of these, the trials that reached the target within the budgets."""
    best_value: Annotated[float | None, shown(0.0195, "unit of the metric")]
    """Best finite value of the metric over the admitted trials within the budgets; null if there is none."""
    parameters: Annotated[dict[str, float], shown({"learning_rate": 0.1, "momentum": 0.9}, "each its own")]
    """Numeric metaparameters by name."""
    attributes: Annotated[dict[str, Any], shown({"schedule": "linear"}, "each its own")]
    """Metaparameters that are not numbers, by name."""
    direction: Annotated[str | None, shown("minimize")]
    """minimize or maximize, whichever is better; null if unknown: give `direction` with a question."""
    content_digest: Annotated[str, shown("0d5a1c7e5b5e0f6d2f8b7a1f4d4a3c2b1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b")]
    """sha256 over what it holds, whatever file that is in, in hexadecimal."""
    n_studies: Annotated[int, shown(11, "studies")]
    """Studies, one per batch size of a workload."""
    n_complete: Annotated[int, shown(63, "trials")]
    """Trials that are COMPLETE."""
    n_missed: Annotated[int, shown(0, "trials")]
    """Trials that MISSED: they ran to their end without reaching a goal. They are stored as INCOMPLETE."""
    n_incomplete: Annotated[int, shown(0, "trials")]
    """Trials that are INCOMPLETE: stopped for an outside reason."""
    n_infeasible: Annotated[int, shown(1, "trials")]
    """Trials that are INFEASIBLE: diverged."""
    n_evaluations: Annotated[int, shown(12800, "evaluations")]
    """Steps at which trials were evaluated, summed over the trials."""
    n_measurements: Annotated[int, shown(51200, "measurements")]
    """Values measured: one per trial, step and metric."""
    n_nonfinite: Annotated[int, shown(4, "measurements")]
    """Measurements that are NaN or infinite."""
    n_quarantined: Annotated[int, shown(0, "trials")]
    """Trials offered but not stored; the ledger says why."""
