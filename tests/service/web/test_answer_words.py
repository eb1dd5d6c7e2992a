"""Sentences of workload pages say what is known of the ends of regimes and of critical batch sizes, and how surely."""

from __future__ import annotations

import pytest

from losslake.analysis.measured_levels import stated
from losslake_service.web.workload.answer_words import _critical, _hardware, with_noise


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
    text = _critical(row | {"critical_batch_size_lower": lower, "critical_batch_size_upper": upper})
    assert text.startswith("The critical batch size can't be determined: ")
    assert text.endswith(f"so no bend is visible.{known}")


def row(batch_size: int, hardware: str | None) -> dict[str, int | str | None]:
    return {"batch_size": batch_size, "hardware": hardware}


def test_times_on_other_hardware_name_it() -> None:
    assert list(_hardware(row(8, "2xa30"), row(1024, None))) == [
        "Hardware: 2xa30 at batch size 8, not known at batch size 1,024."
    ]
    assert list(_hardware(row(8, None), row(1024, None))) != []
    assert list(_hardware(row(8, "2xa30"), row(1024, "2xa30"))) == []
