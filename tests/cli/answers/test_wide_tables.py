"""Tables wider than the terminal are printed whole."""

from __future__ import annotations

from losslake_cli.answers.analysis_table import wide_table

COLUMNS = ["batch_size", "regime", "fewest_steps", "is_undertuned"]
ROWS = [[1024 * n, "perfect scaling", 10 * n, n > 3] for n in range(1, 6)]


def lines(columns: list[str], rows: list[list[object]], space: int) -> list[str]:
    return list(wide_table(columns, rows, space))


def test_a_table_that_fits_is_printed_whole_with_headings_wrapped_at_underscores() -> None:
    assert lines(COLUMNS, ROWS[:1], 80) == [
        "batch_                 fewest_ is_",
        "  size regime            steps undertuned",
        "────── ─────────────── ─────── ──────────",
        " 1,024 perfect scaling      10 false",
    ]


def test_parts_of_a_wide_table_begin_with_the_key_columns() -> None:
    shown = lines(COLUMNS, ROWS, 30)
    assert max(map(len, shown)) <= 30
    parts = [part.splitlines() for part in "\n".join(shown).split("\n\n")]
    assert [part[1].split()[0] for part in parts] == ["size", "size"]
    assert [part[-1].split()[0] for part in parts] == ["5,120", "5,120"]


def test_few_rows_with_many_columns_are_transposed() -> None:
    assert lines(COLUMNS, ROWS[:1], 31) == [
        "batch_size               1,024",
        "regime         perfect scaling",
        "fewest_steps                10",
        "is_undertuned            false",
    ]


def test_a_long_text_is_wrapped() -> None:
    shown = lines(["claim", "n"], [["every batch size reaches the target and more", 1]], 80)
    assert shown[2:] == ["every batch size reaches the target and 1", "more"]


def test_an_empty_table_has_headings() -> None:
    assert lines(["a", "b"], [], 80) == ["a b", "─ ─"]


def test_a_column_wider_than_the_terminal_stands_alone() -> None:
    assert lines(["name", "x"], [[f"{'w' * 30}{n}", n] for n in range(9)], 10)[2].startswith("w" * 30)


def test_control_sequences_are_escaped() -> None:
    assert lines(["a"], [["\x1b[2J"]], 80)[2] == "\\x1b[2J"
