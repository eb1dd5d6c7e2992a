"""Texts of logs are no markup, and numbers are exact or rounded as on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from losslake.report.markdown import block, code, number, plain, table


@settings(max_examples=10)
@given(st.text(alphabet="ab|`*_<>[]()!#&~\\\n\x1b\u2028 ", max_size=20))
def test_any_text_is_shown_as_it_is_in_a_cell_and_in_a_block(text: str) -> None:
    shown = " ".join(text.split()).replace("\x1b", "\\x1b")
    for written in (plain(text), code(text)):
        lines = list(table(["a", "b"], [[f"x{written}x", "y"]]))
        tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
        cells = [each for each in tokens if each.type == "inline"]
        children = cells[2].children or []
        assert "".join(child.content for child in children) == f"x{shown}x"
        assert {child.type for child in children} <= {"text", "text_special", "code_inline"}
    fence = MarkdownIt("commonmark").parse(block(text))
    assert [token.type for token in fence] == ["fence"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (1234567, "1,234,567"), (2.0, "2"), (0.123456789, "0.123457"), (990.5, "990.5")]
)
def test_numbers_are_readable(value: float | None, text: str) -> None:
    assert number(value) == text
