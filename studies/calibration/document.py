"""The tables of docs/analysis.md that calibration writes, each between two comments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT, DATA = ROOT / "docs/analysis.md", ROOT / "losslake/analysis"


def with_table(document: str, name: str, lines: Iterable[str]) -> str:
    """Return the document with these lines as the table of that name. Raises ValueError if it has no such place."""
    begin = f"<!-- {name}: written by python -m studies.calibration {name} -->"
    end = f"<!-- end of {name} -->"
    if begin not in document or end not in document:
        raise ValueError(f"the document has no {begin} with {end}")
    before, _, rest = document.partition(begin)
    return f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{rest.partition(end)[2]}"


def write_table(name: str, lines: Iterable[str]) -> None:
    """Write a table into the document."""
    DOCUMENT.write_text(with_table(DOCUMENT.read_text("utf-8"), name, lines), "utf-8")
