import numpy as np
import pytest

from studies.digits import load_splits
from studies.networks import activations, cross_entropies, initial_parameters, layers_of, parameter_count
from studies.networks import write_gradients as gradients_into
from studies.workloads import load_workloads

NETWORKS = sorted({workload.hidden_widths for workload in load_workloads()})
TRIALS = 2


def networks_in_double(hidden_widths: tuple[int, ...]) -> np.ndarray:
    """Parameters (trials, parameters) with biases that aren't zero."""
    rows = [initial_parameters(hidden_widths, np.random.SeedSequence(seed)) for seed in range(TRIALS)]
    return np.stack(rows).astype(np.float64) + np.random.default_rng(5).normal(0, 0.05, (TRIALS, len(rows[0])))


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("hidden_widths", NETWORKS)
def test_gradients_agree_with_finite_differences(hidden_widths: tuple[int, ...], rows: int) -> None:
    train = load_splits()["train"]
    inputs, labels = train.inputs[:rows].astype(np.float64), train.labels[:rows]
    parameters = networks_in_double(hidden_widths)
    gradients = np.empty_like(parameters)

    def losses(at: np.ndarray) -> np.ndarray:
        scratch = np.empty_like(at)
        return gradients_into(layers_of(scratch, hidden_widths), layers_of(at, hidden_widths), inputs, labels)

    gradients_into(layers_of(gradients, hidden_widths), layers_of(parameters, hidden_widths), inputs, labels)
    generator, difference = np.random.default_rng(3), 1e-6
    last_layer = np.arange(parameters.shape[1] - 10, parameters.shape[1])
    for index in np.concatenate([generator.choice(parameters.shape[1], 40, replace=False), last_layer]):
        up, down = parameters.copy(), parameters.copy()
        up[:, index] += difference
        down[:, index] -= difference
        np.testing.assert_allclose(
            gradients[:, index], (losses(up) - losses(down)) / (2 * difference), rtol=1e-5, atol=1e-8
        )
    assert np.count_nonzero(gradients) > 0.05 * gradients.size


def test_the_deep_narrow_network_has_about_the_parameters_of_the_one_of_width_64() -> None:
    assert parameter_count((64,)) == 4810
    assert parameter_count((29, 29, 29, 29)) == 4795
    assert parameter_count(()) == 650


def test_parameters_are_views_so_that_an_update_of_the_whole_array_changes_every_layer() -> None:
    parameters = np.zeros((TRIALS, parameter_count((16,))), np.float32)
    layers = layers_of(parameters, (16,))
    parameters += 1
    assert all((weights == 1).all() and (biases == 1).all() for weights, biases in layers)


def test_cross_entropy_stays_finite_for_logits_far_beyond_the_range_of_exp() -> None:
    logits = np.zeros((1, 1, 10), np.float32)
    logits[0, 0, 3] = 1e4
    right, _ = cross_entropies(logits.copy(), np.array([3]))
    wrong, probabilities = cross_entropies(logits.copy(), np.array([4]))
    assert right[0, 0] == 0
    assert wrong[0, 0] == 1e4
    assert probabilities.sum() == 1


def test_networks_of_different_seeds_differ_and_of_the_same_seed_agree() -> None:
    first, again, other = (initial_parameters((16,), np.random.SeedSequence(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert np.count_nonzero(first == other) == 16 + 10  # only the biases, which start at zero


def test_a_network_without_hidden_layers_is_softmax_regression() -> None:
    inputs = load_splits()["train"].inputs[:3]
    parameters = initial_parameters((), np.random.SeedSequence(1))[None]
    logits = activations(layers_of(parameters, ()), inputs)[-1][0]
    np.testing.assert_allclose(logits, inputs @ parameters[0, :640].reshape(64, 10), rtol=1e-5, atol=1e-6)
