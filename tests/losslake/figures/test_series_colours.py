"""A series has the same colour in every chart and in any order of the series."""

from __future__ import annotations

from itertools import permutations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from losslake.figures import theme
from losslake.figures.frame import colour_scale
from losslake.figures.series_colours import look_numbers, preferred_colour

OPTIMIZERS = ("sgd", "momentum", "nesterov_momentum", "adam", "lars", "adamw", "lamb")


def colours(*labels: str) -> dict[str, str]:
    scale = colour_scale(labels, is_ordered=False)
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_optimizers_keep_their_colours_in_any_order_and_beside_any_other() -> None:
    for pair in permutations(OPTIMIZERS, 2):
        assert colours(*pair) == {name: colours(name)[name] for name in pair}
    assert len(set(colours(*OPTIMIZERS).values())) == len(theme.COLOURS)


def test_optimizer_at_the_end_of_a_label_decides() -> None:
    assert colours("mlp_64/sgd")["mlp_64/sgd"] == colours("sgd")["sgd"] == colours("digits/SGD")["digits/SGD"]


@given(st.lists(st.text("abcd/_*", min_size=1, max_size=6), min_size=1, max_size=30, unique=True), st.randoms())
def test_order_of_series_changes_no_colour_and_colours_repeat_only_when_all_are_used(
    labels: list[str], random: Random
) -> None:
    numbers = dict(zip(labels, look_numbers(labels), strict=True))
    shuffled = random.sample(labels, len(labels))
    assert dict(zip(shuffled, look_numbers(shuffled), strict=True)) == numbers
    n, n_colours = len(labels), len(theme.COLOURS)
    assert len(set(numbers.values())) == n
    uses = [sum(number % n_colours == colour for number in numbers.values()) for colour in range(n_colours)]
    assert max(uses) <= -(-n // n_colours) + 1
    assert n > n_colours or max(uses) == 1


def test_trials_and_batch_sizes_keep_the_order_of_the_palette() -> None:
    assert look_numbers(["trial 7", "trial 12"]) == [0, 1]
    assert look_numbers(["sgd, batch size 8, trial 1", "sgd, batch size 8, trial 2"]) == [0, 1]
    assert look_numbers([""]) == [0]


def test_names_of_logs_have_the_colour_of_the_same_optimizer() -> None:
    assert {preferred_colour(name) for name in ("sgd", "SGD", "GradientDescentOptimizer", "mlp_64, SGD")} == {0}
    assert {preferred_colour(name) for name in ("nag", "nesterov_momentum", "Nesterov momentum")} == {2}
