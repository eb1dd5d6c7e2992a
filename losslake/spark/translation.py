"""Translation of the views and macros of `losslake_schema/views` to Spark's SQL, by sqlglot and further changes.

Each function below that takes a query and a table changes the syntax tree where DuckDB and Spark differ in meaning, or
in the names of a release's files. So each view is written only once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp

from losslake.index.view_texts import overridden, sql
from losslake_schema.tables import ALL_TABLES

# The examples in the first steps of a trial, from the text of its pieces; null beyond 64 bits.
_EXAMPLES = """TRY_CAST(AGGREGATE(
    SEQUENCE(1, SIZE(FROM_JSON({text}, 'array<array<bigint>>'))),
    CAST(0 AS DECIMAL(38, 0)),
    (total, place) -> CAST(total + CAST(GREATEST(0, LEAST({steps}, COALESCE(
        TRY_ELEMENT_AT(FROM_JSON({text}, 'array<array<bigint>>'), place + 1)[0], {steps}
    )) - ELEMENT_AT(FROM_JSON({text}, 'array<array<bigint>>'), place)[0]) AS DECIMAL(19, 0))
        * CAST(ELEMENT_AT(FROM_JSON({text}, 'array<array<bigint>>'), place)[1] AS DECIMAL(19, 0)) AS DECIMAL(38, 0))
) AS BIGINT)"""
BASE = "base_"
FILES = "_files"


def view_in_spark(name: str) -> str:
    """Return the statement that creates the temporary view of `losslake_schema/views/<name>.sql`.

    It reads the files of a table from the view `<table>_files`; tables of the schema `base` are views `base_<table>`.
    """
    query = _translate(_parse(name), name.removeprefix(BASE))
    if name.startswith(BASE):  # it orders the stored table in DuckDB; a view has no order
        query.set("order", None)
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query.sql('spark')}"


def function_in_spark(name: str) -> str:
    """Return the statement that creates the temporary table function of a macro in `losslake_schema/views`."""
    parameters = _parameters(name)
    declared = ", ".join(
        f"{parameter} {'DOUBLE' if parameter == 'target' else 'STRING'}{default and f' DEFAULT {default}'}"
        for parameter, default in parameters.items()
    )
    query = _translate(_macro(name, {parameter: f"{name}.{parameter}" for parameter in parameters}), name)
    return f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({declared}) RETURNS TABLE RETURN {query.sql('spark')}"


def _parse(name: str) -> exp.Query:
    """Parse the query of a view or macro."""
    # `$files` is the placeholder for the list of files. sqlglot doesn't parse the defaults of a macro's parameters.
    text = overridden("remote", name).replace("$files", "''")
    _, _, macro = text.partition(" AS TABLE\n")
    parsed = sqlglot.parse_one(macro or text, read="duckdb")
    query = parsed if macro else parsed.expression
    assert isinstance(query, exp.Query)
    return query


def _parameters(name: str) -> dict[str, str]:
    """Return the defaults of the parameters of a macro; empty for none."""
    (signature,) = re.findall(r"^CREATE MACRO \w+\((.*)\) AS TABLE$", sql(name), re.MULTILINE)
    return {name: default for name, _, default in (each.partition(" := ") for each in signature.split(", "))}


def _macro(name: str, qualified: Mapping[str, str]) -> exp.Query:
    query, arguments = _parse(name), {**_parameters(name), **qualified}
    _qualify_parameters(query, arguments)
    _inline_macros(query, arguments)
    return query


def _translate(query: exp.Query, table: str) -> exp.Query:
    for change in (
        _read_views_of_files, _flatten_base, _replace_by_except, _sum_over_pieces,
        _first_in_order, _minimum_by, _minimum_of_each, _sort_list, _divide_by_nonzero, _raise_errors,
    ):  # fmt: skip
        change(query, table)
    return query


def _qualify_parameters(query: exp.Query, arguments: Mapping[str, str]) -> None:
    """Qualify parameters: they take precedence over columns in a macro, and not in a function of Spark."""
    for column in list(query.find_all(exp.Column)):
        if not column.table and column.name in arguments:
            column.replace(exp.maybe_parse(arguments[column.name], dialect="spark"))


def _inline_macros(query: exp.Query, arguments: Mapping[str, str]) -> None:
    """Inline the macros that a macro calls: a function of Spark can't pass on its parameters."""
    for table in list(query.find_all(exp.Table)):
        call = table.this
        if isinstance(call, exp.Anonymous):
            table.replace(_macro(call.name.lower(), arguments).subquery(table.alias_or_name))


