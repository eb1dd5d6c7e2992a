"""Lines to copy: a question of REST asked with curl, pandas, Polars, DuckDB and R; and SQL statements.

Statements are those of `web/statements`, with values written where they have $names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Set
from functools import cache
from importlib import resources
from typing import NamedTuple

from losslake_service.web.templates import Query, with_query

_SHOWN = ("application/json", "application/ld+json", "application/yaml", "text/")
_TABULAR = frozenset({"application/json", "text/csv", "application/vnd.apache.parquet"})
_NAME = re.compile(r"\$([a-z_]+)")
Value = str | float | tuple["Value", ...]


class Line(NamedTuple):
    """A line to copy. tool: what understands it."""

    tool: str
    text: str


def snippets(address: str, path: str, query: Query, media_types: Set[str] = _TABULAR) -> Iterator[Line]:
    """Yield lines for a GET. address: of the service; media_types: in which the path answers."""
    url = address + with_query(path, query)
    if not media_types >= _TABULAR:
        save = "-O " if media_types and not any(kind.startswith(_SHOWN) for kind in media_types) else ""
        yield Line("curl", f"curl {save}{shlex.quote(url)}")
        return
    parquet = address + with_query(f"{path}.parquet", query)
    csv = address + with_query(f"{path}.csv", query)
    yield Line("curl", f"curl {shlex.quote(url)}")
    yield Line("pandas", f"pandas.read_parquet({_quoted(parquet)})")
    yield Line("Polars", f"polars.read_parquet({_quoted(parquet)})")
    # DuckDB would take metric=val/… for a folder of a partition, so no slash may be left.
    plain = address + with_query(f"{path}.parquet", query, safe="")
    yield Line("DuckDB", "FROM '" + plain.replace("'", "%27") + "';")
    yield Line("R", f"read.csv({_quoted(csv)})")


def statement(name: str, **values: Value) -> str:
    """Return the statement `web/statements/<name>.sql` on these values; raises KeyError for one that is missing."""
    lines = [line for line in _lines(name) if not line.startswith("--")]
    return _NAME.sub(lambda match: literal(values[match[1]]), "\n".join(lines))


def purpose(name: str) -> str:
    """Return what that statement is good for: the comment above it, as part of a sentence."""
    text = " ".join(line.removeprefix("--").strip() for line in _lines(name) if line.startswith("--"))
    return text[:1].lower() + text[1:].removesuffix(".")


def literal(value: Value) -> str:
    """Return a value as SQL has it; a float to the last bit."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@cache
def _lines(name: str) -> list[str]:
    text = resources.files("losslake_service.web").joinpath("statements", f"{name}.sql").read_text("utf-8")
    return text.strip().splitlines()


def _quoted(url: str) -> str:
    return '"' + url.replace('"', "%22") + '"'
