"""The page of the schema describes every view from what it is made of, so that it can't be out of date."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake.index.serving import MACROS, VIEWS
from losslake.questions.release_view import ReleaseView
from losslake_schema.tables import PARTITIONED, TABLES, file_schema
from losslake_service.web.lines import statement
from losslake_service.web.pages.schema import example_values
from losslake_service.web.schema_tables import call, schema_tables, what_a_row_is
from tests.made_up_lake import ERROR
from tests.service.web.reading import Page

OF_GOALS = {"goals", "steps_to_target", "steps_to_result"}
"""Views that have no rows here, as the workloads of these tests have no goals."""


@pytest.fixture(scope="module")
def page(client: TestClient) -> Page:
    response = client.get("/docs/schema")
    assert response.status_code == 200
    return Page(response.text)


@pytest.fixture(scope="module")
def view(client: TestClient) -> ReleaseView:
    app: Any = client.app
    found: ReleaseView = app.state.releases.view()
    return found


def columns_of(view: ReleaseView, name: str) -> list[tuple[str, str]]:
    """Name and type, as DuckDB has them."""
    asked = f"DESCRIBE FROM {call(name, repr(ERROR) + ', 0.3')}"
    return [(column, kind) for column, kind, *_ in view.cursor().execute(asked).fetchall()]


def test_every_view_and_macro_is_there(page: Page, view: ReleaseView) -> None:
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
def test_no_two_rows_share_the_key(view: ReleaseView, name: str) -> None:
    table = next(table for table in schema_tables(view) if table.name == name)
    keys = ", ".join(table.keys)
    asked = f"SELECT count(*), count(DISTINCT ({keys},)) FROM {call(name, repr(ERROR) + ', 0.3')}"
    found = view.cursor().execute(asked).fetchone()
    assert found is not None
    assert found[0] == found[1]
    assert found[0] > 0 or name in OF_GOALS


def test_what_a_row_is_says_so_and_nothing_of_how_it_is_done() -> None:
    for name in (*VIEWS, *MACROS):
        assert what_a_row_is(name).startswith("One row per ")
        assert "$" not in what_a_row_is(name)


def test_every_column_of_the_files_is_there(page: Page, view: ReleaseView) -> None:
    for table in schema_tables(view):
        assert table.is_partitioned == (table.name in PARTITIONED)
        if table.is_partitioned:
            assert [column.name for column in table.stored] == file_schema(table.name).names
            assert f"files-{table.name}" in page.ids
        elif table.is_file:
            assert [column.name for column in table.columns] == TABLES[table.name].names


def test_each_example_has_rows_and_a_link_to_where_it_can_be_run(page: Page, view: ReleaseView) -> None:
    asked = [parse_qs(urlsplit(link).query)["q"][0] for link in page.links if link.startswith("/sql?q=")]
    assert len(asked) == len((*VIEWS, *MACROS))
    for text in asked:
        assert text in page.lines
        rows = view.cursor().execute(text).fetchall()
        assert rows or any(f"FROM {name}\n" in text or f"FROM {name} " in text for name in OF_GOALS)


def test_metrics_are_there_with_direction_and_unit(page: Page, client: TestClient) -> None:
    measured = {name for row in client.get("/v1/workloads").json()["rows"] for name in row["metrics"]}
    table = page.text.partition('id="metrics-of-this-release"')[2]
    for row in client.get("/v1/metrics").json()["rows"]:
        shown = f"<tr><td><code>{row['metric']}</code></td>" in table
        assert shown == (row["metric"] in measured)
    assert "<td>lower</td><td>fraction</td>" in table
    assert "not known: a question has to say it" in table


def test_no_id_is_there_twice_and_no_link_into_the_page_is_dead(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert page.fragments() - set(page.ids) == set()


def test_without_data_statements_are_about_what_the_documentation_tells_of() -> None:
    for name in (*VIEWS, *MACROS):
        assert "$" not in statement(f"schema/{name}", **example_values(None))
