"""The page at /docs leaves nothing out, loads nothing, and its lines work."""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake_service.problems import KINDS
from losslake_service.web.pages.docs import problem_advice
from losslake_service.web.reference import Interface, anchor
from tests.service.web.reading import Page


@pytest.fixture(scope="module")
def page(client: TestClient) -> Page:
    response = client.get("/docs")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return Page(response.text)


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (anchor(method, path), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_path_has_a_section_and_a_link_to_it(page: Page, document: dict[str, Any]) -> None:
    wanted = {name for name, _ in operations(document)}
    assert len(wanted) >= 15
    assert wanted - set(page.ids) == set()
    assert wanted - page.fragments() == set()


def test_every_parameter_of_every_path_is_there_with_what_it_means(page: Page, document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            assert f"{name}?{parameter['name']}" in page.ids


def test_every_field_of_every_answer_is_there(page: Page, document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name, shape in schemas.items():
        if name.endswith("Row"):
            (place,) = (p for p, o in operations(document) if o["operationId"] == f"get{name.removesuffix('Row')}")
            facts = schemas[name.removesuffix("Row")]["properties"]
            (rows,) = (f for f, s in facts.items() if s.get("items") == {"$ref": f"#/components/schemas/{name}"})
            assert [f for f in shape["properties"] if f"{place}:{rows}[].{f}" not in page.ids] == []
            assert [f for f in facts if f"{place}:{f}" not in page.ids] == []
    assert "/v1/workloads:rows[].goals[].target" in page.ids
    assert [f for f in schemas["ProblemDocument"]["properties"] if f"problem:{f}" not in page.ids] == []


def test_every_status_of_every_path_is_there(page: Page, document: dict[str, Any]) -> None:
    parts = page.text.split('<section class="path">')[1:]
    sections = {part.split('id="')[1].split('"')[0]: part for part in parts}
    for name, operation in operations(document):
        section = sections[name]
        shown = re.findall(r'<tr><td class="number">(\w+)</td>', section)
        assert shown == list(operation["responses"])


def test_every_kind_of_problem_is_there_with_its_status_and_what_to_do(page: Page) -> None:
    assert set(problem_advice()) == set(KINDS)
    for kind, (status, _) in KINDS.items():
        entry = page.text[page.text.index(f'id="problem:{kind}"') :]
        assert f"status {status}<" in entry[:400]


def test_no_id_is_there_twice_and_no_link_into_the_page_is_dead(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert page.fragments() - set(page.ids) == set()


def test_the_page_links_to_nothing_of_other_hosts(page: Page) -> None:
    own = ("/", "#", "http://testserver/")
    assert [link for link in (*page.links, *page.loads) if not link.startswith(own)] == []


def test_methods_and_schema_are_a_click_away(page: Page) -> None:
    assert "methods" in page.ids
    assert {"/docs/methods", "/docs/schema"} <= set(page.links)


def test_words_leave_the_paths_in_the_contents_that_have_them(client: TestClient) -> None:
    page = Page(client.get("/docs?q=Figures curves").text)
    shown = re.findall(r'<li><a href="#(/v1/[^"]+)"', page.text)
    assert shown == ["/v1/figures/curves.ending"]
    assert "1 of " in page.text
    assert 'value="Figures curves"' in page.text


def test_comparing_is_shown_with_two_workloads(page: Page) -> None:
    (line,) = (line for line in page.lines if line.startswith("curl") and "/v1/analysis/compare?" in line)
    named = re.findall(r"workload=([^&]+)", line)
    assert len(set(named)) == 2


def test_each_example_has_an_answer_in_the_format_it_asks_for(page: Page, client: TestClient) -> None:
    lines = [
        line
        for line in page.lines
        if "-d" not in line and re.match(r"curl '?http|curl -O|pandas|polars|FROM|read.csv", line)
    ]
    assert len(lines) > 70
    for line in lines:
        found = re.search(r"http://testserver([^'\"\s]+)", line)
        assert found is not None
        response = client.get(found[1])
        assert response.status_code == 200, line
        if line.startswith(("pandas", "polars", "FROM")):
            assert response.content.startswith(b"PAR1")
            assert int(response.headers["content-length"]) > 200
        if line.startswith("read.csv"):
            assert response.headers["content-type"].startswith("text/csv")


def test_no_slash_is_left_in_what_duckdb_would_take_for_partitions(page: Page) -> None:
    queries = [urlsplit(line).query for line in page.lines if line.startswith("FROM 'http")]
    assert any(queries)
    assert [query for query in queries if "/" in query] == []


def reference(client: TestClient, document: dict[str, Any]) -> Page:
    app: Any = client.app
    return Page(str(Interface(lambda: document).reference(app.state.releases.view(), "http://testserver")))


def test_a_hostile_document_stays_text(client: TestClient) -> None:
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
    page = reference(client, {"paths": {f"/{evil}": path}, "components": {"schemas": {}}})
    assert page.scripts == []
    assert "49" not in page.text
    (curl,) = (line for line in page.lines if line.startswith("curl 'http") and "onload" in line)
    assert len(shlex.split(curl)) == 2


def test_a_post_has_its_body_described_and_no_line_for_get(client: TestClient) -> None:
    app: Any = client.app
    body = {"type": "object", "properties": {"sql": {"type": "string", "description": "A statement."}}}
    content = {"application/json": {"schema": body}}
    operation = {"description": "Runs `sql`.", "requestBody": {"content": content}, "responses": {}}
    page = reference(client, app.openapi() | {"paths": {"/v1/sql": {"post": operation}}})
    assert page.ids == ["post/v1/sql", "post/v1/sql:body:sql"]
    assert "Runs <code>sql</code>." in page.text
    assert page.lines == []


def test_the_reference_is_written_once_for_an_address(client: TestClient, document: dict[str, Any]) -> None:
    app: Any = client.app
    view = app.state.releases.view()
    interface = Interface(lambda: document)
    first = interface.reference(view, "http://testserver")
    assert interface.reference(view, "http://testserver") is first
    assert "http://other/v1/scaling" in interface.reference(view, "http://other")


def test_a_host_that_is_none_is_refused(client: TestClient) -> None:
    response = client.get("/docs", headers={"host": "x';rm -rf ~;'"})
    assert response.status_code == 422
    assert response.json()["parameter"] == "Host"
