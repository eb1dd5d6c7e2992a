"""The REST reference is complete, loads nothing from other hosts, and its examples work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_schema.package_files import read_toml
from losslake_service.problems import KINDS
from losslake_service.web.reference import Interface, anchor, page_address
from tests.applications import without_sql
from tests.service.web.reading import Page


@pytest.fixture(scope="module")
def page(client: TestClient) -> Page:
    response = client.get("/docs/reference")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return Page(response.text)


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    openapi: dict[str, Any] = client.get("/openapi.json").json()
    return openapi


def operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (anchor(method, path), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.fixture(scope="module")
def pages(client: TestClient, document: dict[str, Any]) -> Mapping[str, Page]:
    """Return the page of each path by its anchor."""
    return {name: Page(client.get(page_address(name)).text) for name, _ in operations(document)}


def test_every_path_has_a_linked_page(page: Page, pages: Mapping[str, Page]) -> None:
    assert len(pages) >= 15
    assert {page_address(name) for name in pages} - set(page.links) == set()
    assert [name for name, each in pages.items() if name not in each.ids] == []


def test_every_parameter_is_described(pages: Mapping[str, Page], document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            assert f"{name}?{parameter['name']}" in pages[name].ids


def test_every_field_of_every_response_is_listed(
    page: Page, pages: Mapping[str, Page], document: dict[str, Any]
) -> None:
    schemas = document["components"]["schemas"]
    for name, shape in schemas.items():
        if name.endswith("Row"):
            (place,) = (p for p, o in operations(document) if o["operationId"] == f"get{name.removesuffix('Row')}")
            facts = schemas[name.removesuffix("Row")]["properties"]
            (rows,) = (f for f, s in facts.items() if s.get("items") == {"$ref": f"#/components/schemas/{name}"})
            assert [f for f in shape["properties"] if f"{place}:{rows}[].{f}" not in pages[place].ids] == []
            assert [f for f in facts if f"{place}:{f}" not in pages[place].ids] == []
    assert "/v1/workloads:rows[].goals[].target" in pages["/v1/workloads"].ids
    assert [f for f in schemas["ProblemDocument"]["properties"] if f"problem:{f}" not in page.ids] == []


def test_every_status_of_every_path_is_listed(pages: Mapping[str, Page], document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        shown = re.findall(r'<tr><td class="number">(\w+)</td>', pages[name].text)
        assert shown == list(operation["responses"])


def test_every_problem_type_is_listed_with_status_and_advice(page: Page) -> None:
    assert set(read_toml("losslake_service.web", "problem_kinds.toml")) == set(KINDS)
    for kind, (status, _) in KINDS.items():
        entry = page.text[page.text.index(f'id="problem:{kind}"') :]
        assert f"status {status}<" in entry[:400]


def test_ids_of_reference_pages_are_unique_and_fragments_resolve(page: Page, pages: Mapping[str, Page]) -> None:
    for each in (page, *pages.values()):
        assert len(each.ids) == len(set(each.ids))
        assert each.fragments() - set(each.ids) == set()


def test_reference_never_links_to_other_hosts(page: Page) -> None:
    local = ("/", "#", "http://localhost/")
    assert [link for link in (*page.links, *page.loads) if not link.startswith(local)] == []


def test_reference_links_to_methods_and_schema(page: Page) -> None:
    assert "methods" in page.ids
    assert {"/docs/methods", "/docs/schema"} <= set(page.links)


def test_search_filters_the_list_of_paths(client: TestClient) -> None:
    page = Page(client.get("/docs/reference?q=Figures curves").text)
    shown = re.findall(r'<li><a href="[^"]+" data-anchor="(/v1/[^"]+)"', page.text)
    assert shown == ["/v1/figures/curves.ending"]
    assert "1 of " in page.text
    assert 'value="Figures curves"' in page.text


def test_compare_example_has_two_workloads(pages: Mapping[str, Page]) -> None:
    lines = pages["/v1/analysis/compare"].lines
    (line,) = (line for line in lines if line.startswith("curl") and "/v1/analysis/compare?" in line)
    named = re.findall(r"workload=([^&]+)", line)
    assert len(set(named)) == 2


@pytest.mark.slow
def test_every_example_returns_its_format(page: Page, pages: Mapping[str, Page], client: TestClient) -> None:
    lines = [
        line
        for each in (page, *pages.values())
        for line in each.lines
        if "-d" not in line and re.match(r"curl '?http|curl -O|pandas|polars|FROM|read.csv", line)
    ]
    assert len(lines) > 70
    for line in lines:
        match = re.search(r"http://localhost([^'\"\s]+)", line)
        assert match is not None
        response = client.get(match[1])
        if "/v1/analysis/forecast" in line:
            # A band needs nine trials, and the lake has six of a batch size.
            assert (response.status_code, response.json()["parameter"]) == (422, "batch_size"), line
            continue
        assert response.status_code == 200, line
        if line.startswith(("pandas", "polars", "FROM")):
            assert response.content.startswith(b"PAR1")
            assert int(response.headers["content-length"]) > 200
        if line.startswith("read.csv"):
            assert response.headers["content-type"].startswith("text/csv")


def test_duckdb_examples_escape_slashes_in_queries(pages: Mapping[str, Page]) -> None:
    lines = [line for page in pages.values() for line in page.lines]
    queries = [urlsplit(line).query for line in lines if line.startswith("FROM 'http")]
    assert any(queries)
    assert [query for query in queries if "/" in query] == []


@pytest.fixture
def documented(lake: Lake) -> Callable[[dict[str, Any], str], Page]:
    """Return a function that renders the page of a path of another OpenAPI document."""

    def page(document: dict[str, Any], place: str) -> Page:
        app = without_sql(lake)
        app.openapi_schema = document
        response = TestClient(app).get(page_address(place))
        assert response.status_code == 200
        return Page(response.text)

    return page


def test_hostile_openapi_texts_are_escaped(documented: Callable[[dict[str, Any], str], Page]) -> None:
    evil = "</pre><script>alert('`1`')</script>\"' onload=x $title {{7*7}}"
    path = {
        "get": {
            "description": evil,
            "parameters": [
                {"name": evil, "in": "query", "required": True, "schema": {"type": evil, "examples": [evil]}}
            ],
            "responses": {evil: {"description": evil, "content": {evil: {}}}},
        }
    }
    page = documented({"paths": {"/evil": path}, "components": {"schemas": {}}}, "/evil")
    assert set(page.scripts) == {"module"}
    assert "49" not in page.text.partition("<main")[2].partition("</main")[0]
    (curl,) = (line for line in page.lines if line.startswith("curl 'http") and "onload" in line)
    assert len(shlex.split(curl)) == 2


def test_post_describes_its_body_without_get_examples(
    client: TestClient, documented: Callable[[dict[str, Any], str], Page]
) -> None:
    app: Any = client.app
    body = {"type": "object", "properties": {"sql": {"type": "string", "description": "A statement."}}}
    content = {"application/json": {"schema": body}}
    operation = {"description": "Runs `sql`.", "requestBody": {"content": content}, "responses": {}}
    page = documented(app.openapi() | {"paths": {"/v1/sql": {"post": operation}}}, "post/v1/sql")
    assert {"post/v1/sql", "post/v1/sql:body:sql"} <= set(page.ids)
    assert "Runs <code>sql</code>." in page.text
    assert page.lines == []


def test_reference_is_built_once_per_host(client: TestClient, document: dict[str, Any]) -> None:
    app: Any = client.app
    view = app.state.releases.view()
    interface = Interface(lambda: document)
    first = interface.sections(view, "http://localhost")
    assert interface.sections(view, "http://localhost") is first
    lines = interface.sections(view, "http://other")["/v1/scaling"].lines
    assert any("http://other/v1/scaling" in line.text for line in lines)


@pytest.mark.parametrize("name", ["v1/nothing", "..%2Fwords", "v1%2F..%2Fscaling", "v1/scaling/"])
def test_unknown_path_returns_404_with_suggestions(client: TestClient, name: str) -> None:
    response = client.get(f"/docs/reference/{name}", headers={"accept": "text/html"})
    assert response.status_code == 404
    assert 'href="/docs/' in response.text


def test_invalid_host_is_refused(client: TestClient) -> None:
    response = client.get("/docs/reference", headers={"host": "x';rm -rf ~;'"})
    assert response.status_code == 400
    assert response.json()["type"] == "urn:losslake:problem:unknown-host"
