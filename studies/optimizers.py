"""The four update rules, on arrays (trials, parameters) with one value of each metaparameter per trial.

`momentum` and `nesterov_momentum` follow TensorFlow and PyTorch: the velocity is v <- momentum v + g, and the step is
learning_rate times v, or times g + momentum v. `adam` tunes `beta1` (the decay of its mean gradient), which isn't
called momentum because its steps don't grow by 1 / (1 - beta1); beta2 and epsilon are fixed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from studies.networks import Floats

ADAM_BETA2 = 0.999
ADAM_EPSILON = 1e-8

Update = Callable[[Floats, Floats, Floats, Mapping[str, Floats], int], None]
"""Changes parameters, gradients (scratch) and slots in place; metaparameters (trials, 1); step counts from 1."""


@dataclass(frozen=True)
class Optimizer:
    """An update rule, the names of what it tunes, and how many slots (slots, trials, parameters) it remembers."""

    metaparameters: tuple[str, ...]
    slot_count: int
    update: Update


def sgd(parameters: Floats, gradients: Floats, _slots: Floats, tuned: Mapping[str, Floats], _step: int) -> None:
    """W <- w - learning_rate g."""
    gradients *= tuned["learning_rate"]
    parameters -= gradients


def momentum(parameters: Floats, gradients: Floats, slots: Floats, tuned: Mapping[str, Floats], _step: int) -> None:
    """V <- momentum v + g; w <- w - learning_rate v."""
    velocity = slots[0]
    velocity *= tuned["momentum"]
    velocity += gradients
    np.multiply(velocity, tuned["learning_rate"], out=gradients)
    parameters -= gradients


def nesterov(parameters: Floats, gradients: Floats, slots: Floats, tuned: Mapping[str, Floats], _step: int) -> None:
    """V <- momentum v + g; w <- w - learning_rate (g + momentum v)."""
    velocity = slots[0]
    velocity *= tuned["momentum"]
    velocity += gradients
    gradients += tuned["momentum"] * velocity
    gradients *= tuned["learning_rate"]
    parameters -= gradients


def adam(parameters: Floats, gradients: Floats, slots: Floats, tuned: Mapping[str, Floats], step: int) -> None:
    """Adam with bias correction: w <- w - learning_rate mean / (sqrt(mean square) + epsilon)."""
    mean, square = slots
    beta1 = tuned["beta1"]
    mean *= beta1
    mean += (1 - beta1) * gradients
    square *= ADAM_BETA2
    gradients *= gradients
    gradients *= 1 - ADAM_BETA2
    square += gradients
    np.divide(square, 1 - ADAM_BETA2**step, out=gradients)
    np.sqrt(gradients, out=gradients)
    gradients += ADAM_EPSILON
    np.divide(mean, gradients, out=gradients)
    # One minus beta1 to the power of the step, in double: a beta1 near 1 would lose its digits in float32.
    correction = 1 - beta1.astype(np.float64) ** step
    gradients *= (tuned["learning_rate"] / correction).astype(gradients.dtype)
    parameters -= gradients


OPTIMIZERS = {
    "sgd": Optimizer(("learning_rate",), 0, sgd),
    "momentum": Optimizer(("learning_rate", "momentum"), 1, momentum),
    "nesterov_momentum": Optimizer(("learning_rate", "momentum"), 1, nesterov),
    "adam": Optimizer(("learning_rate", "beta1"), 2, adam),
}
