from __future__ import annotations

import pytest

from losslake_schema.quantities import amount, capitalized, counted, plural


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (9.999, "10"),
        (99.96, "100"),
        (999.7, "1,000"),
        (-1234.4, "-1,234"),
        (3e6, "3,000,000"),
        (1.0512e21, "1.05e+21"),
    ],
)
def test_amounts_have_three_digits_or_all_before_the_point_up_to_huge_ones(value: float, text: str) -> None:
    assert amount(value) == text


def test_rounding_up_to_more_digits_gives_no_exponent() -> None:
    assert amount(9999.6, 4) == "10,000"
    assert amount(9999.4, 4) == "9999"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (71_638, "71,638 trials")]
)
def test_a_count_of_one_takes_the_singular(count: int, text: str) -> None:
    assert counted(count, "trial") == text
    assert text.endswith(plural("trial", count))


def test_a_capital_first_letter_leaves_the_others() -> None:
    assert [capitalized(noun) for noun in ("steps", "FLOPs", "")] == ["Steps", "FLOPs", ""]


def test_a_noun_in_y_has_its_plural_in_ies() -> None:
    assert [plural("study", count) for count in (1, 2)] == ["study", "studies"]
    assert [plural("day", count) for count in (1, 2)] == ["day", "days"]
