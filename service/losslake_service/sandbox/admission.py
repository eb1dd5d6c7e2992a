"""Which statements are run: those that DuckDB's own parser proves to be one query of the release's tables.

All that a statement uses must be on a list: kinds of syntax, tables, functions. What a new DuckDB adds is refused until
somebody has looked at it.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

import duckdb

from losslake_service.sandbox import errors
from losslake_service.sandbox.errors import SqlProblem

Tables = frozenset[tuple[str, str]]
"""Schema and name, in lower case, of what may be read."""

_KINDS = "one SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW"
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+", re.IGNORECASE)
_DEEPEST_SYNTAX = 5_000
_MOST_NEAR_MATCHES, _LEAST_LIKENESS = 3, 0.75
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_SOURCES = {"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT", "SHOW_REF"}
_MODIFIERS = {"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER"}
_ORDERS = {"ORDER_DEFAULT", "ASCENDING", "DESCENDING"}
_EXPRESSIONS = {
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "LAMBDA",
    "LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW",
}  # fmt: skip
_SHOWN = {"tables", "schemas", "__show_tables_expanded"}
_TABLE_FUNCTIONS = {"generate_series", "json_each", "json_tree", "range", "result_at", "steps_to", "unnest"}
_INFORMATION = {("information_schema", name) for name in ("columns", "schemata", "tables")}
_TABLES_OF_THE_RELEASE = """
SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT lower(schema_name), lower(view_name) FROM duckdb_views() WHERE NOT internal
"""


@functools.cache
def allowed_functions() -> frozenset[str]:
    """The names of `functions.txt`: they compute from their arguments alone."""
    lines = resources.files("losslake_service.sandbox").joinpath("functions.txt").read_text("utf-8").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def tables_of(connection: duckdb.DuckDBPyConnection) -> Tables:
    """What statements on this release may read."""
    return frozenset(_INFORMATION | set(connection.execute(_TABLES_OF_THE_RELEASE).fetchall()))


def admit(connection: duckdb.DuckDBPyConnection, text: str, tables: Tables) -> duckdb.Statement:
    """The one statement of a text, proven harmless; raises SqlProblem, and DuckDB's errors for bad syntax."""
    statement = _single(connection, text)
    query = text
    if statement.type == duckdb.StatementType.EXPLAIN:
        start = _EXPLAIN.match(text)
        query = text[start.end() :] if start else ""
        if not start or _kind_of(connection, query) != duckdb.StatementType.SELECT:
            raise _refused("only EXPLAIN of a SELECT is explained, without ANALYZE or other options")
    elif statement.type == duckdb.StatementType.MULTI:
        raise _refused("a PIVOT has to name its values here: PIVOT … ON column IN (…) USING …")
    elif statement.type != duckdb.StatementType.SELECT:
        raise _refused(f"{_KINDS} is run here, and this is {statement.type.name}")
    _check(_syntax(connection, query), tables)
    return statement


def _single(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise _refused(f"{_KINDS} is run at a time: there are {len(statements)} statements")
    return statements[0]


def _kind_of(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.StatementType | None:
    try:
        return _single(connection, text).type
    except duckdb.Error:
        return None


def _syntax(connection: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    options = "skip_null := true, skip_empty := true, skip_default := true"
    ((serialized,),) = connection.execute(f"SELECT json_serialize_sql($1, {options})", [query]).fetchall()
    sys.setrecursionlimit(_DEEPEST_SYNTAX)
    try:
        syntax = json.loads(serialized)
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    statements = syntax.get("statements", [])
    if syntax.get("error", True) or len(statements) != 1:
        raise _refused(f"{_KINDS} is run here")
    return list(statements)


def _check(syntax: list[Any], tables: Tables) -> None:
    found = list(_objects(syntax))
    named = {str(entry["key"]).lower() for node in found if "map" in node for entry in node["map"] if "key" in entry}
    called_as_tables = [node["function"] for node in found if node.get("type") == "TABLE_FUNCTION"]
    for function in called_as_tables:
        _check_function(function, _TABLE_FUNCTIONS, "the table function")
    for node in found:
        _check_kind(node)
        if node.get("type") == "BASE_TABLE":
            _check_table(_path(node), tables, named)
        elif node.get("type") == "SHOW_REF":
            _check_shown(node, tables)
        elif "function_name" in node and not any(node is function for function in called_as_tables):
            _check_function(node, allowed_functions(), "the function")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in some JSON."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


def _check_kind(node: dict[str, Any]) -> None:
    if "class" in node:
        is_known, what = node["class"] in _EXPRESSIONS, node["class"]
    else:
        what = node.get("type", "EMPTY")
        # A value has a type of another sort, an object.
        is_known = isinstance(what, dict) or what in _NODES | _SOURCES | _MODIFIERS | _ORDERS
    if not is_known:
        raise _refused(f"{str(what).lower().replace('_', ' ')} is not run here")


def _check_function(function: dict[str, Any], allowed: Iterable[str], what: str) -> None:
    names = {str(function["function_name"]).lower(), str(_path(function)[-1]).lower()}
    for name in names - set(allowed):
        raise _refused(f"{what} {name}() is unknown or not run here{_near(name, allowed)}")


def _check_table(path: list[str], tables: Tables, named: set[str]) -> None:
    lowered = [part.lower() for part in path]
    schema, name = (lowered[-2] if len(lowered) > 1 else "main"), lowered[-1]
    if (schema, name) in tables or (len(path) == 1 and name in named and re.fullmatch(r"\w+", name)):
        return
    if not re.fullmatch(r"\w+", name):
        raise _refused(f"'{path[-1]}' is no table of the release, and no file is read")
    known = [table for in_schema, table in tables if in_schema == schema]
    detail = f"there is no table '{'.'.join(path)}'{_near(name, known)}; SHOW TABLES lists them all"
    raise SqlProblem(errors.ERROR, detail)


def _check_shown(node: dict[str, Any], tables: Tables) -> None:
    kind, path = node.get("show_type"), _path(node)
    name = path[-1].strip('"').lower() if path else ""
    if kind == "SHOW_SPECIAL" and name not in _SHOWN:
        raise _refused("of SHOW, there are SHOW TABLES, SHOW ALL TABLES, SHOW SCHEMAS and SHOW with a table's name")
    if kind == "SHOW":
        _check_table([part.strip('"') for part in path], tables, set())


def _path(node: dict[str, Any]) -> list[str]:
    """The parts of a name; those that are left empty are dropped."""
    parts = node.get("qualified_name", {}).get("path", [])
    if "table_name" in node and node["table_name"] not in parts:
        raise _refused("a name is not understood")
    return [str(part) for part in parts if part]


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), _MOST_NEAR_MATCHES, _LEAST_LIKENESS)
    return f": did you mean {' or '.join(near)}?" if near else ""


def _refused(why: str) -> SqlProblem:
    return SqlProblem(errors.NOT_ALLOWED, why)
