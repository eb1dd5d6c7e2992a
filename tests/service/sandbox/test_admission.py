"""Only one query of the release's tables is run; the rest is refused before it begins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_service.sandbox import errors
from losslake_service.sandbox.admission import admit, allowed_functions, tables_of
from losslake_service.sandbox.errors import SqlProblem
from tests.service.sandbox.sandbox_client import SandboxClient

REFUSED = [
    # Other statements.
    "COPY (SELECT 1) TO '/tmp/x'",
    "COPY base.goals FROM '/etc/passwd'",
    "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'",
    "ATTACH ':memory:' AS m",
    "DETACH main",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 1",
    "SET VARIABLE x = 1",
    "RESET threads",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "USE base",
    "BEGIN",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "CREATE SECRET s (TYPE http)",
    "DROP VIEW trials",
    "INSERT INTO base.goals SELECT * FROM base.goals",
    "UPDATE base.trials SET trial_id = 1",
    "DELETE FROM base.trials",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "PIVOT trials ON status",
    "WITH x AS (INSERT INTO base.goals SELECT * FROM base.goals RETURNING *) FROM x",
    # Not one statement.
    "",
    "-- nothing",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '/tmp/x'",
    # Around an EXPLAIN.
    "EXPLAIN COPY (SELECT 1) TO '/tmp/x'",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (ANALYZE) SELECT 1",
    "EXPLAIN (FORMAT json) SELECT 1",
    "EXPLAIN /* x */ ANALYZE SELECT 1",
    "EXPLAIN PRAGMA version",
    "EXPLAIN DELETE FROM base.trials",
    "EXPLAIN FROM read_text('/etc/passwd')",
    # Files.
    "FROM '/etc/passwd'",
    "FROM 'x.parquet'",
    'FROM "x.csv"',
    "FROM 'http://localhost/x.csv'",
    "DESCRIBE 'x.parquet'",
    "DESCRIBE FROM 'x.parquet'",
    "SUMMARIZE 'x.parquet'",
    "FROM read_text('/etc/passwd')",
    "FROM read_blob('/etc/passwd')",
    "FROM read_csv('/etc/passwd')",
    "FROM main.read_csv('/etc/passwd')",
    "FROM READ_JSON('/etc/passwd')",
    "FROM read_parquet('x.parquet')",
    "FROM parquet_metadata('x.parquet')",
    "FROM sniff_csv('/etc/passwd')",
    "FROM glob('/*')",
    "FROM histogram('/etc/passwd', x)",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT 1 WHERE EXISTS (FROM read_text('/etc/passwd'))",
    "SELECT * FROM range((SELECT count(*) FROM glob('/*')))",
    "SELECT [x FOR x IN (SELECT list(content) FROM read_text('/etc/passwd'))]",
    "SELECT 1 ORDER BY (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT 1 LIMIT (SELECT size FROM read_text('/etc/passwd'))",
    "SELECT sum(x) OVER (ORDER BY (SELECT size FROM read_text('/etc/passwd'))) FROM range(3) AS t(x)",
    "PIVOT (FROM read_text('/etc/passwd')) ON size IN (1) USING count(*)",
    "SELECT 1 UNION SELECT content FROM read_text('/etc/passwd')",
    'WITH t AS (FROM "x.parquet"), "x.parquet" AS (SELECT 1) FROM t',
    "FROM trials JOIN read_text('/etc/passwd') ON true",
    # Names of nothing.
    "FROM ''",
    "FROM '' AS a",
    "DESCRIBE ''",
    "SUMMARIZE ''",
    "EXPLAIN FROM ''",
    "FROM trials JOIN '' ON true",
    "SELECT (FROM '')",
    "WITH a AS (FROM '') FROM a",
    "PIVOT '' ON a IN (1) USING count(*)",
    # SQL from strings, and pointers.
    "FROM query('SELECT 1')",
    "FROM query_table('trials')",
    "FROM json_execute_serialized_sql('{}')",
    "SELECT json_serialize_plan('SELECT 1')",
    "FROM arrow_scan(1, 2, 3)",
    "FROM pandas_scan(1)",
    "FROM seq_scan('base.trials')",
    # What this machine is, and state.
    "FROM duckdb_settings()",
    "FROM duckdb_secrets()",
    "FROM duckdb_views()",
    "FROM duckdb_extensions()",
    "FROM pragma_database_size()",
    "SHOW DATABASES",
    "SHOW VARIABLES",
    "SELECT getenv('HOME')",
    "SELECT current_setting('secret_directory')",
    "SELECT system.main.current_setting('secret_directory')",
    "SELECT getvariable('x')",
    "SELECT setseed(0.5)",
    "SELECT nextval('s')",
    "SELECT write_log('x')",
    "SELECT sleep_ms(1000)",
    "SELECT pg_sleep(1)",
    "SELECT pg_get_viewdef(1)",
    "SELECT 'x'.getenv()",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_anything_but_a_query_of_the_release_is_refused(query: SandboxClient, statement: str) -> None:
    problem = query.fails(statement)
    assert problem.kind == errors.NOT_ALLOWED, problem.detail


@pytest.mark.parametrize("name", ["duckdb_views", "sqlite_master", "pg_catalog.pg_views", "duckdb_settings", "threads"])
def test_the_catalog_of_duckdb_is_no_table_of_the_release(query: SandboxClient, name: str) -> None:
    for statement in (f"FROM {name}", f"DESCRIBE {name}", f"SHOW {name}"):
        assert "there is no table" in query.fails(statement).detail


@pytest.fixture(scope="module")
def release(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """An open release, to bind what is admitted."""
    with open_release(lake, lake.release()) as connection:
        yield connection


# A word alone, of a lambda, and in a path; in the others it is checked as in the first.
SLOW_FORMS = [
    'SELECT "{}" FROM range(2) AS t(x)',
    "SELECT 1 WHERE {} IS NOT NULL",
    "SELECT [({})] ORDER BY {}",
    "SELECT 1 FROM range(2) AS t(x) GROUP BY ({})",
]
FORMS = ["SELECT {}", "SELECT list_transform([1], lambda x: {})", "SELECT {}.a", "SELECT main.{}"]


@pytest.mark.parametrize("form", [*FORMS, *(pytest.param(form, marks=pytest.mark.slow) for form in SLOW_FORMS)])
def test_words_without_parentheses_are_columns_constants_or_allowed_functions(
    release: duckdb.DuckDBPyConnection, form: str
) -> None:
    """DuckDB takes some names for functions if no column has them; a plan has these functions, or only their values."""
    words = {word for (word,) in release.execute(_WORDS).fetchall()} | _TIMES
    tables, found = tables_of(release), set()
    for word in words:
        statement = form.format(word, word)
        try:
            admit(release, statement, tables)
            plan = release.execute("SELECT json_serialize_plan($1)", [statement]).fetchall()[0][0]
        except (SqlProblem, duckdb.Error):
            continue
        if json.loads(plan)["error"] or word in ("true", "false", "null"):
            continue
        found.add(word)
        functions = {path[-1] for path in _paths_in(json.loads(plan))} - _OF_THE_FORMS
        assert functions
        assert functions <= allowed_functions(), word
    if form in ("SELECT {}", "SELECT [({})] ORDER BY {}"):
        assert found >= _TIMES


_WORDS = """
SELECT keyword_name FROM duckdb_keywords()
UNION SELECT function_name FROM duckdb_functions() WHERE function_type = 'scalar' AND len(parameters) = 0
"""
_OF_THE_FORMS = {"range", "list_value", "list_transform", "count_star", "__cast", "timetz_byte_comparable"}
_TIMES = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}


def _paths_in(plan: Any) -> Iterator[list[str]]:
    if isinstance(plan, dict):
        if "path" in plan.get("qname", {}):
            yield plan["qname"]["path"]
        plan = list(plan.values())
    for part in plan if isinstance(plan, list) else []:
        yield from _paths_in(part)


@pytest.mark.parametrize("name", ["current_catalog", "CURRENT_USER", '"user"', "session_user", "current_role", "user"])
def test_values_of_the_session_are_refused_and_columns_of_their_name_are_not(query: SandboxClient, name: str) -> None:
    assert query.fails(f"SELECT {name}").kind == errors.NOT_ALLOWED
    assert "put its table before it" in query.fails(f"SELECT list_transform([1], lambda x: {name})").detail
    assert query(f"SELECT t.{name} AS a FROM (SELECT 1) AS t({name})") == [{"a": 1}]


def test_long_and_deep_statements_are_refused(query: SandboxClient) -> None:
    assert "the maximum is 100,000" in query.fails("SELECT " + "1," * 100_000 + "1").detail
    assert "the maximum is 1,000,000" in query.fails("SELECT ?", ["x" * 1_000_000]).detail
    for deep in (
        "(" * 20_000,
        "SELECT " + "(" * 9_000 + "1" + ")" * 9_000,
        "SELECT " + "abs(" * 3000 + "1" + ")" * 3000,
    ):
        assert query.fails(deep).kind in (errors.ERROR, errors.NOT_ALLOWED, errors.MEMORY)
    assert query("SELECT 1 AS a") == [{"a": 1}]


def test_every_function_that_is_allowed_is_one_of_duckdb() -> None:
    found = duckdb.execute("SELECT lower(function_name) FROM duckdb_functions()").fetchall()
    beyond = {"coalesce", "grouping", "grouping_id", "unpivot_list"}
    assert allowed_functions() - {name for (name,) in found} <= beyond
