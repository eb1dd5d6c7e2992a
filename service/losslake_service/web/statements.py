"""SQL statements to copy: those of `web/statements`, with values written where they have $names."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"\$([a-z_]+)")


Value = str | float | tuple["Value", ...]


def statement(name: str, **values: Value) -> str:
    """The statement `web/statements/<name>.sql` on these values; raises KeyError for one that is missing."""
    lines = [line for line in _lines(name) if not line.startswith("--")]
    return _NAME.sub(lambda found: literal(values[found[1]]), "\n".join(lines))


def purpose(name: str) -> str:
    """What that statement is good for: the comment above it, as part of a sentence."""
    text = " ".join(line.removeprefix("--").strip() for line in _lines(name) if line.startswith("--"))
    return text[:1].lower() + text[1:].removesuffix(".")


def literal(value: Value) -> str:
    """A value as SQL has it; a float to the last bit."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@cache
def _lines(name: str) -> list[str]:
    text = resources.files("losslake_service.web").joinpath("statements", f"{name}.sql").read_text("utf-8")
    return text.strip().splitlines()
