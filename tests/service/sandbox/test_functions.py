"""The functions of `functions.txt`: each works within the confinement of a worker."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import duckdb
import pytest

from losslake_service.sandbox.admission import allowed_functions
from losslake_service.sandbox.errors import SqlProblem
from tests.service.sandbox.sandbox_client import SandboxClient


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True], ids=["functions", "overloads"])
def test_every_function_works_in_confined_workers(query: SandboxClient, every: bool) -> None:
    """With made-up arguments with which it works in a process that isn't confined; in batches."""
    calls: dict[tuple[str, ...], str] = {}
    with duckdb.connect(config={"threads": 1}) as connection:
        overloads = [*connection.execute(_OVERLOADS).fetchall(), *((name, []) for name in _BY_HAND)]
        for name, types in overloads:
            key = (name, *types) if every else (name,)
            if name in allowed_functions() and key not in calls:
                works = next((text for text in _candidate_calls(name, types) if _has_a_value(connection, text)), None)
                calls |= {key: works} if works else {}
    written = list(calls.values())
    for start in range(0, len(written), 25):
        batch = written[start : start + 25]
        if isinstance(
            query.outcome("SELECT " + ", ".join(f"{text} AS c{n}" for n, text in enumerate(batch))), SqlProblem
        ):
            for text in batch:
                assert not isinstance(query.outcome(f"SELECT {text} AS c"), SqlProblem), text
    names = {name for name, *_ in calls}
    untried = allowed_functions() - names
    print(f"{len(calls)} calls of {len(names)} functions; without arguments that fit: {' '.join(sorted(untried))}")
    assert untried == {"error"}


_OVERLOADS = """
SELECT DISTINCT lower(function_name), parameter_types
FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') ORDER BY ALL
"""
_BY_HAND = {
    "!__postfix": "3!",
    "__between": "2 BETWEEN 1 AND 3",
    "coalesce": "coalesce(NULL, 1)",
    "nth_value": "nth_value(1, 1) OVER ()",
    "rank_dense": "rank_dense() OVER ()",
    "unnest": "SELECT unnest([1])",
    "array_slice": "array_slice([1, 2], 1, 2)",
    "generate_subscripts": "generate_subscripts([1], 1)",
    "list_slice": "list_slice([1, 2], 1, 2)",
    "lttb": "lttb(1, 2, 3)",
    "map_concat": "map_concat(MAP {1: 2}, MAP {3: 4})",
    "map_contains_entry": "map_contains_entry(MAP {1: 2}, 1, 2)",
    "map_contains_value": "map_contains_value(MAP {1: 2}, 2)",
    "map_from_entries": "map_from_entries([{'k': 1, 'v': 2}])",
    "position": "position('a' IN 'ba')",
    "split_part": "split_part('a b', ' ', 1)",
    "struct_insert": "struct_insert({'a': 1}, b := 2)",
    "struct_update": "struct_update({'a': 1}, a := 2)",
    "to_base": "to_base(10, 2)",
    "union_extract": "union_extract(union_value(a := 1), 'a')",
    "union_tag": "union_tag(union_value(a := 1))",
    "union_value": "union_value(a := 1)",
}
_BY_HAND |= {name: f"{name}([1], 2)" for name in ("array_append", "array_push_back", "list_append")}
_BY_HAND |= {name: f"{name}(1, [2])" for name in ("array_prepend", "list_prepend")}
_BY_HAND |= {name: f"{name}() OVER ()" for name in ("cume_dist", "dense_rank", "percent_rank", "rank", "row_number")}
_BY_HAND |= {
    name: f"{name}(1) OVER (ORDER BY 1)" for name in ("fill", "first_value", "lag", "last_value", "lead", "ntile")
}
_BY_HAND |= {name: f"SELECT {name}(a) FROM range(2) AS t(a) GROUP BY a LIMIT 1" for name in ("grouping", "grouping_id")}
_BY_HAND |= {"array_push_front": "array_push_front([2], 1)"}
_BY_HAND |= {name: f"{name}([true])" for name in ("list_bool_and", "list_bool_or")}
_BY_HAND |= {
    name: f"{name}(row(1, 2), 1)" for name in ("struct_contains", "struct_has", "struct_indexof", "struct_position")
}
_BY_HAND |= {
    name: f'{name}(\'{{"a": 1}}\', \'{{"a": "INTEGER"}}\')'
    for name in ("from_json", "from_json_strict", "json_transform", "json_transform_strict")
}
_LITERALS = {
    "BLOB": "'ab'::BLOB",
    "BIT": "'101'::BIT",
    "BOOLEAN": "true",
    "DATE": "DATE '2020-01-02'",
    "TIME": "TIME '01:02:03'",
    "TIMESTAMP": "TIMESTAMP '2020-01-02 03:04:05'",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2020-01-02 03:04:05'",
    "INTERVAL": "INTERVAL 1 DAY",
    "JSON": "'{\"a\": 1}'::JSON",
    "UUID": "'01941f29-7c00-7000-8000-000000000001'::UUID",
    "MAP": "MAP {1: 2}",
    "STRUCT": "{'a': 1}",
}
_ANY = (
    "1", "[1, 2]", "[[1]]", "'a'", "'a'::ENUM('a')", "{'a': 1}", "MAP {1: 2}", "INTERVAL 1 DAY", "'[1]'",
    "DATE '2020-01-02'",
)  # fmt: skip
_TEXTS = ("'a'", "'1'", "'day'", "'{\"a\": 1}'", "'sum'", "'AAAA'", "'1GB'", "''")
_LAMBDAS = ("lambda x: x", "lambda x, y: x + y", "lambda x: x > 1")


def _candidate_calls(name: str, types: list[str | None]) -> Iterator[str]:
    """Yield calls of a function, with more and more unlikely arguments."""
    if name in _BY_HAND:
        yield f"({_BY_HAND[name]})::VARCHAR"
        return
    kinds = [kind or "ANY" for kind in types] or ["ANY"]
    mentioned = " ".join(kinds)
    for whatever, text, function in itertools.product(
        _ANY if re.search(r"\b(ANY|T|K|V)\b", mentioned) else _ANY[:1],
        _TEXTS if "VARCHAR" in mentioned else _TEXTS[:1],
        _LAMBDAS if "LAMBDA" in mentioned else _LAMBDAS[:1],
    ):
        arguments = [_literal(kind, whatever, text, function) for kind in kinds]
        if name.isidentifier():
            yield f"({name}({', '.join(arguments)}))::VARCHAR"
        else:
            yield f"({f' {name} '.join(arguments) if len(arguments) == 2 else f'{name} {arguments[0]}'})::VARCHAR"
    yield f"({name}())::VARCHAR"


def _literal(kind: str, whatever: str, text: str, function: str) -> str:
    if kind.endswith("]"):
        inner, _, size = kind.removesuffix("]").rpartition("[")
        count = {"": 1, "ANY": 3}.get(size) or int(size)
        element = _literal(inner, "1", text, function)
        return f"[{', '.join([element] * count)}]" + (f"::{inner}[{count}]" if size else "")
    choices = {"VARCHAR": text, "LAMBDA": function} | dict.fromkeys(("ANY", "T", "K", "V"), whatever)
    kind = kind.partition("(")[0]
    return choices.get(kind) or _LITERALS.get(kind) or f"1::{kind}"


def _has_a_value(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        connection.execute(f"SELECT {text}").fetchall()
    except duckdb.Error:
        return False
    return True
