"""The table of figures by scale, and what it says of their limits."""

from __future__ import annotations

from bench.growth import AtScale, Figure, Limit, growth_table


def table(*values: tuple[float, float], limit: Limit | None = None, unit: str = "ms") -> list[str]:
    """The rows below the heading, of one figure that has these values at these scales."""
    measured = [AtScale(scale, (Figure("what", value, unit, limit),)) for scale, value in values]
    return list(growth_table(measured))[2:]


def test_growth_compares_a_tenth_of_the_scale_with_the_largest() -> None:
    assert table((1.0, 3.0), (0.01, 1.0), (0.1, 2.0))[0] == "| what | ms | 1 | 2 | 3 | 1.50 |  |"


def test_values_at_the_limit_pass() -> None:
    found = table((0.1, 2.0), (1.0, 3.0), limit=Limit(3.0, 1.5))
    assert found[0].endswith("| ≤ 3 ok; growth ≤ 1.5 ok |")
    assert found[-1] == "2 of 2 limits are kept at scale 1."


def test_exceeded_limit_is_reported() -> None:
    found = table((0.1, 2.0), (1.0, 3.1), limit=Limit(3.0, 1.5))
    assert found[0].endswith("| ≤ 3 **MISSED**; growth ≤ 1.5 **MISSED** |")
    assert found[-1] == "0 of 2 limits are kept at scale 1."


def test_growth_is_left_out_where_no_tenth_was_measured() -> None:
    found = table((0.01, 2.0), (1.0, 3.0), limit=Limit(3.0, 1.5))
    assert found[0] == "| what | ms | 2 | 3 |  | ≤ 3 ok |"


def test_counts_are_whole_and_other_numbers_have_three_digits() -> None:
    (row, *_) = table((0.01, 71_638_836), (0.1, 0.012345), (1.0, 1234.5))
    assert row == "| what | ms | 71,638,836 | 0.0123 | 1,234 | 100,000 |  |"
