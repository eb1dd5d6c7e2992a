"""Lines to copy: one question asked with curl, pandas, Polars, DuckDB and R."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from losslake_service.web.example_queries import Query

_SHOWN = ("application/json", "application/ld+json", "application/yaml", "text/")
_TABULAR = {"application/json", "text/csv", "application/vnd.apache.parquet"}


def snippets(address: str, path: str, query: Query, media_types: set[str]) -> Iterator[tuple[str, str]]:
    """Tool and line, for a GET. address: of the service; media_types: in which the path answers."""
    url = f"{address}{path}{_text(query)}"
    if not media_types >= _TABULAR:
        save = "-O " if media_types and not any(kind.startswith(_SHOWN) for kind in media_types) else ""
        yield "curl", f"curl {save}{shlex.quote(url)}"
        return
    parquet = f"{address}{path}.parquet{_text(query)}"
    csv = f"{address}{path}.csv{_text(query)}"
    yield "curl", f"curl {shlex.quote(url)}"
    yield "pandas", f"pandas.read_parquet({_quoted(parquet)})"
    yield "Polars", f"polars.read_parquet({_quoted(parquet)})"
    # DuckDB would take metric=val/… for a folder of a partition, so no slash may be left.
    plain = f"{address}{path}.parquet{_text(query, safe='')}"
    yield "DuckDB", "FROM '" + plain.replace("'", "%27") + "';"
    yield "R", f"read.csv({_quoted(csv)})"


def _text(query: Query, safe: str = "/") -> str:
    pairs = "&".join(f"{quote(name, safe='')}={quote(str(value), safe=safe)}" for name, value in query)
    return f"?{pairs}" if pairs else ""


def _quoted(url: Any) -> str:
    return '"' + str(url).replace('"', "%22") + '"'
