"""Drafts in the explorer: by a link, by a cookie, and by a path for programs."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.release.releases import LOOKING
from losslake_contributions.people.links import Links
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.people.tokens import create_token
from losslake_contributions.review.draft_pages import COOKIE, Drafts
from losslake_contributions.store.database import Database
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from losslake_service.problems import add_problem_handlers
from losslake_service.sandbox.workers import PROGRAM
from losslake_service.settings import Settings
from tests.contributions.conftest import Sender, draft_token
from tests.made_up_lake import write_small_archive

FIRST, SECOND, BROKEN = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
BROWSER = {"accept": "text/html"}
TokenOf = Callable[[str], str]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return Database.create(Lake.create(tmp_path_factory.mktemp("links") / "lake"))


@pytest.fixture(scope="module")
def ada(database: Database) -> Sender:
    return Sender(None, create_token(database, "Ada", None, ["contribute"], 1))


@pytest.fixture(scope="module")
def token_of(database: Database, ada: Sender) -> TokenOf:
    """The token of a link to a draft."""
    return lambda submission: draft_token(database, submission, ada)


def outer(database: Database, folders: dict[str, Path], most: int = 4) -> FastAPI:
    async def folder_of(submission: str) -> Path:
        if submission not in folders:
            raise LossLakeError("its runs can't be read: push them again")
        return folders[submission]

    settings, links = Settings.model_construct(log_format="off"), Links("", database, SigningKey.of(database.lake))
    drafts = Drafts(folder_of, settings, links, most)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await drafts.close()

    app = FastAPI(lifespan=lifespan)
    add_problem_handlers(app)
    app.router.default = drafts
    return app


@pytest.fixture(scope="module")
def running(database: Database, lake: Lake, small: Lake) -> Iterator[TestClient]:
    with TestClient(outer(database, {FIRST: lake.folder, SECOND: small.folder}), follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(running: TestClient) -> TestClient:
    running.cookies.clear()
    return running


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("small")
    made = Lake.create(folder / "lake")
    ingest(made, [write_small_archive(folder)])
    return made


def test_program_asks_a_draft_below_its_link(client: TestClient, lake: Lake, token_of: TokenOf) -> None:
    answer = client.get(f"/drafts/{token_of(FIRST)}/v1/workloads")
    assert {row["collection"] for row in answer.json()["rows"]} == {"shelf", "shelf/deep"}
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_browser_gets_a_cookie_and_every_page_of_the_draft(client: TestClient, token_of: TokenOf) -> None:
    token = token_of(FIRST)
    first = client.get(f"/drafts/{token}/workloads?q=cnn", headers=BROWSER)
    assert (first.status_code, first.headers["location"]) == (303, "/workloads?q=cnn")
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={token};")
    assert {"HttpOnly", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    page = client.get("/workloads?q=cnn", headers=BROWSER)
    assert page.status_code == 200
    assert f"Draft of the submission {FIRST}" in page.text
    assert page.headers["cache-control"] == "no-store"


def test_notice_says_which_trials_a_draft_has(client: TestClient, token_of: TokenOf) -> None:
    # This one has a single release, of the submitted runs.
    client.get(f"/drafts/{token_of(FIRST)}/", headers=BROWSER)
    assert "so it has the submitted ones only" in client.get("/workloads", headers=BROWSER).text


def test_nobody_looks_for_releases_of_a_draft(database: Database, lake: Lake, token_of: TokenOf) -> None:
    # The files of a draft are deleted once its submission is decided: to look for more would log errors.
    before = {*threading.enumerate()}
    with TestClient(outer(database, {FIRST: lake.folder})) as client:
        assert client.get(f"/drafts/{token_of(FIRST)}/v1/workloads").status_code == 200
        assert LOOKING not in {thread.name for thread in threading.enumerate() if thread not in before}


def test_link_never_leads_to_another_site(client: TestClient, token_of: TokenOf) -> None:
    token = token_of(FIRST)
    for path in ("//evil.example", "///evil.example/x", "%2F%2Fevil.example", "\\evil.example", "%0d%0aset-cookie:x"):
        answer = client.get(f"/drafts/{token}/{path}", headers=BROWSER)
        if answer.status_code == 303:
            assert answer.headers["location"].startswith("/")
            assert not answer.headers["location"].startswith(("//", "/\\"))
            assert "evil" not in answer.headers.get("set-cookie", "")


def test_two_drafts_are_never_mixed_up(client: TestClient, token_of: TokenOf) -> None:
    for submission, name in ((FIRST, "shelf"), (SECOND, "small"), (FIRST, "shelf")):
        client.get(f"/drafts/{token_of(submission)}/", headers=BROWSER)
        assert client.get("/v1/workloads").json()["rows"][0]["collection"].startswith(name)


def test_leaving_a_draft_takes_the_cookie_back(client: TestClient, token_of: TokenOf) -> None:
    client.get(f"/drafts/{token_of(FIRST)}/", headers=BROWSER)
    assert client.get("/v1/workloads").status_code == 200
    assert client.get("/drafts/leave").headers["location"] == "/contribute"
    assert client.get("/v1/workloads").status_code == 404


@pytest.mark.parametrize("token", ["x", "A" * 56, "%00", "a" * 5000])
def test_forged_link_is_refused(client: TestClient, token: str) -> None:
    answer = client.get(f"/drafts/{token}/v1/workloads")
    assert answer.status_code == 404
    assert "ask its contributor" in answer.json()["detail"]
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers


def test_forged_cookie_shows_nothing(client: TestClient) -> None:
    answer = client.get("/v1/workloads", headers={"cookie": f'{COOKIE}="\\{"A" * 56}; x=="'})
    assert answer.status_code == 404


def test_draft_that_cannot_be_made_says_so_without_paths(client: TestClient, token_of: TokenOf) -> None:
    answer = client.get(f"/drafts/{token_of(BROKEN)}/v1/workloads")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "an error in the service, which is in its log"


def test_draft_closed_for_another_one_opens_again(
    database: Database, lake: Lake, small: Lake, token_of: TokenOf
) -> None:
    with TestClient(outer(database, {FIRST: lake.folder, SECOND: small.folder}, most=1)) as client:
        for submission in (FIRST, SECOND, FIRST):
            assert client.get(f"/drafts/{token_of(submission)}/healthz").status_code == 200


def sql_workers() -> int:
    commands = [child.cmdline() for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    return sum(any(PROGRAM in part for part in command) for command in commands)


def test_sql_runs_in_a_draft_and_its_workers_start_with_the_first_statement(
    client: TestClient, token_of: TokenOf
) -> None:
    draft = f"/drafts/{token_of(FIRST)}/"
    assert client.get(f"{draft}readyz").status_code == 200
    before = sql_workers()
    answer = client.post(f"{draft}v1/sql", json={"sql": "SELECT count(*) AS n FROM trials"})
    assert answer.json()["rows"] == [{"n": 50}]
    assert sql_workers() > before
