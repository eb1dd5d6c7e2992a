"""Tokens: only their hash is stored, they expire, are revoked, and allow what they are made for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text, update
from sqlalchemy.orm import Session

from losslake.record.spool import new_name
from losslake_contributions.people.tokens import create_token, list_tokens, revoke_token
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Token
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA, BOB, Sender, Service
from tests.contributions.spooled_runs import SpooledRun


def refused(sender: Sender) -> str:
    response = sender.send("GET", "/v1/submissions")
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    return str(response.json()["detail"])


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


def test_the_secret_is_not_in_the_database(service: Service, ada: Sender) -> None:
    secret = ada.token.split("_", 2)[2]
    with service.lake.engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM losslake_contribution_tokens")).all()
    assert secret not in str(rows)
    assert ada.send("GET", "/v1/submissions").status_code == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic YTpi", "llc_000000000000_x"])
def test_requests_without_a_token_are_refused(service: Service, header: str | None) -> None:
    run = SpooledRun()
    headers = {"Authorization": header} if header is not None else {}
    paths = [
        ("PUT", f"/v1/contributions/{run.id}"),
        ("GET", f"/v1/contributions/{run.id}"),
        ("GET", f"/v1/contributions/{run.id}/segments"),
        ("GET", f"/v1/contributions/{run.id}/segments/1/1"),
        ("PUT", f"/v1/contributions/{run.id}/segments/1/1"),
        ("POST", f"/v1/contributions/{run.id}/finish"),
        ("POST", "/v1/submissions"),
        ("GET", "/v1/submissions"),
        ("GET", f"/v1/submissions/{new_name()}"),
        *(("POST", f"/v1/submissions/{new_name()}/{what}") for what in ("accept", "return", "split", "withdraw")),
    ]
    for method, path in paths:
        response = service.client.request(method, path, headers=headers)
        assert response.status_code == 401, path


def test_a_token_in_the_url_is_refused(service: Service, ada: Sender) -> None:
    response = service.client.get("/v1/submissions", params={"token": ada.token})
    assert response.status_code in (401, 422)


def test_a_wrong_secret_is_refused_like_an_unknown_token(service: Service, ada: Sender, bob: Sender) -> None:
    _, name, secret = ada.token.split("_", 2)
    _, other, _ = bob.token.split("_", 2)
    wrong = [f"llc_{name}_{secret[:-1]}{'A' if secret[-1] != 'A' else 'B'}", f"llc_{other}_{secret}"]
    unknown = f"llc_{'0' * 12}_{secret}"
    assert {refused(Sender(service.client, token)) for token in [*wrong, unknown]} == {
        "the token isn't valid: copy it again, or ask the operator for one"
    }


def test_a_revoked_token_is_refused_at_once(service: Service, ada: Sender) -> None:
    _, name, _ = ada.token.split("_", 2)
    revoke_token(service.database, name)
    assert "revoked" in refused(ada)
    revoke_token(service.database, ada.token)
    assert [each.state for each in list_tokens(service.database) if each.id == name] == ["revoked"]
    with pytest.raises(LossLakeError, match="there is no token 123"):
        revoke_token(service.database, "123")


def test_an_expired_token_is_refused(service: Service, ada: Sender) -> None:
    _, name, _ = ada.token.split("_", 2)
    with Session(service.lake.engine) as session:
        session.execute(
            update(Token).where(Token.id == name).values(expires_at=datetime.now(UTC) - timedelta(seconds=1))
        )
        session.commit()
    assert "expired" in refused(ada)
    assert [each.state for each in list_tokens(service.database) if each.id == name] == ["expired"]


def test_a_scope_allows_only_its_requests(service: Service, ada: Sender, reviewer: Sender) -> None:
    run = SpooledRun()
    name = ada.submitted(run)
    for what, body in (("accept", None), ("return", {"reason": "no"}), ("split", {"contributions": [run.id]})):
        response = ada.send("POST", f"/v1/submissions/{name}/{what}", json=body)
        assert (response.status_code, response.json()["type"].rpartition(":")[2]) == (403, "forbidden")
    for response in (
        reviewer.create(SpooledRun()),
        reviewer.put(run),
        reviewer.finish(run),
        reviewer.submit(run),
        reviewer.send("POST", f"/v1/submissions/{name}/withdraw"),
    ):
        assert response.status_code == 403


def test_tokens_of_one_orcid_are_of_one_contributor(service: Service, ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    again = service.sender("Ada", ADA)
    assert again.put(run).status_code == 201, "a new token of the same person goes on"
    assert service.sender("Ada", None).put(run).status_code == 404, "a name alone proves nothing"


def test_a_contributor_without_orcid_gets_another_token_by_id(service: Service) -> None:
    first = service.sender("Group", None)
    run = SpooledRun()
    first.create(run)
    (facts,) = (each for each in list_tokens(service.database) if each.owner.name == "Group")
    token = create_token(service.database, "Group", None, ["contribute"], 1, contributor=facts.contributor)
    assert Sender(service.client, token).put(run).status_code == 201
    with pytest.raises(LossLakeError, match="is Group, without ORCID"):
        create_token(service.database, "Other", None, ["contribute"], 1, contributor=facts.contributor)
    with pytest.raises(LossLakeError, match="there is no contributor x"):
        create_token(service.database, "Group", None, ["contribute"], 1, contributor="x")


@pytest.mark.parametrize(
    ("name", "orcid_id", "scopes", "days", "message"),
    [
        ("", None, ["contribute"], 1, "name"),
        ("two\nlines", None, ["contribute"], 1, "printable"),
        ("Ada", "0000-0002-1825-0098", ["contribute"], 1, "mistyped"),
        ("Ada", BOB, ["admin"], 1, "scopes are contribute and review, not admin"),
        ("Ada", BOB, [], 1, "not none"),
        ("Ada", BOB, ["review"], 0, "valid for 1 to 3,650 days, not 0"),
    ],
)
def test_invalid_facts_make_no_token(
    service: Service, name: str, orcid_id: str | None, scopes: list[str], days: int, message: str
) -> None:
    before = [each.id for each in list_tokens(Database.open(service.lake))]
    with pytest.raises(LossLakeError, match=message):
        create_token(service.database, name, orcid_id, scopes, days)
    assert [each.id for each in list_tokens(Database.open(service.lake))] == before
