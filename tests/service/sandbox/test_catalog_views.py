"""DuckDB's own views and table functions tell of the machine: no form of a statement reads one."""

from __future__ import annotations

import duckdb
import pytest

from tests.service.sandbox.sandbox_client import SandboxClient

ALLOWED_VIEWS = {"columns", "schemata", "tables"}
ALLOWED_FUNCTIONS = {"generate_series", "json_each", "json_tree", "range", "unnest"}
FORMS_OF_A_VIEW = (
    "SELECT * FROM {name}",
    'FROM "{upper}"',
    "SELECT * FROM (WITH {name} AS (SELECT 1 AS a) SELECT a FROM {name}) AS s, {name}",
    "WITH {name} AS (SELECT * FROM {name}) SELECT * FROM {name}",
    'SELECT (WITH "{upper}" AS (SELECT 1) SELECT count(*) FROM {name}), (SELECT count(*) FROM {name})',
    "WITH x AS (FROM {name}), {name} AS (SELECT 1) FROM x",
    "FROM {schema}.{name}",
    "SUMMARIZE system.{schema}.{name}",
)
FORMS_OF_A_FUNCTION = (
    "FROM {name}()",
    'SELECT * FROM "{upper}"()',
    "FROM system.main.{name}()",
    "WITH {name} AS (SELECT 1) FROM {name}()",
    "SELECT (SELECT count(*) FROM {name}())",
    "FROM trials, LATERAL {name}()",
    "EXPLAIN FROM {name}()",
    "SELECT 1 UNION ALL SELECT 1 FROM {name}(1)",
)


def internal(statement: str) -> list[tuple[str, str]]:
    return sorted(set(duckdb.connect().execute(statement).fetchall()))


VIEWS = internal("SELECT schema_name, view_name FROM duckdb_views() WHERE internal")
FUNCTIONS = internal(
    "SELECT schema_name, function_name FROM duckdb_functions()"
    " WHERE function_type IN ('table', 'table_macro', 'pragma')"
)


@pytest.mark.parametrize(("schema", "view"), VIEWS)
def test_no_form_of_a_statement_reads_an_internal_view(query: SandboxClient, schema: str, view: str) -> None:
    for form in FORMS_OF_A_VIEW:
        if view not in ALLOWED_VIEWS or "{schema}" not in form:
            query.fails(form.format(name=view, upper=view.upper(), schema=schema))


@pytest.mark.slow
@pytest.mark.parametrize(("_", "function"), [each for each in FUNCTIONS if each[1] not in ALLOWED_FUNCTIONS])
def test_no_form_of_a_statement_calls_an_internal_table_function(query: SandboxClient, _: str, function: str) -> None:
    for form in FORMS_OF_A_FUNCTION:
        query.fails(form.format(name=function, upper=function.upper()))


def test_the_name_of_a_subquery_may_not_be_that_of_an_internal_view(query: SandboxClient) -> None:
    problem = query.fails("WITH pg_settings AS (SELECT 1 AS a) SELECT a FROM pg_settings")
    assert problem.detail == "pg_settings is a view of DuckDB: give the subquery another name"