def _read_views_of_files(query: exp.Query, table: str) -> None:
    """Read the view of a table's files instead of calling read_parquet."""
    for read in list(query.find_all(exp.Table)):
        if isinstance(read.this, exp.ReadParquet):
            assert table in ALL_TABLES
            read.set("this", exp.to_identifier(f"{table}{FILES}"))


def _flatten_base(query: exp.Query, _: str) -> None:
    """Replace the schema `base` by a prefix: temporary views have no schema."""
    for table in query.find_all(exp.Table):
        if table.db == "base":
            table.set("db", None)
            table.set("this", exp.to_identifier(f"{BASE}{table.name}"))


def _replace_by_except(query: exp.Query, _: str) -> None:
    """Replace `* REPLACE (x AS a)` by `* EXCEPT (a), x AS a`, which differs in the order of columns only."""
    for star in list(query.find_all(exp.Star)):
        replaced: Sequence[exp.Expression] = star.args.get("replace") or ()
        select = star.parent
        if replaced and isinstance(select, exp.Select):
            star.set("replace", None)
            star.set("except_", [exp.to_identifier(alias.alias) for alias in replaced])
            select.select(*replaced, copy=False)


def _sum_over_pieces(query: exp.Query, _: str) -> None:
    """Replace the sum over the pieces of a schedule in `examples.sql`: Spark casts no text to a list of lists."""
    for total in list(query.find_all(exp.TryCast)):
        casts = [cast for cast in total.find_all(exp.Cast) if cast.to.is_type(exp.DataType.Type.ARRAY)]
        if casts:
            least = total.find(exp.Least)
            assert least is not None
            text, steps = casts[0].this.sql("spark"), least.this.sql("spark")
            total.replace(exp.maybe_parse(_EXAMPLES.format(text=text, steps=steps), dialect="spark"))


def _first_in_order(query: exp.Query, _: str) -> None:
    """Replace `first(x ORDER BY a, b)` by arg_min: Spark's first takes no order, and its min_by keeps the sign of 0."""
    for call in list(query.find_all(exp.First)):
        order = call.this
        assert isinstance(order, exp.Order)
        assert not any(key.args.get("desc") for key in order.expressions)
        keys = exp.Tuple(expressions=[key.this for key in order.expressions])
        call.replace(exp.ArgMin(this=order.this, expression=keys))


def _minimum_by(query: exp.Query, _: str) -> None:
    """Exclude rows in which the value is null, as DuckDB's arg_min does; Spark's min_by returns that null."""
    for call in list(query.find_all(exp.ArgMin)):
        key = call.expression
        if isinstance(key, exp.Tuple):
            call.set("expression", exp.Struct(expressions=[part.copy() for part in key.expressions]))
        if isinstance(call.this, exp.Struct):
            continue  # never null itself
        is_not_null = call.this.copy().is_(exp.null()).not_()
        if isinstance(call.parent, exp.Filter):
            call.parent.expression.set("this", exp.and_(call.parent.expression.this, is_not_null))
        else:
            call.replace(exp.Filter(this=call.copy(), expression=exp.Where(this=is_not_null)))


def _minimum_of_each(query: exp.Query, _: str) -> None:
    """Split arg_min of a struct by field: Spark aggregates numbers by hashing, structs by sorting all rows."""
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


def _raise_errors(query: exp.Query, _: str) -> None:
    """Rename the function that fails with a message."""
    for call in query.find_all(exp.Anonymous):
        if call.name.lower() == "error":
            call.set("this", "RAISE_ERROR")


def _sort_list(query: exp.Query, _: str) -> None:
    """Sort the result of `list(x ORDER BY x)`: Spark collects in no order."""
    for call in list(query.find_all(exp.ArrayAgg)):
        if isinstance(call.this, exp.Order):
            order, collected = call.this.expressions, call.this.this
            assert [key.this for key in order] == [collected]
            assert not order[0].args.get("desc")
            call.set("this", collected)
            call.replace(exp.Anonymous(this="SORT_ARRAY", expressions=[call.copy()]))


def _divide_by_nonzero(query: exp.Query, _: str) -> None:
    """Return null for integers divided by 0, as DuckDB does; Spark raises an error."""
    for division in query.find_all(exp.IntDiv):
        division.set("expression", exp.Nullif(this=division.expression.copy(), expression=exp.Literal.number(0)))
