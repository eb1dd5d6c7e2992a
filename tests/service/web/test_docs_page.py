"""The page at /docs leaves nothing out, loads nothing, and its lines work."""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from service.problems import KINDS
from service.rest.openapi import describe
from service.web.docs_page import docs_page, problem_advice
from service.web.reference import anchor
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
    sections = {section.split('id="')[1].split('"')[0]: section for section in page.text.split("<section>")[1:]}
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


def test_the_page_loads_nothing_and_runs_nothing(page: Page) -> None:
    assert page.loads == ["data:,"]
    assert page.scripts == []
    assert "url(" not in page.text
    assert "@import" not in page.text
    assert [link for link in page.links if not link.startswith(("/", "#"))] == []


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


def test_a_hostile_document_stays_text(client: TestClient) -> None:
    evil = "</pre><script>alert('`1`')</script>\"' onload=x $title"
    app: Any = client.app
    path = {
        "get": {
            "description": evil,
            "parameters": [
                {"name": evil, "in": "query", "required": True, "schema": {"type": evil, "examples": [evil]}}
            ],
            "responses": {evil: {"description": evil, "content": {evil: {}}}},
        }
    }
    document = {
        "info": {"description": evil},
        "paths": {f"/{evil}": path},
        "components": {"schemas": {"ProblemDocument": {}}},
    }
    page = Page(docs_page(document, app.state.releases.view(), "http://testserver"))
    assert page.scripts == []
    (curl,) = (line for line in page.lines if line.startswith("curl 'http") and "onload" in line)
    assert len(shlex.split(curl)) == 2


def test_a_post_has_its_body_described_and_no_line_for_get(client: TestClient) -> None:
    app: Any = client.app
    body = {"type": "object", "properties": {"sql": {"type": "string", "description": "A statement."}}}
    content = {"application/json": {"schema": body}}
    operation = {"description": "Runs `sql`.", "requestBody": {"content": content}, "responses": {}}
    document = describe(app, ()) | {"paths": {"/v1/sql": {"post": operation}}}
    page = Page(docs_page(document, app.state.releases.view(), "http://testserver"))
    assert "post /v1/sql:body:sql".replace(" ", "") in page.ids
    assert "Runs <code>sql</code>." in page.text


def test_a_host_that_is_none_is_refused(client: TestClient) -> None:
    response = client.get("/docs", headers={"host": "x';rm -rf ~;'"})
    assert response.status_code == 422
    assert response.json()["parameter"] == "Host"
