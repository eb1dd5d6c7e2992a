"""The views and macros of `losslake_schema/views` in Spark's SQL: sqlglot translates, what it can't is changed here.

What DuckDB and Spark mean differently by the same words, and what a release's files are called in each, is a small
change of the syntax tree below, one function each. There is no second SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp

from losslake.index.serving import sql
from losslake_schema.tables import TABLES

BASE = "base_"
FILES = "_files"
PARAMETERS = {"metric": "STRING", "target": "DOUBLE"}


def view_in_spark(name: str) -> str:
    """The statement that makes the temporary view of `losslake_schema/views/<name>.sql`, which may be one of `base`.

    It reads the files of a table from the view `<table>_files`; tables of the schema `base` are views `base_<table>`.
    """
    query = _translated(_parsed(name), name.removeprefix(BASE))
    if name.startswith(BASE):  # how DuckDB sorts what it stores; a view has no order
        query.set("order", None)
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query.sql('spark')}"


def function_in_spark(name: str) -> str:
    """The statement that makes the temporary table function of the macro in `losslake_schema/views/<name>.sql`."""
    parameters = ", ".join(f"{parameter} {kind}" for parameter, kind in PARAMETERS.items())
    query = _translated(_macro(name, {parameter: f"{name}.{parameter}" for parameter in PARAMETERS}), name)
    return f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({parameters}) RETURNS TABLE RETURN {query.sql('spark')}"


def _parsed(name: str) -> exp.Query:
    """The query of a view or macro."""
    # Only a placeholder of ours, never SQL: `$files` is where DuckDB's statement has the list of files.
    create = sqlglot.parse_one(sql(name).replace("$files", "''"), read="duckdb")
    query = create.expression
    assert isinstance(query, exp.Query)
    return query


def _macro(name: str, arguments: Mapping[str, str]) -> exp.Query:
    query = _parsed(name)
    _name_parameters(query, arguments)
    _put_in_macros(query, arguments)
    return query


def _translated(query: exp.Query, table: str) -> exp.Query:
    for change in (
        _read_views_of_files,
        _flatten_base,
        _replace_by_except,
        _minimum_by,
        _minimum_of_each,
        _sort_list,
        _divide_by_nonzero,
    ):
        change(query, table)
    return query


def _name_parameters(query: exp.Query, arguments: Mapping[str, str]) -> None:
    """Say which names are parameters: in a macro they come before columns, in a function of Spark's after them."""
    for column in list(query.find_all(exp.Column)):
        if not column.table and column.name in arguments:
            column.replace(exp.maybe_parse(arguments[column.name], dialect="spark"))


def _put_in_macros(query: exp.Query, arguments: Mapping[str, str]) -> None:
    """Put a macro that another one calls in its place: a function of Spark's can't hand its parameters on."""
    for table in list(query.find_all(exp.Table)):
        call = table.this
        if isinstance(call, exp.Anonymous):
            table.replace(_macro(call.name.lower(), arguments).subquery(table.alias_or_name))


def _read_views_of_files(query: exp.Query, table: str) -> None:
    for read in list(query.find_all(exp.Table)):
        if isinstance(read.this, exp.ReadParquet):
            assert table in TABLES
            read.set("this", exp.to_identifier(f"{table}{FILES}"))


def _flatten_base(query: exp.Query, _: str) -> None:
    """Temporary views have no schema, so that of the small tables goes into their names."""
    for table in query.find_all(exp.Table):
        if table.db == "base":
            table.set("db", None)
            table.set("this", exp.to_identifier(f"{BASE}{table.name}"))


def _replace_by_except(query: exp.Query, _: str) -> None:
    """`* REPLACE (x AS a)` is `* EXCEPT (a), x AS a`, but for the order of the columns."""
    for star in list(query.find_all(exp.Star)):
        replaced: Sequence[exp.Expression] = star.args.get("replace") or ()
        select = star.parent
        if replaced and isinstance(select, exp.Select):
            star.set("replace", None)
            star.set("except_", [exp.to_identifier(alias.alias) for alias in replaced])
            select.select(*replaced, copy=False)


def _minimum_by(query: exp.Query, _: str) -> None:
    """DuckDB's arg_min leaves out rows in which the value is null, Spark's min_by gives that null."""
    for call in list(query.find_all(exp.ArgMin)):
        key = call.expression
        if isinstance(key, exp.Tuple):
            call.set("expression", exp.Struct(expressions=[part.copy() for part in key.expressions]))
        if isinstance(call.this, exp.Struct):
            continue  # never null itself
        known = call.this.copy().is_(exp.null()).not_()
        if isinstance(call.parent, exp.Filter):
            call.parent.expression.set("this", exp.and_(call.parent.expression.this, known))
        else:
            call.replace(exp.Filter(this=call.copy(), expression=exp.Where(this=known)))


def _minimum_of_each(query: exp.Query, _: str) -> None:
    """Take a struct apart: Spark finds the least of numbers by hashing, of structs by sorting all rows."""
    for call in list(query.find_all(exp.ArgMin)):
        fields, key = call.this, call.expression
        if isinstance(fields, exp.Struct) and not isinstance(key, (exp.Tuple, exp.Struct)):
            each = [
                exp.PropertyEQ(
                    this=field.this.copy(), expression=exp.ArgMin(this=field.expression.copy(), expression=key.copy())
                )
                for field in fields.expressions
            ]
            call.replace(exp.Struct(expressions=each))


def _sort_list(query: exp.Query, _: str) -> None:
    """`list(x ORDER BY x)`: Spark collects in no order, but can sort what it collected."""
    for call in list(query.find_all(exp.ArrayAgg)):
        if isinstance(call.this, exp.Order):
            order, collected = call.this.expressions, call.this.this
            assert [key.this for key in order] == [collected]
            assert not order[0].args.get("desc")
            call.set("this", collected)
            call.replace(exp.Anonymous(this="SORT_ARRAY", expressions=[call.copy()]))


def _divide_by_nonzero(query: exp.Query, _: str) -> None:
    """An integer divided by 0 is null in DuckDB, and an error in Spark."""
    for division in query.find_all(exp.IntDiv):
        divisor = division.expression.copy()
        division.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))
