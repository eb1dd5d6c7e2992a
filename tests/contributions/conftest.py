"""The contribution service over an empty lake, and clients with tokens of several people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_contributions.app import create_app
from losslake_contributions.people.links import Links
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.people.tokens import Quota, authenticate, create_token
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from tests.contributions.running import place_of_key
from tests.contributions.spooled_runs import SpooledRun
from tests.servers.postgresql import PostgreSQL
from tests.servers.processes import wait_until

ADA, BOB = "0000-0002-1825-0097", "0000-0001-5109-3700"


@dataclass
class Sender:
    """A client with a token. client: of this process, or of httpx."""

    client: Any
    token: str

    @property
    def id(self) -> str:
        """The id of the token."""
        return self.token.split("_")[1]

    def signed_in(self) -> str:
        """The cookie of a browser that has just signed in, for a header."""
        answer = self.client.post("/sign-in", data={"token": self.token}, follow_redirects=False)
        self.client.cookies.clear()
        return str(answer.headers["set-cookie"].partition(";")[0])

    def send(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)

    def create(self, run: SpooledRun) -> Any:
        return self.send("PUT", f"/v1/contributions/{run.id}", json=run.facts)

    def put(self, run: SpooledRun, path: str = "0001/000001.jsonl", **changes: Any) -> Any:
        """Send a segment. changes: of its place, or its bytes as `data`."""
        data = changes.pop("data", run.data(path))
        place = run.place(path) | changes
        query = {name: place[name] for name in ("sha256", "from_step") if place[name] is not None}
        where = f"/v1/contributions/{run.id}/segments/{place['attempt']}/{place['n']}"
        body = zstandard.ZstdCompressor().compress(data)
        return self.send("PUT", where, params=query, content=body, headers={"Content-Encoding": "zstd"})

    def live(self, *pieces: dict[str, Any], alive: Sequence[str] = (), **options: Any) -> Any:
        """Send pieces of segments that are still being written."""
        return self.send("POST", "/v1/live", json={"pieces": pieces, "alive": [*alive]}, **options)

    def finish(self, run: SpooledRun) -> Any:
        return self.send("POST", f"/v1/contributions/{run.id}/finish", json=run.end)

    def contribute(self, *runs: SpooledRun) -> None:
        """Create, fill and finish runs."""
        for run in runs:
            assert self.create(run).status_code == 201
            assert {self.put(run, path).status_code for path in run.segments} == {201}
            assert self.finish(run).status_code == 200

    def review(self, name: str) -> Any:
        """Return the response with the review of a submission, once it is there."""
        responses: list[Any] = []

        def is_there() -> bool:
            responses[:] = [self.send("GET", f"/v1/submissions/{name}/review")]
            return bool(responses[0].status_code != 202)

        wait_until(is_there, "the review is made")
        return responses[0]

    def submit(self, *runs: SpooledRun, **facts: Any) -> Any:
        document = {"contributions": [run.id for run in runs], "licence": "CC-BY-4.0", **facts}
        return self.send("POST", "/v1/submissions", json=document)

    def submitted(self, *runs: SpooledRun, **facts: Any) -> str:
        """Contribute runs and submit them; return the id of the submission."""
        self.contribute(*runs)
        response = self.submit(*runs, **facts)
        assert response.status_code == 201
        return str(response.json()["id"])


@dataclass
class Service:
    """The service in this process."""

    lake: Lake
    database: Database
    client: TestClient

    def sender(self, name: str, orcid: str | None, *scopes: str, quota: Quota | None = None, days: int = 1) -> Sender:
        chosen = scopes or ("contribute",)
        return Sender(self.client, create_token(self.database, name, orcid, chosen, days, quota))


def draft_token(database: Database, submission: str, sender: Sender) -> str:
    """The token of somebody's link to a draft, as the service makes it."""
    links = Links("", database, SigningKey.of(database.lake))
    return links.draft(authenticate(database, f"Bearer {sender.token}"), submission).split("/")[2]


@pytest.fixture
def empty_lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


@pytest.fixture
def lake_in_postgresql(postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """An empty lake with its database in PostgreSQL, and its files and its cache below tmp_path."""
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path / "cache"))
    return Lake.create(f"{postgresql.new_database()} file://{tmp_path / 'files'}")


@pytest.fixture
def service(empty_lake: Lake) -> Iterator[Service]:
    with serving(empty_lake) as made:
        yield made


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for the tests of a module that don't depend on what else it holds."""
    with serving(Lake.create(tmp_path_factory.mktemp("shared") / "lake")) as made:
        yield made


@pytest.fixture
def ada(service: Service) -> Sender:
    return service.sender("Ada", ADA)


@pytest.fixture
def bob(service: Service) -> Sender:
    return service.sender("Bob", BOB)


@pytest.fixture
def reviewer(service: Service) -> Sender:
    return service.sender("Rea Viewer", None, "review")


def serving(lake: Lake, **settings: Any) -> Any:
    """A context manager that gives the service over a lake."""
    return _Serving(lake, Settings.model_construct(log_format="off", **place_of_key(lake), **settings))


class _Serving:
    def __init__(self, lake: Lake, settings: Settings) -> None:
        self._lake = lake
        self._client = TestClient(create_app(lake, settings), raise_server_exceptions=False)

    def __enter__(self) -> Service:
        self._client.__enter__()
        return Service(self._lake, Database.open(self._lake), self._client)

    def __exit__(self, *error: object) -> None:
        self._client.__exit__(*error)
