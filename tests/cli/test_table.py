"""Tables in a terminal fit it: names that people copy stay whole, and what is left out is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_cli import table
from losslake_cli.table import cell_text, show_table

LONG = "algoperf/v05/external_tuning/imagenet/resnet_50/schedule_free_adamw"
COLUMNS = ("workload", "batch_sizes", "trials", "source")


def shown(rows: list[list[object]], space: int, whole: str | None = None, is_wide: bool | None = None) -> list[str]:
    with pytest.MonkeyPatch.context() as patched:
        lines: list[str] = []
        patched.setattr(table, "terminal_width", lambda: space)
        patched.setattr(table, "echo", lines.append)
        show_table(COLUMNS, rows, is_wide, whole)
    return lines


def test_a_name_that_people_copy_is_never_shortened() -> None:
    lines = shown([[LONG, 1, 25, "a/path"], ["short", 2, 5, "x"]], 80, whole="workload", is_wide=False)
    assert any(line.split()[0] == LONG for line in lines)
    assert lines[-1] == "left out: trials, source; --wide shows them"
    assert max(map(len, lines)) <= 80


def test_long_texts_are_shortened_only_as_far_as_needed() -> None:
    lines = shown([[LONG, 1, 25, "p" * 60], ["short", 2, 5, "q"]], 100)
    assert max(map(len, lines)) in (99, 100)  # two texts share what is left
    assert "…" in lines[-2]
    assert not lines[-1].startswith("left out")


def test_the_last_columns_are_left_out_before_texts_get_unreadable() -> None:
    lines = shown([[LONG, 1, 25, "p" * 60]], 60)
    assert lines[-1] == "left out: source; a wider terminal shows them"
    assert max(map(len, lines[:-1])) <= 60


def test_wide_prints_everything() -> None:
    lines = shown([[LONG, 1, 25, "p" * 60]], 20, is_wide=True)
    assert "p" * 60 in lines[-1]


@given(st.lists(st.lists(st.text(max_size=80), min_size=4, max_size=4), min_size=1, max_size=4), st.integers(30, 200))
def test_no_line_is_wider_than_the_terminal(rows: list[list[object]], space: int) -> None:
    lines = shown(rows, space)
    assert max(map(table._width, [line for line in lines if not line.startswith("left out")])) <= space


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (44840832.0, "44,840,832"),
        (44840832.5, "44,840,832"),
        (109904.0, "109,904"),
        (95001.75, "95,001.8"),
        (0.759, "0.759"),
        (1e300, "1e+300"),
        (float("nan"), "nan"),
        (-2e6, "-2,000,000"),
    ],
)
def test_numbers_show_six_digits_or_the_whole_integer_part(value: float, text: str) -> None:
    assert cell_text(value) == text
