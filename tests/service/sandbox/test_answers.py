"""What a statement that is allowed gets back."""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from losslake.index.serving import open_release, serving_file
from losslake.lake.lake import Lake
from losslake_service.sandbox import errors
from losslake_service.sandbox.admission import Tables, admit
from losslake_service.sandbox.errors import SqlLimits
from losslake_service.sandbox.statement import OpenRelease
from losslake_service.sandbox.stored_data import LocalFiles
from losslake_service.sandbox.workers import data_files_of
from tests.service.sandbox.sandbox_client import SandboxClient, now, on_linux, table_of

ORDINARY = [
    "SELECT count(*) AS n FROM measurements WHERE batch_size = 8",
    "FROM trials ORDER BY ALL LIMIT 3",
    "TABLE goals",
    "VALUES (1, 'a'), (2, NULL)",
    "DESCRIBE trials",
    "DESCRIBE SELECT 1 AS a",
    "SHOW trials",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "SHOW TABLES FROM base",
    "EXPLAIN SELECT * FROM goals",
    "SELECT name FROM (DESCRIBE trials) AS d(name) ORDER BY name",
    "SELECT table_name FROM information_schema.tables ORDER BY ALL",
    "SELECT * FROM steps_to('val/classification_error', 0.3) ORDER BY ALL",
    "SELECT * FROM result_at('val/classification_error', 0.3) WHERE dataset = 'mnist' ORDER BY ALL",
    "WITH a AS MATERIALIZED (FROM trials), b AS (FROM a) SELECT * EXCLUDE (steps) FROM b ORDER BY ALL",
    "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t WHERE x < 5) FROM t ORDER BY x",
    "SELECT status, count(*) FILTER (steps > 3), rank() OVER (ORDER BY count(*)) FROM trials GROUP BY ALL ORDER BY 1",
    "SELECT metric, quantile_cont(step, 0.5), list(DISTINCT step ORDER BY step) FROM records GROUP BY ALL ORDER BY 1",
    "SELECT [x + 1 for x in [1, 2] if x > 1], {'a': 1}.a, [1, 2, 3][1:2], 'a' ILIKE 'A', 1 IN (2), NOT true",
    "SELECT extract(year FROM DATE '2020-01-01'), try_cast('a' AS INTEGER), CASE WHEN true THEN 1 END",
    "SELECT 'a' SIMILAR TO 'b', 'abc' GLOB 'a*', 1 BETWEEN 0 AND 2, 7 // 2, 2 ** 3, NULL IS NULL",
    "PIVOT trials ON status IN ('COMPLETE', 'INFEASIBLE') USING count(*) GROUP BY batch_size ORDER BY ALL",
    "UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b",
    "SELECT t.trial_id, u.x FROM trials AS t, LATERAL (SELECT t.batch_size + 1 AS x) AS u ORDER BY ALL",
    "SELECT (SELECT max(step) FROM records), EXISTS (FROM goals), 1 = ANY (SELECT 1)",
    "SELECT COLUMNS('^s') FROM trials ORDER BY ALL",
    "SELECT count(*) FROM trials JOIN studies USING (collection, dataset, model, optimizer, batch_size)",
    "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3 ORDER BY ALL",
    "SELECT unnest([1, 2]), unnest(range(2)) FROM range(2) ORDER BY ALL",
    "SELECT key FROM json_each('{\"a\": 1}')",
]


@pytest.fixture(scope="module")
def oracle(lake: Lake) -> duckdb.DuckDBPyConnection:
    return open_release(lake, lake.release())


@pytest.mark.parametrize("statement", ORDINARY)
def test_statements_have_the_same_result_as_duckdb(
    query: SandboxClient, oracle: duckdb.DuckDBPyConnection, statement: str
) -> None:
    columns = [tuple(row.values()) for row in query(statement)]
    expected = oracle.sql(statement).to_arrow_table().to_pylist()
    # NaN differs from itself.
    assert repr(columns) == repr([tuple(row.values()) for row in expected])


def test_numbers_are_exact_and_nonfinite_numbers_are_preserved(query: SandboxClient) -> None:
    values = [0.1, 5e-324, 1.7976931348623157e308, 1 / 3, -0.0, 2**63 - 1]
    given = {f"p{index}": value for index, value in enumerate(values)}
    (row,) = query("SELECT " + ", ".join(f"${name} AS {name}" for name in given), given)
    assert [repr(value) for value in row.values()] == [repr(value) for value in values]
    (row,) = query("SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b")
    assert math.isnan(row["a"])
    assert row["b"] == math.inf


