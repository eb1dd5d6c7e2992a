"""A read route answers where it is documented, and refuses what it would leave out."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.testclient import TestClient
from pydantic import BaseModel
from starlette.routing import Route

from losslake.lake.lake import Lake
from losslake_service.problems import ParameterProblem
from losslake_service.routes.reading import add_read_route, read_query
from tests.applications import without_sql


class Parameters(BaseModel):
    n: int = 1
    names: list[str] = []


async def permitted() -> None:
    raise PermissionError


async def answer(request: Request) -> Response:
    return PlainTextResponse(request.method)


def test_a_query_has_at_most_2000_parameters() -> None:
    assert read_query(b"&".join([b"names=a"] * 2000), Parameters).names == ["a"] * 2000
    with pytest.raises(ParameterProblem, match="there are too many parameters: give at most 2,000"):
        read_query(b"&".join([b"names=a"] * 2001), Parameters)


def test_a_dependency_of_the_route_is_refused() -> None:
    with pytest.raises(TypeError, match="dependencies"):
        add_read_route(FastAPI().router, "/secret", answer, dependencies=[Depends(permitted)])


def test_a_dependency_of_the_application_is_refused() -> None:
    app = FastAPI(dependencies=[Depends(permitted)])
    with pytest.raises(TypeError, match="dependencies"):
        add_read_route(app.router, "/secret", answer)


def test_a_dependency_of_a_parameter_is_refused() -> None:
    async def of_someone(request: Request, someone: Annotated[None, Depends(permitted)]) -> Response:
        raise AssertionError

    with pytest.raises(TypeError, match="dependencies"):
        add_read_route(FastAPI().router, "/secret", of_someone)


def test_parameters_outside_the_path_and_the_model_are_refused() -> None:
    async def of_header(token: Annotated[str, Header()]) -> Response:
        raise AssertionError

    async def of_query(n: int) -> Response:
        raise AssertionError

    async def of_body(parameters: Parameters) -> Response:
        raise AssertionError

    for endpoint in (of_header, of_query, of_body):
        with pytest.raises(TypeError, match="parameters that are neither"):
            add_read_route(FastAPI().router, "/rows", endpoint)


def test_a_dependency_of_an_including_router_is_refused() -> None:
    app, router = FastAPI(), APIRouter()
    add_read_route(router, "/secret", answer)
    app.include_router(router, dependencies=[Depends(permitted)])
    with pytest.raises(TypeError, match="application's router"):
        TestClient(app).get("/secret")


def test_a_suffix_is_answered_by_the_documented_route() -> None:
    app = FastAPI(redirect_slashes=False)
    add_read_route(app.router, "/rows", answer, has_endings=True)
    client = TestClient(app)
    assert [client.get(path).text for path in ("/rows", "/rows.csv")] == ["GET", "GET"]
    assert client.head("/rows.parquet").status_code == 200
    assert [client.get(path).status_code for path in ("/rows.xml", "/rows/", "/rowscsv")] == [404] * 3
    assert client.post("/rows.csv").status_code == 405


def test_each_path_and_method_has_one_route(lake: Lake) -> None:
    routes = [route for route in without_sql(lake).routes if isinstance(route, Route)]
    declared = [(route.path_regex.pattern, method) for route in routes for method in route.methods or ()]
    assert len(declared) > 100
    assert len(declared) == len(set(declared))


def test_an_unknown_path_does_not_build_the_openapi_document(lake: Lake) -> None:
    app = without_sql(lake)
    with TestClient(app) as client:
        assert client.get("/v1/scalin").json()["near_matches"][0] == "/v1/scaling"
        assert client.get("/ready").json()["near_matches"][0] == "/readyz"
        assert app.openapi_schema is None
