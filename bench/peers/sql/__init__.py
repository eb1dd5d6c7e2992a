"""The statements that peers are asked in, a folder per dialect."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def statement(dialect: str, name: str) -> str:
    """Return the text of `bench/peers/sql/<dialect>/<name>.sql`."""
    return Path(__file__).with_name(dialect).joinpath(f"{name}.sql").read_text("utf-8")


def statements(dialect: str, name: str) -> list[str]:
    """Each statement of a file with several."""
    return [text.strip() for text in statement(dialect, name).split(";\n") if text.strip()]
