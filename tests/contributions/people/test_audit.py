"""The log of decisions: each decision is in it once, with who and from where, and nothing can be taken out of it."""

from __future__ import annotations

import csv
import getpass
import io

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from losslake.lake.lake import Lake
from losslake_cli.main import app
from losslake_contributions.people.audit import Decision, list_decisions, record
from losslake_contributions.people.links import list_links
from losslake_contributions.people.tokens import create_token, revoke_token
from losslake_contributions.review.erasure import erase_runs
from losslake_contributions.store.database import Database
from tests.contributions.conftest import BOB, Sender, Service
from tests.contributions.spooled_runs import SpooledRun

HERE = getpass.getuser(), None, "command line"


def decisions(service: Service, subject: str) -> list[tuple[str, str, str | None, str, str]]:
    """Decisions about something, the first one first."""
    found = list_decisions(service.database, 100, subject)
    return [(each.action, each.who, each.token, each.origin, each.detail) for each in reversed(found)]


def test_decisions_over_http_name_token_and_address(service: Service, ada: Sender, reviewer: Sender) -> None:
    first, second, third = SpooledRun(), SpooledRun(batch_size=7), SpooledRun(batch_size=9)
    name = ada.submitted(first, second, third)
    new = reviewer.send("POST", f"/v1/submissions/{name}/split", json={"contributions": [second.id, third.id]}).json()
    for _ in range(2):  # the same again is one decision
        assert reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": "a"}).status_code == 200
        assert ada.send("POST", f"/v1/submissions/{new['id']}/withdraw").status_code == 200
    by_rea, by_ada = ("Rea Viewer", reviewer.id, "127.0.0.1"), ("Ada", ada.id, "127.0.0.1")
    assert decisions(service, name) == [
        ("split submission", *by_rea, f"2 runs into {new['id']}"),
        ("return submission", *by_rea, ""),
    ]
    assert decisions(service, new["id"]) == [("withdraw submission", *by_ada, "")]


def test_decisions_on_pages_name_token_and_address(service: Service, ada: Sender) -> None:
    name = ada.submitted(SpooledRun())
    service.client.post("/sign-in", data={"token": ada.token}, follow_redirects=False)
    assert service.client.post(f"/reviews/{name}/withdraw", follow_redirects=False).status_code == 303
    assert decisions(service, name) == [("withdraw submission", "Ada", ada.id, "127.0.0.1", "")]


def test_commands_name_the_account(service: Service, ada: Sender, capsys: pytest.CaptureFixture[str]) -> None:
    run, lake = SpooledRun(), ["--lake", str(service.lake.folder)]
    name = ada.submitted(run)
    (link,) = [each.id for each in list_links(service.database) if each.kind == "live"]
    for command in (
        ["tokens", "revoke-link", link],
        ["tokens", "rotate-key"],
        ["tokens", "revoke", ada.id],
        ["review", "return", name, "--reason", "incomplete"],
    ):
        app([*command, *lake], standalone_mode=False)
    erase_runs(service.lake, [run.id])
    erase_runs(service.lake, [run.id])
    assert decisions(service, link) == [("revoke link", *HERE, f"live {run.id}")]
    assert decisions(service, "signing-key") == [("rotate key", *HERE, "")]
    assert [each[:4] for each in decisions(service, ada.id)] == [("create token", *HERE), ("revoke token", *HERE)]
    assert decisions(service, name) == [("return submission", *HERE, "")]
    assert decisions(service, run.id) == [("erase run", *HERE, "")]
    capsys.readouterr()
    app(["audit", *lake, "--format", "csv"], standalone_mode=False)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["action"] for row in rows} >= {"revoke link", "rotate key", "revoke token", "erase run"}
    assert {row["origin"] for row in rows} == {"command line"}
    app(["audit", *lake, "--subject", link], standalone_mode=False)
    assert "revoke link" in capsys.readouterr().out


def test_acceptance_is_recorded_once_with_its_release(service: Service, ada: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    for _ in range(2):
        accepted = reviewer.send("POST", f"/v1/submissions/{name}/accept").json()
    by_rea = "Rea Viewer", reviewer.id, "127.0.0.1"
    assert decisions(service, name) == [("accept submission", *by_rea, f"release {accepted['release']}")]


def test_decision_that_fails_is_not_recorded(service: Service, ada: Sender, bob: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    assert bob.send("POST", f"/v1/submissions/{name}/withdraw").status_code == 404
    assert ada.send("POST", f"/v1/submissions/{name}/return", json={"reason": "a"}).status_code == 403
    assert reviewer.send("POST", f"/v1/submissions/{name}/split", json={"contributions": []}).status_code == 422
    assert decisions(service, name) == []


def test_log_has_no_text_that_anybody_sent(service: Service, ada: Sender, reviewer: Sender) -> None:
    word = "unspeakable"
    sender = service.sender(word, BOB)
    name = sender.submitted(SpooledRun(parameters={word: word}), note=word)
    reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": word})
    with service.lake.engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM losslake_contribution_audit")).all()
    assert rows
    assert word not in str(rows)
    # Names are those of the table of contributors, from which an erasure removes a text.
    assert [each.who for each in list_decisions(service.database, 9, sender.id)] == [getpass.getuser()]
    erase_runs(service.lake, [], ["Rea Viewer"])
    assert [each.who for each in list_decisions(service.database, 9, name)] == ["[erased]"]


@pytest.mark.parametrize("lake_name", ["empty_lake", "lake_in_postgresql"])
def test_entries_are_never_changed_or_deleted(lake_name: str, request: pytest.FixtureRequest) -> None:
    lake: Lake = request.getfixturevalue(lake_name)
    database = Database.create(lake)
    token = create_token(database, "Ada", None, ["contribute"], 1).split("_")[1]
    before: list[Decision] = [*list_decisions(database, 9)]
    assert [(each.action, each.subject) for each in before] == [("create token", token)]
    statements = ["UPDATE losslake_contribution_audit SET origin = 'x'", "DELETE FROM losslake_contribution_audit"]
    if lake.engine.dialect.name == "postgresql":
        statements.append("TRUNCATE losslake_contribution_audit")
    for statement in statements:
        with lake.engine.connect() as connection, pytest.raises(DBAPIError, match="append-only"):
            connection.execute(text(statement))
    revoke_token(database, token)
    assert list_decisions(database, 9)[1:] == before
    with pytest.raises(RuntimeError, match="a decision fails"):
        database.write("", _record_and_fail)
    assert len(list_decisions(database, 9)) == 2


def _record_and_fail(session: object) -> None:
    record(session, "accept submission", "x")  # type: ignore[arg-type]
    raise RuntimeError("a decision fails")
