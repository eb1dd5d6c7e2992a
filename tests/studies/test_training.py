from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from studies.digits import Split, load_splits
from studies.training import Trial, minibatches, study_seeds, train_study, train_trials
from studies.workloads import Workload, load_workloads

SEED = 7


@cache
def splits() -> dict[str, Split]:
    return load_splits()


def small(path: str, trials: int = 4) -> Workload:
    workload = next(workload for workload in load_workloads() if workload.path == path)
    return replace(workload, trials=trials, minimum_steps=30, examples=0)


# The smallest network at batch size 1 in `make test`, all of them in `make slow`.
@pytest.mark.parametrize("batch_size", [1, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(each, id=each.path, marks=[] if "mlp_16/" in each.path else pytest.mark.slow)
        for each in load_workloads()
    ],
)
def test_trials_trained_side_by_side_equal_trials_trained_alone(workload: Workload, batch_size: int) -> None:
    workload = small(workload.path)
    together = train_study(workload, batch_size, splits(), SEED)
    _, order, *weights = study_seeds(workload, batch_size, SEED)
    for trial, seed in zip(together, weights, strict=True):
        (alone,) = train_trials(
            workload, batch_size, splits(), [Trial(trial.trial_id, trial.parameters)], order, [seed]
        )
        assert alone == trial


def with_one_that_diverges() -> tuple[list[Trial], list[Trial]]:
    """Two trials with a harmless learning rate around one whose velocity grows without end, and the two alone."""
    workload = small("digits/mlp_64/momentum")
    calm, wild = {"learning_rate": 0.1, "momentum": 0.5}, {"learning_rate": 1.0, "momentum": 40.0}
    _, order, first, second, third, _ = study_seeds(workload, 8, SEED)
    trio = [Trial(1, calm), Trial(2, wild), Trial(3, calm)]
    duo = [Trial(1, calm), Trial(3, calm)]
    return (
        train_trials(workload, 8, splits(), trio, order, [first, second, third]),
        train_trials(workload, 8, splits(), duo, order, [first, third]),
    )


def test_a_diverged_trial_is_infeasible_and_keeps_its_curve_up_to_that_point() -> None:
    trials, _ = with_one_that_diverges()
    wild = trials[1]
    assert wild.status == "INFEASIBLE"
    assert 2 < wild.steps < 30
    steps = [step for step, _ in wild.curve]
    assert steps[:3] == [0, 1, 2]
    assert steps[-1] < wild.steps
    assert np.isfinite([values for _, values in wild.curve]).all()


def test_a_diverged_trial_leaves_the_others_as_they_would_be_without_it() -> None:
    trials, others = with_one_that_diverges()
    for trial, other in zip((trials[0], trials[2]), others, strict=True):
        assert trial.status == "COMPLETE"
        assert trial.curve == other.curve


def test_a_complete_trial_took_all_steps_and_was_evaluated_after_the_last() -> None:
    for trial in train_study(small("digits/softmax/sgd"), 4, splits(), SEED):
        assert (trial.status, trial.steps, trial.curve[-1][0]) == ("COMPLETE", 30, 30)


def test_training_reduces_the_error() -> None:
    workload = replace(small("digits/mlp_64/nesterov_momentum", trials=8), minimum_steps=150)
    trials = train_study(workload, 32, splits(), SEED)
    assert min(trial.curve[0][1][2] for trial in trials) > 0.7
    assert min(trial.curve[-1][1][2] for trial in trials) < 0.1


def test_trials_of_a_study_start_from_different_weights_and_studies_search_different_points() -> None:
    workload = small("digits/softmax/sgd")
    first, second = train_study(workload, 1, splits(), SEED), train_study(workload, 2, splits(), SEED)
    assert len({trial.curve[0] for trial in first + second}) == 8
    assert not {trial.parameters["learning_rate"] for trial in first} & {
        trial.parameters["learning_rate"] for trial in second
    }


@pytest.mark.parametrize("batch_size", [1, 3, 10, 25])
def test_minibatches_show_every_example_once_per_epoch_and_cross_its_end(batch_size: int) -> None:
    batches = list(islice(minibatches(10, batch_size, np.random.SeedSequence(1)), 20))
    assert {len(batch) for batch in batches} == {batch_size}
    rows = np.concatenate(batches)
    epochs = rows[: len(rows) // 10 * 10].reshape(-1, 10)
    assert (np.sort(epochs, axis=1) == np.arange(10)).all()
    assert (epochs[0] != epochs[1]).any()
