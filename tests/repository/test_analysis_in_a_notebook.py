"""The notebook cell of docs/analysis.md, run as it stands there."""

from __future__ import annotations

import re

import pytest

from tests.repository.checkout import ROOT


def test_the_cell_prints_the_published_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / "analysis.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    exec(compile(cell, "docs/analysis.md", "exec"), {})
    said = capsys.readouterr().out
    assert "mccandlish2018: 2190.60, " in said
    assert "zhang2024: 745.32, " in said
    assert "746.29" in said
    assert "BreakPoint(batch_size=8192.0" in said
