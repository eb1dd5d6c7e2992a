"""The page of the schema describes every view, macro and file as the code defines them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake.index.view_texts import MACROS, VIEWS
from losslake.questions.release.view import ReleaseView
from losslake_schema.tables import ALL_TABLES, PARTITIONED
from losslake_service.web.code_lines import statement
from losslake_service.web.pages.schema import example_values
from losslake_service.web.schema_tables import call, row_description, schema_tables
from tests.made_up_lake import ERROR
from tests.service.web.reading import Page

MAY_BE_EMPTY = {"goals", "steps_to_target", "steps_to_result", "flags", "contributors", "copies"}
"""Views that have no rows here, as the workloads of these tests have no goals."""


@pytest.fixture(scope="module")
def page(client: TestClient) -> Page:
    response = client.get("/docs/schema")
    assert response.status_code == 200
    return Page(response.text)


@pytest.fixture(scope="module")
def view(client: TestClient) -> ReleaseView:
    app: Any = client.app
    release: ReleaseView = app.state.releases.view()
    return release


def columns_of(view: ReleaseView, name: str) -> list[tuple[str, str]]:
    """Return name and DuckDB type of each column."""
    statement = f"DESCRIBE FROM {call(name, repr(ERROR) + ', 0.3')}"
    return [(column, kind) for column, kind, *_ in view.cursor().execute(statement).fetchall()]


def test_every_view_and_macro_is_listed(page: Page, view: ReleaseView) -> None:
    assert {table.name for table in schema_tables(view)} == {*VIEWS, *MACROS}
    assert {*VIEWS, *MACROS} <= set(page.ids)
    assert {*VIEWS, *MACROS} <= page.fragments()


@pytest.mark.parametrize("name", [*VIEWS, *MACROS])
def test_every_column_of_every_view_is_described(page: Page, view: ReleaseView, name: str) -> None:
    table = next(table for table in schema_tables(view) if table.name == name)
    assert [(column.name, column.type) for column in table.columns] == columns_of(view, name)
    for column in table.columns:
        assert column.meaning
        assert f"{name}.{column.name}" in page.ids
    assert [column.name for column in table.columns if column.type == "DOUBLE" and not column.unit] == []


@pytest.mark.parametrize("name", [*VIEWS, *MACROS])
def test_keys_of_views_are_unique(view: ReleaseView, name: str) -> None:
    table = next(table for table in schema_tables(view) if table.name == name)
    keys = ", ".join(table.keys)
    statement = f"SELECT count(*), count(DISTINCT ({keys},)) FROM {call(name, repr(ERROR) + ', 0.3')}"
    counts = view.cursor().execute(statement).fetchone()
    assert counts is not None
    assert counts[0] == counts[1]
    assert counts[0] > 0 or name in MAY_BE_EMPTY


def test_descriptions_of_rows_omit_implementation() -> None:
    for name in (*VIEWS, *MACROS):
        assert row_description(name).startswith("One row per ")
        assert "$" not in row_description(name)


def test_every_column_of_the_files_is_listed(view: ReleaseView) -> None:
    for table in schema_tables(view):
        assert table.is_partitioned == (table.name in PARTITIONED)
        if table.is_partitioned or table.is_file:
            made = {"trials": ["also_submitted"], "studies": ["n_missed", "schedule"]}.get(table.name, [])
            assert [column.name for column in table.columns] == ALL_TABLES[table.name].names + made


def test_every_example_returns_rows_and_links_to_the_sql_page(page: Page, view: ReleaseView) -> None:
    statements = [parse_qs(urlsplit(link).query)["q"][0] for link in page.links if link.startswith("/sql?q=")]
    assert len(statements) == len((*VIEWS, *MACROS))
    for text in statements:
        assert text in page.lines
        rows = view.cursor().execute(text).fetchall()
        assert rows or any(f"FROM {name}\n" in text or f"FROM {name} " in text for name in MAY_BE_EMPTY)


def test_metrics_are_listed_with_direction_and_unit(page: Page, client: TestClient) -> None:
    measured = {name for row in client.get("/v1/workloads").json()["rows"] for name in row["metrics"]}
    table = page.text.partition('id="metrics-of-this-release"')[2]
    for row in client.get("/v1/metrics").json()["rows"]:
        shown = f"<tr><td><code>{row['metric']}</code></td>" in table
        assert shown == (row["metric"] in measured)
    assert "<td>lower</td><td>fraction</td>" in table
    assert "unknown: a request must give it" in table


def test_ids_are_unique_and_fragments_resolve(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert page.fragments() - set(page.ids) == set()


def test_empty_lake_uses_the_names_of_the_documentation() -> None:
    for name in (*VIEWS, *MACROS):
        assert "$" not in statement(f"schema/{name}", **example_values(None))
