from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from studies.grid import evaluation_steps


@given(st.integers(min_value=1, max_value=100_000))
def test_a_crossing_is_known_to_better_than_a_tenth_of_its_step_or_to_the_step_itself(train_steps: int) -> None:
    for before, step in pairwise(evaluation_steps(train_steps)):
        assert step - before == 1 or (step - before) / step < 0.1


@given(st.integers(min_value=1, max_value=100_000))
def test_the_grid_goes_from_step_0_to_the_last_step(train_steps: int) -> None:
    steps = evaluation_steps(train_steps)
    assert steps[0] == 0
    assert steps[-1] == train_steps


def test_the_grid_is_sparse_enough_for_long_runs() -> None:
    assert len(evaluation_steps(100_000)) < 150
