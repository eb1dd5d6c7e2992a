import math
from collections.abc import Callable

import numpy as np
import pytest

from studies.optimizers import ADAM_BETA2, ADAM_EPSILON, OPTIMIZERS

STEPS = 6


def slope(weight: float) -> float:
    """The gradient of a bent valley, so that every step sees another one."""
    return 3 * weight + math.sin(weight)


def plain_sgd(weight: float, learning_rate: float) -> float:
    for _ in range(STEPS):
        weight = weight - learning_rate * slope(weight)
    return weight


def plain_momentum(weight: float, learning_rate: float, momentum: float) -> float:
    velocity = 0.0
    for _ in range(STEPS):
        velocity = momentum * velocity + slope(weight)
        weight = weight - learning_rate * velocity
    return weight


def plain_nesterov(weight: float, learning_rate: float, momentum: float) -> float:
    """Nesterov's own form: the gradient is taken ahead of the weight; what the update rule keeps is the point ahead."""
    behind, velocity = weight, 0.0
    for _ in range(STEPS):
        velocity = momentum * velocity - learning_rate * slope(behind + momentum * velocity)
        behind = behind + velocity
    return behind + momentum * velocity


def plain_adam(weight: float, learning_rate: float, beta1: float) -> float:
    mean = square = 0.0
    for step in range(1, STEPS + 1):
        gradient = slope(weight)
        mean = beta1 * mean + (1 - beta1) * gradient
        square = ADAM_BETA2 * square + (1 - ADAM_BETA2) * gradient**2
        mean_hat, square_hat = mean / (1 - beta1**step), square / (1 - ADAM_BETA2**step)
        weight = weight - learning_rate * mean_hat / (math.sqrt(square_hat) + ADAM_EPSILON)
    return weight


@pytest.mark.parametrize(
    ("name", "reference"),
    [("sgd", plain_sgd), ("momentum", plain_momentum), ("nesterov_momentum", plain_nesterov), ("adam", plain_adam)],
)
def test_each_optimizer_walks_like_its_textbook_formula_in_plain_python(
    name: str, reference: Callable[..., float]
) -> None:
    optimizer = OPTIMIZERS[name]
    weights = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 0.1]])
    tuned = {"learning_rate": [0.1, 0.02, 0.05], "momentum": [0.9, 0.5, 0.0], "beta1": [0.9, 0.0, 0.98]}
    tuned = {key: tuned[key] for key in optimizer.metaparameters}
    expected = [
        [reference(weight, *(values[trial] for values in tuned.values())) for weight in row]
        for trial, row in enumerate(weights.tolist())
    ]
    columns = {key: np.array(values)[:, None] for key, values in tuned.items()}
    slots = np.zeros((optimizer.slot_count, *weights.shape))
    for step in range(1, STEPS + 1):
        gradients = np.vectorize(slope)(weights)
        optimizer.update(weights, gradients, slots, columns, step)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_momentum_optimizer_with_coefficient_0_equals_sgd() -> None:
    assert plain_momentum(1.0, 0.1, 0.0) == pytest.approx(plain_sgd(1.0, 0.1))
    assert OPTIMIZERS["sgd"].metaparameters == ("learning_rate",)
