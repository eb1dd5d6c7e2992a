"""Admission of statements: DuckDB's parser must show that a statement is a single query of the release's tables.

All syntax, tables and functions of a statement must be on an allow list. So additions of new DuckDB versions are
refused until they have been reviewed.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from losslake.index.view_texts import MACROS
from losslake_schema.package_files import read_text
from losslake_service.sandbox import errors
from losslake_service.sandbox.errors import SqlProblem

_KINDS = "one SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW"
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+", re.IGNORECASE)
_MAX_NESTING = 5_000
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_SOURCES = {"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT", "SHOW_REF"}
_MODIFIERS = {"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER"}
_ORDERS = {"ORDER_DEFAULT", "ASCENDING", "DESCENDING"}
_EXPRESSIONS = {
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "LAMBDA",
    "LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW",
}  # fmt: skip
# Names that DuckDB takes for functions wherever no column has them, and which functions.txt leaves out. Those of times
# are allowed: a test compares this list with DuckDB's keywords.
_VALUES_OF_THE_SESSION = {"current_catalog", "current_role", "current_schema", "current_user", "session_user", "user"}
_SHOWN = {"tables", "schemas", "__show_tables_expanded"}
_TABLE_FUNCTIONS = {"generate_series", "json_each", "json_tree", "range", "unnest", *MACROS}
_INFORMATION = {("information_schema", name) for name in ("columns", "schemata", "tables")}
_TABLES_OF_THE_RELEASE = """
SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT lower(schema_name), lower(view_name) FROM duckdb_views() WHERE NOT internal
"""
_VIEWS_OF_DUCKDB = "SELECT lower(view_name) FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'"


@dataclass(frozen=True)
class Tables:
    """The tables and views of an open release, in lower case.

    readable: schema and name of what statements may read. reserved: DuckDB's own views, found without a schema.
    """

    readable: frozenset[tuple[str, str]]
    reserved: frozenset[str]


@functools.cache
def allowed_functions() -> frozenset[str]:
    """Return the names in `functions.txt`: functions that depend on their arguments only."""
    lines = read_text("losslake_service.sandbox", "functions.txt").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def tables_of(connection: duckdb.DuckDBPyConnection) -> Tables:
    """Return the tables of an open release."""
    readable = _INFORMATION | set(connection.execute(_TABLES_OF_THE_RELEASE).fetchall())
    reserved = (name for (name,) in connection.execute(_VIEWS_OF_DUCKDB).fetchall())
    return Tables(frozenset(readable), frozenset(reserved))


def admit(connection: duckdb.DuckDBPyConnection, text: str, tables: Tables) -> duckdb.Statement:
    """Return the single admitted statement of a text; raise SqlProblem, and DuckDB's errors for syntax errors."""
    statement = _single(connection, text)
    query = text
    if statement.type == duckdb.StatementType.EXPLAIN:
        start = _EXPLAIN.match(text)
        query = text[start.end() :] if start else ""
        if not start or _kind_of(connection, query) != duckdb.StatementType.SELECT:
            raise _refused("EXPLAIN is allowed for a SELECT only, without ANALYZE or other options")
    elif statement.type == duckdb.StatementType.MULTI:
        raise _refused("PIVOT must list its values: PIVOT … ON column IN (…) USING …")
    elif statement.type != duckdb.StatementType.SELECT:
        raise _refused(f"{statement.type.name} is not allowed: send {_KINDS}")
    _check(_syntax(connection, query), tables)
    return statement


