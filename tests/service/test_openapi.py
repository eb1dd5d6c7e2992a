"""The OpenAPI document describes every path, parameter and field: what it means, its unit, and an example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.figures.papers import listing as papers
from losslake.questions.questions import QUESTIONS

PATHS = {question.path for question in (*QUESTIONS, papers.QUESTION)}
SUMMARIES = {question.schema_name for question in QUESTIONS}


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def parameters(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (name, parameter["name"]): parameter
        for name, operation in operations(document)
        for parameter in operation.get("parameters", ())
    }


def fields(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (name, field): shape
        for name, schema in document["components"]["schemas"].items()
        for field, shape in schema.get("properties", {}).items()
    }


def test_every_path_is_there_with_a_description(document: dict[str, Any]) -> None:
    assert PATHS | {"/healthz"} <= set(document["paths"])
    assert [name for name, operation in operations(document) if not operation.get("description")] == []


def test_every_operation_has_an_id_of_its_own(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(ids) == len(set(ids))


def test_every_parameter_has_a_description_an_example_and_a_unit(document: dict[str, Any]) -> None:
    found = parameters(document)
    assert ("get /v1/scaling", "example_budget") in found
    assert ("get /v1/trials", "batch_size_min") in found
    assert [name for name, parameter in found.items() if not parameter.get("description")] == []
    assert [name for name, parameter in found.items() if not has_example(parameter)] == []
    of_ours = {name: parameter for name, parameter in found.items() if name[0].removeprefix("get ") in PATHS}
    assert [name for name, parameter in of_ours.items() if "x-unit" not in parameter["schema"]] == []


def test_no_parameter_is_described_twice(document: dict[str, Any]) -> None:
    for _, operation in operations(document):
        names = [parameter["name"] for parameter in operation.get("parameters", ())]
        assert len(names) == len(set(names))


def has_example(parameter: dict[str, Any]) -> bool:
    return any(name in place for place in (parameter, parameter["schema"]) for name in ("example", "examples"))


def test_every_field_has_a_description_an_example_and_a_unit(document: dict[str, Any]) -> None:
    found = fields(document)
    assert {("ScalingRow", "steps"), ("Trials", "next_cursor"), ("ProblemDocument", "parameter")} <= set(found)
    for wanted in ("description", "examples", "x-unit"):
        assert [name for name, shape in found.items() if wanted not in shape] == []


def test_every_described_field_of_a_field_has_an_example_and_a_unit_and_no_other_has(document: dict[str, Any]) -> None:
    inner = {
        (*name, field): shape
        for name, outer in fields(document).items()
        if name[0] in SUMMARIES
        for field, shape in outer.get("items", outer).get("properties", {}).items()
    }
    described = {name for name, shape in inner.items() if "description" in shape}
    assert ("Scaling", "reference", "n_reached") in described
    assert ("Scaling", "pooled", "n_trials") in inner.keys() - described
    for given in ("examples", "x-unit"):
        assert {name for name, shape in inner.items() if given in shape} == described


def test_answers_have_the_columns_that_are_described(client: TestClient, document: dict[str, Any]) -> None:
    for name in ("workloads", "studies", "trials", "metrics", "releases"):
        (row,) = client.get(f"/v1/{name}?limit=1").json()["rows"]
        described = document["components"]["schemas"][f"{name.capitalize()}Row"]["properties"]
        assert list(row) == list(described)


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_format_is_there(document: dict[str, Any], path: str) -> None:
    content = document["paths"][path]["get"]["responses"]["200"]["content"]
    assert set(content) == {
        "application/json", "text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet",
    }  # fmt: skip


def test_errors_are_documented_as_problem_documents(document: dict[str, Any]) -> None:
    responses = document["paths"]["/v1/scaling"]["get"]["responses"]
    for status in ("404", "422", "500", "503"):
        assert list(responses[status]["content"]) == ["application/problem+json"]
        assert responses[status]["content"]["application/problem+json"]["schema"]
