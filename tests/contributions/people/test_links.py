"""Links and sessions: they end with their token, can be listed and revoked, and their secrets are stored nowhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import event, text, update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake.cleaning import clean_contributions
from losslake_contributions.people import sessions
from losslake_contributions.people.links import PAGE, list_links, rotate_key
from losslake_contributions.people.sessions import MOST, find_session, sign_in, sign_out
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.people.tokens import revoke_token
from losslake_contributions.review.erasure import erase_runs
from losslake_contributions.serve import serve
from losslake_contributions.settings import Settings
from losslake_contributions.store.tables import Link, PageSession, Token
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA, Sender, Service
from tests.contributions.spooled_runs import SpooledRun

COOKIE = "losslake_contributor"


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


def live(sender: Sender, run: SpooledRun | None = None) -> tuple[SpooledRun, str]:
    """A run, and the path of its live page."""
    run = run or SpooledRun()
    return run, urlsplit(sender.create(run).json()["links"]["live"]).path


def shows(service: Service, path: str) -> bool:
    status = service.client.get(path).status_code
    assert status in (200, 404)
    return bool(status == 200)


def change(service: Service, kind: type[Any], **changes: Any) -> None:
    with Session(service.lake.engine) as session:
        session.execute(update(kind).values(**changes))
        session.commit()


def test_token_has_one_link_to_a_run_in_every_answer(service: Service, ada: Sender) -> None:
    run, path = live(ada)
    again = [ada.create(run), ada.send("GET", f"/v1/contributions/{run.id}")]
    assert {urlsplit(each.json()["links"]["live"]).path for each in again} == {path}
    other = service.sender("Ada", ADA)
    assert live(other, run)[1] != path
    assert shows(service, path)


def end_by_revoking(service: Service, sender: Sender) -> None:
    revoke_token(service.database, sender.id)


def end_by_expiry(service: Service, sender: Sender) -> None:
    with Session(service.lake.engine) as session:
        session.get_one(Token, sender.id).expires_at = datetime.now(UTC)
        session.commit()


@pytest.mark.parametrize("end", [end_by_revoking, end_by_expiry])
def test_links_drafts_and_sessions_end_with_their_token(
    service: Service, bob: Sender, end: Callable[[Service, Sender], None]
) -> None:
    sender = service.sender("Group", None)
    run, path = live(sender)
    name = sender.submitted(SpooledRun())
    draft = urlsplit(sender.send("GET", f"/v1/submissions/{name}").json()["links"]["draft"]).path
    cookie, token = {"cookie": f"{COOKIE}={sign_in(service.database, sender.id)}"}, draft.split("/")[2]
    in_draft = {"cookie": f"losslake_draft={token}"}
    _, other = live(bob)
    assert service.client.get("/reviews", headers=cookie, follow_redirects=False).status_code == 200
    assert service.client.get(f"{draft}v1/workloads").status_code == 200
    end(service, sender)
    assert not shows(service, path)
    assert not shows(service, f"{path}/events")
    assert service.client.get(f"{draft}v1/workloads").status_code == 404
    assert service.client.get("/v1/workloads", headers=in_draft).status_code == 404
    assert service.client.get("/reviews", headers=cookie, follow_redirects=False).status_code == 303
    assert shows(service, other)
    assert run.id not in {each.subject for each in list_links(service.database, limit=None)}


def test_owner_lists_and_revokes_links(service: Service, ada: Sender, bob: Sender) -> None:
    run, path = live(ada)
    listed = [each for each in ada.send("GET", "/v1/links").json()["links"] if each["subject"] == run.id]
    assert [(each["kind"], each["token"]) for each in listed] == [("live", ada.id)]
    place = f"/v1/links/{listed[0]['id']}"
    refused = bob.send("DELETE", place)
    assert (refused.status_code, refused.json()["type"]) == (404, "urn:losslake:problem:unknown-link")
    assert shows(service, path)
    assert [ada.send("DELETE", place).status_code for _ in range(2)] == [204, 204]
    assert not shows(service, path)
    assert shows(service, live(ada, run)[1])
    assert ada.send("DELETE", "/v1/links/x").status_code == 422
    assert service.client.get("/v1/links").status_code == 401


def test_list_of_links_has_pages(service: Service) -> None:
    sender = service.sender("Many", None)
    runs = {live(sender)[0].id for _ in range(PAGE + 2)}
    first = sender.send("GET", "/v1/links").json()
    rest = sender.send("GET", "/v1/links", params={"after": first["next"]}).json()
    assert (len(first["links"]), len(rest["links"]), rest["next"]) == (PAGE, 2, None)
    assert {each["subject"] for each in first["links"] + rest["links"]} == runs


def test_expired_link_is_followed_by_another(service: Service, ada: Sender) -> None:
    run, path = live(ada)
    change(service, Link, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert not shows(service, path)
    _, again = live(ada, run)
    assert again != path
    assert shows(service, again)


def test_link_ends_with_its_token_at_the_latest(service: Service) -> None:
    sender = service.sender("Short", None, days=1)
    run, _ = live(sender)
    (link,) = [each for each in list_links(service.database, limit=None) if each.subject == run.id]
    assert link.expires_at - datetime.now(UTC) < timedelta(days=1)


def test_links_to_erased_runs_end(service: Service, ada: Sender) -> None:
    run, path = live(ada)
    erase_runs(service.lake, [run.id])
    assert not shows(service, path)


def test_new_key_ends_every_link_of_a_running_service(service: Service, ada: Sender) -> None:
    run, path = live(ada)
    key = SigningKey.of(service.lake)
    before = key.read()
    rotate_key(service.database, key)
    assert not shows(service, path)
    assert key.read() != before
    assert shows(service, live(ada, run)[1])
    # Also one that the operator has put there.
    _, path = live(ada)
    key.file.write_text("0123456789abcdef" * 4)
    assert not shows(service, path)
    assert shows(service, live(ada, run)[1])


def test_key_that_is_too_short_or_has_no_place_is_refused(empty_lake: Lake, lake_in_postgresql: Lake) -> None:
    key = SigningKey.of(empty_lake)
    key.file.write_text("short\n")
    with pytest.raises(LossLakeError, match="less than 32 bytes"):
        SigningKey.of(empty_lake)
    with pytest.raises(LossLakeError, match="LOSSLAKE_CONTRIBUTIONS_SIGNING_KEY_FILE"):
        serve(Settings.model_construct(log_format="off", lake=str(lake_in_postgresql)))
    with pytest.raises(LossLakeError, match="can't be read or written: No such file"):
        SigningKey.of(empty_lake, f"{empty_lake.folder}/nowhere/key")


def test_no_secret_is_in_the_database(service: Service, ada: Sender) -> None:
    _, path = live(ada)
    cookie = sign_in(service.database, ada.id)
    secrets = [path.split("/")[2][22:], cookie, SigningKey.of(service.lake).read().decode(), ada.token]
    with service.lake.engine.connect() as connection:
        for table in ("links", "sessions", "tokens", "audit"):
            rows = str(connection.execute(text(f"SELECT * FROM losslake_contribution_{table}")).all())
            assert [secret for secret in secrets if secret in rows] == []
    file = b"".join(path.read_bytes() for path in service.lake.folder.glob("catalog.db*"))
    assert [secret for secret in secrets if secret.encode() in file] == []


def test_signing_out_ends_the_session_and_no_other(service: Service, ada: Sender) -> None:
    first, second = (sign_in(service.database, ada.id) for _ in range(2))
    answer = service.client.post("/sign-out", headers={"cookie": f"{COOKIE}={first}"}, follow_redirects=False)
    assert answer.status_code == 303
    assert find_session(service.database, first) is None
    assert find_session(service.database, second) is not None
    sign_out(service.database, first)
    # The token itself is no cookie.
    assert find_session(service.database, ada.token) is None


def test_sessions_of_a_token_are_limited_and_end(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    cookies = [sign_in(service.database, ada.id) for _ in range(MOST + 1)]
    assert [find_session(service.database, each) is not None for each in cookies] == [False] + [True] * MOST
    monkeypatch.setattr(sessions, "HOURS", 0)
    assert find_session(service.database, sign_in(service.database, ada.id)) is None


def test_ended_links_are_deleted_after_a_month(service: Service, ada: Sender) -> None:
    run, _ = live(ada)
    change(service, Link, expires_at=datetime.now(UTC) - timedelta(days=31))
    kept, path = live(ada)
    clean_contributions(service.database, 0)
    with Session(service.lake.engine) as session:
        assert [link.subject for link in session.query(Link)] == [kept.id]
    assert shows(service, path)
    change(service, PageSession, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    sign_in(service.database, ada.id)
    with Session(service.lake.engine) as session:
        assert session.query(PageSession).count() == 1
    assert run.id != kept.id


def test_link_is_found_by_one_query_with_indexes(service: Service, ada: Sender) -> None:
    _, path = live(ada)
    statements: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *more: Any) -> None:
        statements.append((statement, parameters))

    event.listen(service.lake.engine, "before_cursor_execute", note)
    try:
        service.client.get(f"{path}/v1/nothing")
    finally:
        event.remove(service.lake.engine, "before_cursor_execute", note)
    (asked,) = statements
    with service.lake.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[0]}", asked[1]).all()
    assert {row[3].partition(" ")[0] for row in plan} == {"SEARCH"}
