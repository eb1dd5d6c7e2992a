"""A small application with every kind of answer, operated as the service is."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.release.releases import Releases
from losslake_service.operation.logs import RequestLog
from losslake_service.operation.metrics import Metrics
from losslake_service.operation.operate import operate, operation
from losslake_service.settings import Settings
from tests.servers.processes import SECONDS
from tests.service.running import Running, served

BODY = json.dumps({"rows": list(range(2000))}).encode()
TAG = '"abc"'


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Operated:
    """A client of the application, and the lines that were written."""

    client: TestClient
    app: FastAPI
    metrics: Metrics
    written: list[bytes] = field(default_factory=list)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written]


Make = Callable[..., Operated]


def application(metrics: Metrics, releases: Releases) -> FastAPI:
    app = FastAPI(lifespan=lambda _: operation(metrics, releases))

    @app.get("/constant")
    def constant(request: Request) -> Response:
        if request.headers.get("if-none-match") == TAG:
            return Response(status_code=304, headers={"ETag": TAG})
        headers = {"ETag": TAG, "LossLake-Release": "7", "Accept-Ranges": "bytes"}
        return Response(BODY, media_type="application/json", headers=headers)

    @app.head("/constant")
    def head(request: Request) -> Response:
        return constant(request)

    @app.get("/typed")
    def typed(media_type: str, size: int = 5000) -> Response:
        return Response(b"a" * size, media_type=media_type)

    @app.get("/streamed")
    def streamed(pieces: int = 10, size: int = 1000) -> Response:
        return StreamingResponse((f"{n:0{size}}".encode() for n in range(pieces)), media_type="text/csv")

    @app.get("/page")
    def page() -> Response:
        return HTMLResponse("<!doctype html>")

    @app.get("/readyz")
    def readyz() -> str:
        return "ready"

    @app.get("/studies/{name}")
    def study(name: str) -> str:
        logging.getLogger("service.test").warning("looking at\n%s", name)
        return name

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("inside\nout")

    @app.post("/length")
    async def length(request: Request) -> int:
        return len(await request.body())

    return app


@pytest.fixture
def operated(lake: Lake) -> Iterator[Make]:
    """Makes one with the settings that are given."""
    log = logging.getLogger()
    before = log.handlers[:], log.level

    def make(**settings: Any) -> Operated:
        metrics, releases = Metrics(), Releases(lake)
        app = application(metrics, releases)
        found = Operated(TestClient(app, raise_server_exceptions=False, client=("192.0.2.7", 1)), app, metrics)
        chosen = Settings.model_construct(**settings)
        operate(
            app, chosen, metrics, partial(metrics.refresh, releases), lines=RequestLog("json", found.written.append)
        )
        return found

    yield make
    log.handlers[:], log.level = before


@pytest.fixture(scope="session")
def running(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The whole service in a process of its own, with narrow bounds of what it takes in, but none of time."""
    settings = {"request_head_bytes": 4000, "request_seconds": 1000, "connections": 20}
    with served(tmp_path_factory.mktemp("bounded"), lake=str(lake.folder), **settings) as found:
        socket.create_connection(("127.0.0.1", found.port), SECONDS).close()
        yield found