def test_parameters_bind_by_position_or_by_name(query: SandboxClient) -> None:
    assert query("SELECT ? + ? AS a", [1, 2]) == [{"a": 3}]
    assert query("SELECT $2 || $1 AS a", ["x", "y"]) == [{"a": "yx"}]
    values = {"a": None, "b": True, "c": 1.5, "d": "x'; --", "e": [1, 2]}
    assert query("SELECT $a AS a, $b AS b, $c AS c, $d AS d, $e AS e", values) == [values]
    assert query("SELECT count(*) AS n FROM trials WHERE list_contains($chosen, batch_size)", {"chosen": [1, 8]}) == [
        {"n": 24}
    ]


@pytest.mark.parametrize(
    ("statement", "parameters", "told"),
    [
        ("SELECT ? AS a", [1, 2], "$2 not in the statement"),
        ("SELECT ? + ? AS a", [1], "$2 missing"),
        ("SELECT $a", {"b": 1}, "$a missing and $b not in the statement"),
        ("SELECT $a", None, "$a missing"),
        ("SELECT 1", {"b": 1}, "$b not in the statement"),
        ("SELECT $a", {"a": 2**200}, "too large"),
        ("SELECT $a", {"a": "\ud800"}, "send UTF-8"),
    ],
)
def test_mismatched_parameters_are_named(query: SandboxClient, statement: str, parameters: object, told: str) -> None:
    problem = query.fails(statement, parameters)  # type: ignore[arg-type]
    assert problem.kind == errors.ERROR
    assert told in problem.detail


def test_error_has_line_and_column(query: SandboxClient) -> None:
    problem = query.fails("SELECT trial_id,\n  bach_size\nFROM trials")
    assert (problem.kind, problem.line, problem.column) == (errors.ERROR, 2, 3)
    assert problem.detail.startswith('line 2, column 3: Referenced column "bach_size" not found')
    assert "\n" not in problem.detail
    problem = query.fails("SELECT 'é' || cast('x' AS INTEGER)")
    assert (problem.line, problem.column) == (1, 15)


def test_errors_hide_the_paths_of_this_machine(query: SandboxClient, unchecked: SandboxClient) -> None:
    assert isinstance(query.data_files, LocalFiles)
    for folder in (query.file.parent, query.data_files.folder, sys.prefix):
        problem = query.fails(f"SELECT cast('{folder}/a.parquet' AS INTEGER)")
        assert problem.detail == "line 1, column 8: Could not convert string '…/a.parquet' to INT32"
    # Even if a statement that knows the path were admitted.
    assert unchecked.fails("SELECT error(path) FROM duckdb_databases()").detail == f"…/{query.file.name}"


def test_an_unknown_table_has_near_matches(query: SandboxClient) -> None:
    problem = query.fails("FROM trails")
    assert problem.kind == errors.ERROR
    assert "did you mean trials" in problem.detail


def test_long_result_is_truncated_at_the_row_limit(query: SandboxClient) -> None:
    async def cut(statement: str) -> tuple[str | None, int, int]:
        with await query.sandbox.run(query.file, query.data_files, statement) as result:
            return result.truncated, table_of(result).num_rows, result.size

    assert now(cut("FROM range(10_000)"))[:2] == (None, 10_000)
    assert now(cut("FROM range(10_001)"))[:2] == ("rows", 10_000)
    why, rows, size = now(cut("SELECT range, repeat('x', 5000) AS a FROM range(5_000)"))
    assert why == "bytes"
    assert 0.9 * 4_000_000 < rows * 5000 < size < 4_100_000
    assert now(cut("SELECT repeat('x', 5_000_000) AS a"))[:2] == ("bytes", 0)


def test_duplicate_column_names_get_a_number(query: SandboxClient) -> None:
    assert query("SELECT 1 AS a, 2 AS a, 3 AS a_1")[0] == {"a": 1, "a_1": 2, "a_1_1": 3}


def test_unsupported_arrow_types_are_refused_with_the_column_name(query: SandboxClient) -> None:
    for expression in ("INTERVAL 1 DAY", "union_value(x := 1)", "[INTERVAL 1 DAY]"):
        problem = query.fails(f"SELECT {expression} AS odd")
        assert problem.kind == errors.ERROR
        assert 'the column "odd"' in problem.detail
    assert query("SELECT 'b'::ENUM('a', 'b') AS a") == [{"a": "b"}]


