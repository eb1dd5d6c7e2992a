"""Fully connected ReLU networks with a softmax on top; every function works on many trials' parameters at once."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from studies.digits import CLASS_COUNT, INPUT_WIDTH

Floats: TypeAlias = NDArray[np.floating[Any]]
Layer: TypeAlias = tuple[Floats, Floats]


def layer_widths(hidden_widths: Sequence[int]) -> list[int]:
    """Widths from the pixels to the classes; no hidden width makes softmax regression."""
    return [INPUT_WIDTH, *hidden_widths, CLASS_COUNT]


def parameter_count(hidden_widths: Sequence[int]) -> int:
    """Return the number of weights and biases of one network."""
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(layer_widths(hidden_widths)))


def layers_of(parameters: Floats, hidden_widths: Sequence[int]) -> list[Layer]:
    """Return views of parameters (trials, parameters): by layer, weights (trials, in, out), biases (trials, 1, out)."""
    layers, start, trials = [], 0, len(parameters)
    for fan_in, fan_out in pairwise(layer_widths(hidden_widths)):
        middle, end = start + fan_in * fan_out, start + (fan_in + 1) * fan_out
        weights = parameters[:, start:middle].reshape(trials, fan_in, fan_out)
        layers.append((weights, parameters[:, middle:end].reshape(trials, 1, fan_out)))
        start = end
    return layers


def initial_parameters(hidden_widths: Sequence[int], seed: np.random.SeedSequence) -> NDArray[np.float32]:
    """One network (parameters,): biases zero, weights normal with variance 2 / fan-in, the last layer's 1 / fan-in."""
    generator = np.random.default_rng(seed)
    parameters = np.zeros((1, parameter_count(hidden_widths)), np.float32)
    layers = layers_of(parameters, hidden_widths)
    for index, (weights, _) in enumerate(layers):
        gain = 1.0 if index == len(layers) - 1 else 2.0
        weights[:] = generator.normal(0.0, np.sqrt(gain / weights.shape[1]), weights.shape)
    network: NDArray[np.float32] = parameters[0]
    return network


def activations(layers: Sequence[Layer], inputs: Floats) -> list[Floats]:
    """Return the inputs of each layer, then the logits (trials, rows, classes), for `inputs` (rows, pixels)."""
    received = [inputs]
    for index, (weights, biases) in enumerate(layers):
        outputs = np.matmul(received[-1], weights)
        outputs += biases
        if index < len(layers) - 1:
            np.maximum(outputs, 0, out=outputs)
        received.append(outputs)
    return received


def cross_entropies(logits: Floats, labels: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Cross-entropy (trials, rows) in nats, and the class probabilities, which take the place of `logits`."""
    logits -= logits.max(axis=2, keepdims=True)
    of_label = logits[:, np.arange(len(labels)), labels]
    np.exp(logits, out=logits)
    totals = logits.sum(axis=2)
    logits /= totals[:, :, None]
    return np.log(totals) - of_label, logits


def write_gradients(
    gradients: Sequence[Layer], layers: Sequence[Layer], inputs: Floats, labels: NDArray[np.intp]
) -> Floats:
    """Mean cross-entropy of the rows (trials,), and its gradient written into the views `gradients`."""
    received = activations(layers, inputs)
    losses, differences = cross_entropies(received.pop(), labels)
    differences[:, np.arange(len(labels)), labels] -= 1
    differences /= len(labels)
    for index in range(len(layers) - 1, -1, -1):
        weights_gradient, biases_gradient = gradients[index]
        np.sum(differences, axis=1, keepdims=True, out=biases_gradient)
        if len(labels) == 1:  # an outer product: numpy multiplies this faster than it calls a matrix product
            np.multiply(received[index].swapaxes(-1, -2), differences, out=weights_gradient)
        else:
            np.matmul(received[index].swapaxes(-1, -2), differences, out=weights_gradient)
        if index:
            differences = np.matmul(differences, layers[index][0].swapaxes(-1, -2))
            differences *= received[index] > 0
    means: Floats = losses.mean(axis=1)
    return means
