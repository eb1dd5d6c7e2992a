"""SQL statements to copy: those of `service/web/statements`, with values written where they have $names."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"\$([a-z_]+)")


Value = str | float | tuple["Value", ...]


def statement(name: str, **values: Value) -> str:
    """The statement `service/web/statements/<name>.sql` on these values; raises KeyError for one that is missing."""
    return _NAME.sub(lambda found: literal(values[found[1]]), _text(name))


def literal(value: Value) -> str:
    """A value as SQL has it; a float to the last bit."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@cache
def _text(name: str) -> str:
    text = resources.files("service.web").joinpath("statements", f"{name}.sql").read_text("utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()
