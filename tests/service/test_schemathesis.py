"""The service keeps what its OpenAPI document promises, for requests that schemathesis makes up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, from_schema
from schemathesis.engine.events import EngineEvent, EngineFinished, FatalError, NonFatalError, ScenarioFinished
from schemathesis.python import asgi

from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.settings import Settings

PHASES = ("examples", "coverage", "fuzzing", "stateful")
CHECKS: dict[str, Any] = {
    # Which names, cursors and mixtures of parameters can be answered, no schema can say: those that can't are 422.
    "positive_data_acceptance": {"enabled": False},
    # 431 is what a list of too many names comes to.
    "negative_data_rejection": {"expected-statuses": [400, 404, 405, 413, 422, 431]},
    # Nothing here needs a login.
    "ignored_auth": {"enabled": False},
}


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    """A client of an application whose life schemathesis begins; it names testserver."""
    settings = Settings.model_construct(None, allowed_hosts=("testserver",), rate_limit=0)
    yield TestClient(create_app(lake, settings), raise_server_exceptions=False)
    asgi.shutdown_lifespans()


def run(
    client: TestClient, seed: int, phases: Sequence[str], max_examples: int = 2, only: Sequence[str] = ()
) -> list[EngineEvent]:
    """Some phases of schemathesis, each once; only: paths to be asked instead of all.

    Its stateful phase has nothing to do: nothing here leads from one operation to another.
    """
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "continue-on-failure": True,
            "checks": CHECKS,
            "generation": {"max-examples": max_examples},
            "phases": {name: {"enabled": name in phases} for name in PHASES},
        }
    )
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app, config=config)
    return list(from_schema(schema.include(path=[*only]) if only else schema).execute())


def failures(events: list[EngineEvent]) -> list[str]:
    found = []
    for event in events:
        if isinstance(event, FatalError):
            found.append(repr(event.exception))
        elif isinstance(event, NonFatalError):
            found.append(f"{event.label}: {event.info}")
        elif isinstance(event, ScenarioFinished):
            found += failed_checks(event)
    return found


def failed_checks(event: ScenarioFinished) -> Iterator[str]:
    for case_id, checks in event.recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                case = event.recorder.cases[case_id].value
                query = json.dumps(dict(case.query or {}), default=str)
                failure = check.failure_info.failure
                yield f"{check.name}: {case.method} {case.path} {query}: {failure.title}: {failure.message}"


@pytest.mark.slow
def test_made_up_requests_are_answered_as_documented(client: TestClient) -> None:
    events = run(client, 1, ["examples", "fuzzing"])
    assert failures(events) == []
    assert any(isinstance(event, EngineFinished) for event in events)
    tried = {event.label for event in events if isinstance(event, ScenarioFinished) and event.status == Status.SUCCESS}
    assert len(tried) >= len(client.get("/openapi.json").json()["paths"])


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/scaling", "/v1/sql"])
def test_boundary_values_are_answered_as_documented(client: TestClient, path: str) -> None:
    assert failures(run(client, 1, ["coverage"], only=[path])) == []


@pytest.mark.fuzz
def test_boundary_values_are_answered_as_documented_on_every_path(client: TestClient) -> None:
    assert failures(run(client, 1, ["coverage"])) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(3))
def test_many_more_made_up_requests_are_answered_as_documented(client: TestClient, seed: int) -> None:
    assert failures(run(client, seed, ["fuzzing"], max_examples=200)) == []
