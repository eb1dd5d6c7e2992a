"""The OpenAPI document describes every path, parameter and field."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

PATHS = (
    "/v1/workloads", "/v1/studies", "/v1/trials", "/v1/curves", "/v1/steps-to-target", "/v1/scaling", "/v1/releases",
    "/healthz",
)  # fmt: skip


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_every_path_is_there_with_a_description(document: dict[str, Any]) -> None:
    assert set(PATHS) <= set(document["paths"])
    for path in document["paths"].values():
        assert path["get"]["description"]


def test_every_parameter_is_described(document: dict[str, Any]) -> None:
    described = {
        (path, parameter["name"]): parameter.get("description")
        for path, operations in document["paths"].items()
        for parameter in operations["get"].get("parameters", ())
    }
    assert ("/v1/scaling", "example_budget") in described
    assert [name for name, description in described.items() if not description] == []


def test_every_field_is_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in ("ScalingRow", "StepsRow", "CurveRow", "ParameterDocument", "NotFoundDocument"):
        assert schemas[name]["description"]
    ours = {name: schema for name, schema in schemas.items() if name not in ("HTTPValidationError", "ValidationError")}
    lacking = [
        (name, field)
        for name, schema in ours.items()
        for field, facts in schema.get("properties", {}).items()
        if not facts.get("description")
    ]
    assert lacking == []


def test_errors_are_documented_as_problem_documents(document: dict[str, Any]) -> None:
    responses = document["paths"]["/v1/scaling"]["get"]["responses"]
    for status in ("404", "422", "500", "503"):
        assert list(responses[status]["content"]) == ["application/problem+json"]
        assert responses[status]["content"]["application/problem+json"]["schema"]
