"""Rounds of published collections, and positions as logs state them."""

from __future__ import annotations

import pytest

from losslake.cli.reports.pooled_cases import Round, logged_position


@pytest.mark.parametrize(
    ("formula", "steps", "position"),
    [
        ("epoch_num x 1281167 / 64800", 1681, "`epoch_num` 85"),
        ("epoch_num / 16384", 318, "`epoch_num` 5,210,112"),
        ("samples_count / 8", 336, "`samples_count` 2,688"),
        (None, 1276, "`step_num` 1,276"),
    ],
)
def test_a_position_is_what_the_formula_of_the_steps_was_given(formula: str | None, steps: int, position: str) -> None:
    assert logged_position({"position": formula, "steps": steps}) == position


def test_a_round_has_the_critical_batch_size_and_the_loss_of_its_curve() -> None:
    steps = {size: 1000 + 64_000 // size for size in (8, 16, 32, 64, 128, 256, 512)}
    best = {size: {"steps": count, "previous_step": count - 1} for size, count in steps.items()}
    found = Round("2.0", best, 7)
    assert found.critical_batch_size == pytest.approx(64, rel=0.01)
    assert found.fewest_examples == 72_000
    assert found.lost == 8
    assert found.useful_until == "≥ 512"