def test_equal_results_have_equal_digests(query: SandboxClient) -> None:
    async def digest(statement: str) -> str:
        with await query.sandbox.run(query.file, query.data_files, statement) as result:
            return result.digest

    one, same, other = (now(digest(f"SELECT {value} AS a")) for value in ("1", "1 ", "2"))
    assert one == same != other


def test_null_slots_contain_no_data_of_other_statements(query: SandboxClient) -> None:
    """DuckDB leaves old memory there; so the same statement would have other bytes each time."""
    nulls = "SELECT CASE WHEN x % 3 = 0 THEN x END AS a, CASE WHEN x % 3 = 0 THEN [x] END AS b, x % 2 = 0 AS c"

    async def digests() -> set[str]:
        found = set()
        for number in range(6):
            await query.rows("SELECT repeat($word, 100) AS a FROM range(3000)", {"word": f"secret{number}"})
            statement = f"{nulls} FROM range(5000) AS t(x)"
            with await query.sandbox.run(query.file, query.data_files, statement) as result:
                found.add(result.digest)
        return found

    assert len(now(digests())) == 1


def test_the_schema_is_known_before_the_rows(query: SandboxClient) -> None:
    async def schema() -> pa.Schema:
        with await query.sandbox.run(query.file, query.data_files, "SELECT 1 AS a, 'x' AS b WHERE false") as result:
            return table_of(result).schema.remove_metadata()

    assert now(schema()) == pa.schema([("a", pa.int32()), ("b", pa.string())])


def test_a_result_is_a_file_until_it_is_closed(lake: Lake) -> None:
    client = SandboxClient(lake, SqlLimits(workers=1, open_results=1))

    async def twice() -> None:
        first = await client.sandbox.run(client.file, client.data_files, "SELECT 1 AS a")
        problem = await client.problem("SELECT 2 AS a")
        assert problem.kind == errors.BUSY
        first.close()
        first.close()
        assert await client.rows("SELECT 2 AS a") == [{"a": 2}]

    now(twice())
    client.sandbox.close()
    assert client.fails("SELECT 1").kind == errors.UNAVAILABLE


@pytest.mark.slow
def test_unreadable_release_is_unavailable(query: SandboxClient, tmp_path: Path) -> None:
    (tmp_path / "no.duckdb").write_text(json.dumps("no database"))
    for missing in ("no.duckdb", "not.there"):
        with pytest.raises(errors.SqlProblem) as raised:
            now(query.sandbox.run(tmp_path / missing, query.data_files, "SELECT 1"))
        assert raised.value.kind == errors.UNAVAILABLE
        assert str(tmp_path) not in raised.value.detail


def test_a_statement_is_admitted_once_and_its_parameters_are_bound_each_time(lake: Lake, tmp_path: Path) -> None:
    admitted = []

    def count(connection: duckdb.DuckDBPyConnection, text: str, tables: Tables) -> duckdb.Statement:
        admitted.append(text)
        return admit(connection, text, tables)

    files = data_files_of(lake, lake.release())
    assert isinstance(files, LocalFiles)
    copy = Path(shutil.copy(serving_file(lake, lake.release()), tmp_path))  # DuckDB opens a file with one configuration
    release = OpenRelease(SqlLimits(), copy, files, count)
    job = {"statement": "SELECT $1 AS x", "max_rows": 1, "format": "csv", "facts": {}}
    answers = []
    for value in (1, "b"):
        with (tmp_path / "spool").open("w+b") as spooled, (tmp_path / "file").open("w+b") as file:
            release.run({**job, "parameters": [value]}, spooled.fileno(), file.fileno())
        answers.append((tmp_path / "file").read_text().split())
    assert answers == [["x", "1"], ["x", "b"]]
    assert admitted == [job["statement"]]


@on_linux
def test_the_file_of_a_result_has_no_name_that_a_kill_could_leave(query: SandboxClient) -> None:
    result = now(query.sandbox.run(query.file, query.data_files, "SELECT 1 AS a"))
    assert str(result.path.readlink()).endswith(" (deleted)")
    assert table_of(result).to_pylist() == [{"a": 1}]
    result.close()
