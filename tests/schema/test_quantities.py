from __future__ import annotations

import pytest

from losslake_schema.quantities import abbreviated, amount, capitalized, counted, plural, read_count


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


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (48e6, "48M"),
        (1.98e9, "1.98B"),
        (999.6e6, "1B"),
        (7.3e11, "730B"),
        (1.5e12, "1.5T"),
        (12, "12"),
        (1e18, "1e+18"),
    ],
)
def test_a_count_is_abbreviated_as_people_write_it(number: float, text: str) -> None:
    assert abbreviated(number) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7e9", 7e9),
        ("7B", 7e9),
        (" 1.4 T ", 1.4e12),
        ("20b", 2e10),
        ("350m", 3.5e8),
        ("12k", 12_000.0),
        ("1,000,000", 1e6),
        ("1.5", 1.5),
        ("2E+10", 2e10),
    ],
)
def test_a_count_is_read_as_people_write_it(text: str, number: float) -> None:
    assert read_count(text) == number


@pytest.mark.parametrize(
    "text", ["", "B", "seven", "7 BB", "7Q", "-7B", "1,4T", "1_000", "nan", "inf", "7e9999", "<b>", "\u0667"]
)
def test_any_other_text_is_no_count(text: str) -> None:
    assert read_count(text) is None
