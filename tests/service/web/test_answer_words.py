"""Sentences of workload pages say what is known of the ends of regimes and of critical batch sizes, and how surely."""

from __future__ import annotations

from typing import get_args

import pytest

from losslake.analysis.identifiability import Refusal
from losslake.analysis.measured_levels import stated
from losslake.questions import regimes
from losslake.questions.trials.selection import Selection
from losslake_service.web.workload import key_figures
from losslake_service.web.workload.answer_words import (
    _critical,
    _halving,
    _on_other_hardware,
    regime_sentences,
    with_noise,
)
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row


@pytest.mark.parametrize("refusal", get_args(Refusal))
def test_each_refusal_of_a_critical_batch_size_is_said_in_a_sentence_and_a_key_figure(refusal: str) -> None:
    row = {"critical_batch_size": None, "not_identifiable": refusal}
    row |= {"critical_batch_size_lower": None, "critical_batch_size_upper": None}
    assert _critical(row, []).startswith("The critical batch size can't be determined: ")
    assert key_figures.critical_words(row)[1].startswith("not known: ")


@pytest.mark.parametrize(
    ("lower", "upper", "where"),
    [
        (16, 1024, "that ends between 16 and 1,024 (90%)."),
        (64, 64, "that ends at 64 (90%)."),
        (16, None, "that ends at 16 or above (90%)."),
        (None, 256, "that ends at 256 or below (90%)."),
        (None, None, "it isn't known where that ends."),
    ],
)
def test_the_end_of_a_regime_is_said_with_the_noise_of_steps(lower: int | None, upper: int | None, where: str) -> None:
    end = {"lower_with_noise": lower, "upper_with_noise": upper}
    assert with_noise(end, "ends") == f"With the noise of steps, {where}"
    assert stated("regimes") == "90%"


@pytest.mark.parametrize(
    ("lower", "upper", "known"),
    [
        (120.0, None, " It is at least 120 (95% bound)."),
        (None, 640.0, " It is at most 640 (95% bound)."),
        (120.0, 640.0, " It is at least 120 and at most 640 (95% bounds)."),
        (None, None, ""),
    ],
)
def test_bounds_of_a_critical_batch_size_have_their_own_level(
    lower: float | None, upper: float | None, known: str
) -> None:
    row = {"critical_batch_size": None, "not_identifiable": "no bend"}
    text = _critical(row | {"critical_batch_size_lower": lower, "critical_batch_size_upper": upper}, [])
    assert text.startswith("The critical batch size can't be determined: ")
    assert text.endswith(f"so no bend is visible.{known}")


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (32, 256, "H up to batch size 64. With the noise of steps, that ends between 32 and 256 (90%)."),
        (32, None, "H up to batch size 64. With the noise of steps, that ends at 32 or above (90%)."),
        (16, 256, "H up to a batch size between 16 and 256 (90%); these steps put the end at 64."),
        (
            None,
            256,
            "by batch size 256 doubling the batch no longer halves the steps (90%); these steps put the end at 64.",
        ),
        (
            None,
            None,
            "the noise of steps is too large to tell up to which batch size H; these steps put the end at 64.",
        ),
    ],
)
def test_what_is_known_of_an_end_comes_first(lower: int | None, upper: int | None, text: str) -> None:
    end = {"batch_size": 64, "lower_with_noise": lower, "upper_with_noise": upper, "censoring": None}
    assert _halving(end, "H") == text


_WITHIN = "doubling the batch halves the steps (within 20%)"
_END = "these steps put the end at"


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (
            {100: 47, 110: 46, 118: 47},
            [
                f"Batch sizes 100 to 118 are too close to tell whether {_WITHIN}.",
                "No batch size saves steps over the smallest that reaches the target, 100 (within 10%).",
            ],
        ),
        (
            {100: 50, 115: 45, 400: 44},
            [
                "Already beyond batch size 115, doubling the batch doesn't halve the steps (within 20%).",
                (
                    "Beyond batch size 115 larger ones, up to 400, save no more steps (within 10%). "
                    "With the noise of steps, it isn't known where that begins."
                ),
            ],
        ),
        (
            {25: 200, 100: 50, 105: 48},
            [
                f"The noise of steps is too large to tell up to which batch size {_WITHIN}; {_END} 105.",
                "Batch sizes 100 to 105 are too close to tell whether larger ones save steps.",
            ],
        ),
    ],
)
def test_batch_sizes_too_close_to_tell_are_said_to_be(steps: dict[int, int], says: list[str]) -> None:
    rows = [Row(size, 1, "COMPLETE", *at) for size, step in steps.items() for at in ((step - 1, 0.9), (step, 0.1))]
    answer = answer_to(regimes.QUESTION, view_of(rows), Selection((WORKLOAD,), METRIC), target=0.5)
    assert regime_sentences(answer, answer.table().to_pylist()) == says


def test_critical_batch_size_is_said_with_what_was_measured_near_it() -> None:
    found = {"critical_batch_size": 100.0, "critical_batch_size_lower": 80.0, "critical_batch_size_upper": 130.0}
    studies = [{"batch_size": size, "steps": steps} for size, steps in ((8, 1350), (64, 260), (128, 178), (1024, 112))]
    assert _critical(found | {"s_min": 100.3}, studies) == (
        "Critical batch size 100 (90% interval 80 to 130): the nearest one measured, 128, takes 178 steps, 1.6 times "
        "the fewest, 112 at 1,024; the fitted curve falls on to 100, half of its steps there."
    )
    assert "128, takes 178 steps, the fewest of any; " in _critical(found | {"s_min": 100.3}, studies[:3])


def test_times_on_other_hardware_have_no_ratio() -> None:
    small = {"batch_size": 8, "amount": 1520.0, "hardware": None, "accelerator": None}
    large = {"batch_size": 1024, "amount": 11.0, "hardware": "pod", "accelerator": "TPU v4"}
    assert list(_on_other_hardware("seconds", large, small)) == [
        (
            "The fewest seconds to the target are 11 at batch size 1,024, on TPU v4 (pod), beside 1,520 at batch size "
            "8, on accelerators not named (system not known)."
        ),
        "The hardware differs, so these times don't tell what the batch size saves.",
    ]