def _single(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise _refused(f"the text has {len(statements)} statements: send {_KINDS}")
    return statements[0]


def _kind_of(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.StatementType | None:
    try:
        return _single(connection, text).type
    except duckdb.Error:
        return None


def _syntax(connection: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    options = "skip_null := true, skip_empty := true, skip_default := true"
    ((serialized,),) = connection.execute(f"SELECT json_serialize_sql($1, {options})", [query]).fetchall()
    sys.setrecursionlimit(_MAX_NESTING)
    try:
        syntax = json.loads(serialized)
    except RecursionError:
        raise _refused("the statement is nested too deeply") from None
    statements = syntax.get("statements", [])
    if syntax.get("error", True) or len(statements) != 1:
        raise _refused(f"the statement is not allowed: send {_KINDS}")
    return list(statements)


def _check(syntax: list[Any], tables: Tables) -> None:
    nodes = list(_objects(syntax))
    ctes = {str(entry["key"]).lower() for node in nodes if "map" in node for entry in node["map"] if "key" in entry}
    # Outside its scope, the name of a CTE would find the view.
    for name in sorted(ctes & tables.reserved):
        raise _refused(f"{name} is a view of DuckDB: give the subquery another name")
    table_functions = [node["function"] for node in nodes if node.get("type") == "TABLE_FUNCTION"]
    for function in table_functions:
        _check_function(function, _TABLE_FUNCTIONS, "the table function")
    for node in nodes:
        _check_kind(node)
        if node.get("type") == "BASE_TABLE":
            _check_table(_path(node), tables, ctes)
        elif node.get("type") == "SHOW_REF":
            _check_shown(node, tables)
        elif node.get("class") == "COLUMN_REF":
            _check_column(node)
        elif "function_name" in node and not any(node is function for function in table_functions):
            _check_function(node, allowed_functions(), "the function")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value."""
    remaining = [value]
    while remaining:
        value = remaining.pop()
        if isinstance(value, dict):
            yield value
            remaining.extend(value.values())
        elif isinstance(value, list):
            remaining.extend(value)


def _check_kind(node: dict[str, Any]) -> None:
    if "class" in node:
        is_known, what = node["class"] in _EXPRESSIONS, node["class"]
    else:
        what = node.get("type", "EMPTY")
        # The type of a constant is an object.
        is_known = isinstance(what, dict) or what in _NODES | _SOURCES | _MODIFIERS | _ORDERS
    if not is_known:
        raise _refused(f"{str(what).lower().replace('_', ' ')} is not allowed")


def _check_function(function: dict[str, Any], allowed: Iterable[str], what: str) -> None:
    names = {str(part).lower() for part in (function.get("function_name", ""), *_path(function)[-1:])}
    for name in names - set(allowed):
        raise _refused(f"{what} {name}() is unknown or not allowed{_suggestions(name, allowed)}")


def _check_column(column: dict[str, Any]) -> None:
    names = column.get("column_names", [])
    if len(names) == 1 and str(names[0]).lower() in _VALUES_OF_THE_SESSION:
        raise _refused(f"{names[0]} is a value of DuckDB: to read a column of that name, put its table before it")


def _check_table(path: list[str], tables: Tables, ctes: set[str]) -> None:
    if not path:
        raise _refused("the name of a table is empty: SHOW TABLES lists all tables")
    lowered = [part.lower() for part in path]
    schema, name = (lowered[-2] if len(lowered) > 1 else "main"), lowered[-1]
    if (schema, name) in tables.readable or (len(path) == 1 and name in ctes and re.fullmatch(r"\w+", name)):
        return
    if not re.fullmatch(r"\w+", name):
        raise _refused(f"'{path[-1]}' is not a table of the release, and files can't be read")
    others = [table for in_schema, table in tables.readable if in_schema == schema]
    detail = f"there is no table '{'.'.join(path)}'{_suggestions(name, others)}; SHOW TABLES lists them all"
    raise SqlProblem(errors.ERROR, detail)


def _check_shown(node: dict[str, Any], tables: Tables) -> None:
    kind, path = node.get("show_type"), _path(node)
    name = path[-1].strip('"').lower() if path else ""
    if kind == "SHOW_SPECIAL" and name not in _SHOWN:
        raise _refused("SHOW is allowed as SHOW TABLES, SHOW ALL TABLES, SHOW SCHEMAS and SHOW with a table's name")
    if kind == "SHOW":
        _check_table([part.strip('"') for part in path], tables, set())


def _path(node: dict[str, Any]) -> list[str]:
    """Return the parts of a qualified name, without empty ones."""
    parts = node.get("qualified_name", {}).get("path", [])
    if "table_name" in node and node["table_name"] not in parts:
        raise _refused("a table name can't be parsed")
    return [str(part) for part in parts if part]


def _suggestions(name: str, names: Iterable[str]) -> str:
    similar = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.75)
    return f": did you mean {' or '.join(similar)}?" if similar else ""


def _refused(why: str) -> SqlProblem:
    return SqlProblem(errors.NOT_ALLOWED, why)
