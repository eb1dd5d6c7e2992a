"""The quantity that is counted up to a target: parameters, columns and summary fields that questions share."""

from __future__ import annotations

from typing import Annotated

from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import BATCH_UNIT, WORKLOAD, Finite, Natural, Parameters
from losslake.questions.declaration.summary import Summary
from losslake.questions.trials.step_amounts import Counting, MeasureName


class MeasureParameters(Parameters):
    """The quantity that is counted up to a target."""

    measure: Annotated[MeasureName, shown("seconds")] = "steps"
    """The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples times
    tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the parameters of the model, which
    warnings say); seconds since the start of training, as logged with the evaluation; or accelerator_seconds (seconds
    times accelerators). The best trial is the one with the least of it."""
    examples_per_epoch: Annotated[Natural | None, shown(1281167, BATCH_UNIT, ge=1)] = None
    """For epochs: the examples in one. Default: as the logs say, if those of a workload agree."""
    accelerators: Annotated[Natural | None, shown(8, "accelerators", ge=1)] = None
    """For accelerator_seconds: how many each trial ran on. Default: as its log says."""
    tokens_per_example: Annotated[Finite | None, shown(1024, "tokens", gt=0)] = None
    """For tokens and flops: the tokens in one of what batch sizes count, unless these are tokens. Default: as the log
    or mapping of each trial says."""
    n_parameters: Annotated[Natural | None, shown(124439808, "parameters", ge=1)] = None
    """For flops: the parameters of the model; 6 times as many FLOPs are counted for a token. Default: as the log or
    mapping of each trial says: flops_per_token, else 6 times n_active_parameters, n_parameters or
    n_parameters_non_embedding, the first that it states."""
    flops_per_token: Annotated[Finite | None, shown(860000000, "floating-point operations", gt=0)] = None
    """For flops: those of training on a token, forward and backward. It precedes n_parameters."""

    def counting(self) -> Counting:
        """Return what these parameters count."""
        return Counting(**{name: getattr(self, name) for name in MeasureParameters.model_fields})


class AmountColumns(Row):
    """The trial of a study that takes the least of what is counted."""

    amount: Annotated[float | None, shown(11.8, "what measure says")]
    """The least of `measure` that an admitted trial takes to the target; null if none reaches it, or if the amounts of
    those that do aren't known."""
    amount_trial_id: Annotated[int | None, shown(23)]
    """The trial with that amount; ties go to fewer steps, then to the lowest trial_id."""
    amount_trial_workload: Annotated[str | None, shown(WORKLOAD)]
    """The workload of that trial if `workload` is a pattern; null without a pattern, or without an amount."""
    amount_steps: Annotated[int | None, shown(420, "steps")]
    """Steps of that trial to the target."""
    n_amounts: Annotated[int, shown(21, "trials")]
    """Trials that reached the target and whose amount is known."""
    hardware: Annotated[str | None, shown("dgxh100_n8")]
    """For seconds and accelerator_seconds: what that trial ran on, as its log says; null where it doesn't."""
    accelerator: Annotated[str | None, shown("NVIDIA H100")]
    """For seconds and accelerator_seconds: the accelerator of that trial; null where its log doesn't say it."""


class MeasureSummary(Summary):
    """The amount that was counted."""

    measure: Annotated[str, shown("seconds")]
    """The unit of amounts."""
    examples_per_epoch: Annotated[int | None, shown(1281167, BATCH_UNIT)]
    """The requested examples in an epoch; null for those that the logs say."""
    accelerators: Annotated[int | None, shown(8, "accelerators")]
    """The requested number of accelerators; null for those that the logs say."""
    tokens_per_example: Annotated[float | None, shown(1024, "tokens")]
    """The requested tokens in an example; null for those that the logs say."""
    n_parameters: Annotated[int | None, shown(124439808, "parameters")]
    """The requested parameters of the model; null for those that the logs say."""
    flops_per_token: Annotated[float | None, shown(860000000, "floating-point operations")]
    """The requested FLOPs for a token; null for those that the logs say, or by the number of parameters."""
