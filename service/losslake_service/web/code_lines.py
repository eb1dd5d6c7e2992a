"""Code to copy: REST requests with curl, pandas, Polars, DuckDB and R; and SQL statements.

Statements are the files of `web/statements`, with values in place of $names.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Set
from functools import cache
from typing import NamedTuple

from losslake_schema.package_files import read_text
from losslake_service.web.templates import Query, values_by_name, with_query

_SHOWN = ("application/json", "application/ld+json", "application/yaml", "text/")
_TABULAR = frozenset({"application/json", "text/csv", "application/vnd.apache.parquet"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)
_NAME = re.compile(r"\$([a-z_]+)")
_EQUAL = re.compile(r"= \$([a-z_]+)")
Value = str | float | tuple["Value", ...] | None


class Line(NamedTuple):
    """A line of code to copy, for a tool."""

    tool: str
    text: str


def snippets(address: str, path: str, query: Query, media_types: Set[str] = _TABULAR) -> Iterator[Line]:
    """Yield the lines for a GET request. address: of the service; media_types: of the answer."""
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
    # Encode slashes: DuckDB would take metric=val/… for a partition folder.
    plain = address + with_query(f"{path}.parquet", query, safe="")
    yield Line("DuckDB", "FROM '" + plain.replace("'", "%27") + "';")
    yield Line("R", f"read.csv({_quoted(csv)})")


def notebook_cell(address: str, path: str, query: Query, options: Query = ()) -> str:
    """Return the line of Python that draws the answer at a path in a notebook. options: of the figure alone."""
    drawn = ", ".join(_named(_arguments(options)))
    return f"{library_call(address, path, query)}.plot({drawn})"


def library_call(address: str, path: str, query: Query) -> str:
    """Return the line of Python that gets the answer at a path from the library."""
    method = path.rpartition("/")[2].replace("-", "_")
    values = _arguments(query, _texts().get(method, frozenset()))
    workload = [values.pop("workload")] if "workload" in values else []
    arguments = ", ".join([*workload, *_named(values)])
    return f"import losslake; losslake.open({_python(address)}).{method}({arguments})"


def _arguments(query: Query, texts: Set[str] = frozenset()) -> dict[str, str]:
    """Return the literals of Python by parameter; a list of what is repeated. texts: parameters that are no numbers."""
    literals = {
        name: [_quoted_text(value) if name in texts else _python(value) for value in values]
        for name, values in values_by_name(query).items()
    }
    return {name: each[0] if len(each) == 1 else f"[{', '.join(each)}]" for name, each in literals.items()}


def _named(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def statement(name: str, **values: Value) -> str:
    """Return the statement `web/statements/<name>.sql` with these values; raises KeyError for a missing value.

    A column that equals a value is null where that is None.
    """
    lines = [line for line in _lines(name) if not line.startswith("--")]
    unknown = {name for name, value in values.items() if value is None}
    text = _EQUAL.sub(lambda match: "IS NULL" if match[1] in unknown else match[0], "\n".join(lines))
    return _NAME.sub(lambda match: literal(values[match[1]]), text)


def purpose(name: str) -> str:
    """Return the comment above a statement, as part of a sentence."""
    text = " ".join(line.removeprefix("--").strip() for line in _lines(name) if line.startswith("--"))
    return text[:1].lower() + text[1:].removesuffix(".")


def literal(value: Value) -> str:
    """Return a value as an SQL literal; a float to the last bit."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@cache
def _lines(name: str) -> list[str]:
    text = read_text("losslake_service.web", f"statements/{name}.sql")
    return text.strip().splitlines()


@cache
def _texts() -> Mapping[str, Set[str]]:
    """Return the parameters that take a text, by method of the library."""
    methods = json.loads(read_text("losslake.library", "methods.json"))
    return {
        method: {name for name, kind in each["parameters"].items() if kind.startswith("str")}
        for method, each in methods.items()
    }


def _python(text: str) -> str:
    """Return the value of a parameter as a literal of Python."""
    return text if _NUMBER.fullmatch(text) else _quoted_text(text)


def _quoted_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _quoted(url: str) -> str:
    return '"' + url.replace('"', "%22") + '"'
