"""Strangers with and without tokens against the contribution service; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from losslake.record.spool import new_name
from losslake_contributions.people.tokens import revoke_token
from losslake_contributions.review.site import COOKIE
from losslake_contributions.store.tables import Token
from tests.attacks.contributors import Target, fresh_run, logged, refused
from tests.contributions.conftest import Sender
from tests.contributions.spooled_runs import SpooledRun, rows

pytestmark = [pytest.mark.slow, pytest.mark.attack]
UNKNOWN = "00000000-0000-4000-8000-000000000000"
CURVE = "0001/000001.jsonl"


def everything(run: str, submission: str) -> list[tuple[str, str]]:
    """A request of every kind."""
    return [
        ("PUT", f"/v1/contributions/{run}"),
        ("GET", f"/v1/contributions/{run}"),
        ("POST", f"/v1/contributions/{run}/finish"),
        ("GET", f"/v1/contributions/{run}/segments"),
        ("GET", f"/v1/contributions/{run}/segments/1/1"),
        ("PUT", f"/v1/contributions/{run}/segments/1/1?sha256={'0' * 64}"),
        ("POST", "/v1/live"),
        ("POST", "/v1/submissions"),
        ("GET", "/v1/submissions"),
        ("GET", f"/v1/submissions/{submission}"),
        ("GET", f"/v1/submissions/{submission}/review"),
        *(("POST", f"/v1/submissions/{submission}/{verb}") for verb in ("accept", "return", "split", "withdraw")),
    ]


def answers(sender: Sender, run: str, submission: str) -> list[tuple[int, str]]:
    """Status and text of each answer, without ids."""
    found = [sender.send(method, path, json={}) for method, path in everything(run, submission)]
    return [(each.status_code, each.text.replace(run, "RUN").replace(submission, "NAME")) for each in found]


def without_request(answers: list[tuple[int, str]]) -> list[tuple[int, Any]]:
    """Answers without the number of the request."""
    documents = [(status, json.loads(text)) for status, text in answers]
    return [(status, {**each, "request_id": "", "instance": ""}) for status, each in documents]


def test_nothing_without_a_token(target: Target) -> None:
    """read or write without a token"""
    name = target.victim.submitted(run := fresh_run())
    for method, path in everything(run.id, name):
        answer = target.client.request(method, path, json={})
        assert "bearer" in answer.headers["www-authenticate"].lower()
        assert run.id not in refused(answer, 401)


def test_guessed_tokens(target: Target) -> None:
    """guess a token, or learn from answers which part of it is right"""
    _, known, secret = target.victim.token.split("_", 2)
    mine = target.mallory.token.split("_", 2)[2]
    guesses = [
        f"llc_{known}_{mine}",
        f"llc_{'0' * 12}_{secret}",
        f"llc_{known}_{secret[::-1]}",
        f"llc_{known}_{'A' * 43}",
    ]
    told = {refused(Sender(target.client, guess).send("GET", "/v1/submissions"), 401) for guess in guesses}
    assert len(told) == 1
    odd = [
        known,
        secret,
        f"llc_{known}_",
        f"llc_{known}_{secret[:-1]}",
        f"llc_{known}_{secret}A",
        f"LLC_{known}_{secret}",
        f"llc_{known}_{secret}\u00e9",
        f"llc_{known}_' OR 1=1 --{'x' * 32}",
        f"llc_%_{secret}",
        "A" * 8000,
    ]
    for guess in odd:
        answer = target.client.get("/v1/submissions", headers={b"authorization": b"Bearer " + guess.encode("latin-1")})
        assert answer.status_code in (400, 401, 431), answer.text
    scheme = target.client.get("/v1/submissions", headers={"authorization": f"Basic {target.victim.token}"})
    refused(scheme, 401)


def test_dead_tokens(target: Target) -> None:
    """go on with a token that was revoked, has expired, or was stolen from a page's cookie"""
    thief = target.someone("Thief")
    assert thief.send("GET", "/v1/submissions").status_code == 200
    revoke_token(target.database, thief.token)
    assert "revoked" in refused(thief.send("GET", "/v1/submissions"), 401)
    assert target.page("/reviews", thief).status_code == 303
    late = target.someone("Late")
    with Session(target.lake.engine) as session:
        session.get_one(Token, late.token.split("_")[1]).expires_at = datetime.now(UTC) - timedelta(seconds=1)
        session.commit()
    assert "expired" in refused(late.send("GET", "/v1/submissions"), 401)
    assert target.page("/reviews", late).status_code == 303


def test_tokens_in_odd_places(target: Target) -> None:
    """have a token taken from a URL, a cookie or another header, where others may see it or put it"""
    token = target.victim.token
    places: list[tuple[str, Any]] = [
        (f"/v1/submissions?access_token={token}", {}),
        (f"/v1/submissions?token={token}", {}),
        ("/v1/submissions", {"x-api-key": token}),
        ("/v1/submissions", {"proxy-authorization": f"Bearer {token}"}),
        ("/v1/submissions", {"x-authorization": f"Bearer {token}"}),
        ("/v1/submissions", {"cookie": f"{COOKIE}={token}"}),
        (
            "/v1/submissions",
            [("authorization", f"Bearer {target.mallory.token}"), ("authorization", f"Bearer {token}")],
        ),
    ]
    for path, headers in places:
        refused(target.client.get(path, headers=headers), 401, 422)
    assert not [line for line in target.service.errors if token.split("_", 2)[2] in line], "no secret is logged"


def test_contributor_as_reviewer(target: Target) -> None:
    """accept, return or split a submission with a contributor's token"""
    runs = [fresh_run(), fresh_run(batch_size=128)]
    name = target.mallory.submitted(*runs)
    for verb, body in (("accept", {}), ("return", {"reason": "x"}), ("split", {"contributions": [runs[0].id]})):
        for who in (target.mallory, target.victim):
            refused(who.send("POST", f"/v1/submissions/{name}/{verb}", json=body), 403)
            assert target.press(f"/reviews/{name}/{verb}", who, reason="x", runs=runs[0].id).status_code in (403, 404)
    assert target.state(name) == "submitted"


def test_reviewer_as_contributor(target: Target) -> None:
    """change what others sent, with a reviewer's token"""
    run = fresh_run()
    target.victim.create(run)
    refused(target.reviewer.put(run), 403)
    refused(target.reviewer.finish(run), 403)
    refused(target.reviewer.create(SpooledRun(id=run.id, batch_size=1)), 403)
    refused(target.reviewer.submit(run), 403)
    both = target.someone("Both", "contribute", "review")
    refused(both.put(run), 404)
    refused(both.finish(run), 404)
    target.victim.put(run)
    target.victim.finish(run)
    name = target.victim.submit(run).json()["id"]
    refused(both.send("POST", f"/v1/submissions/{name}/withdraw"), 404)
    assert target.state(name) == "submitted"


def test_self_review(target: Target) -> None:
    """accept one's own submission, with a token for both or a second one of the same person"""
    both = target.someone("Self Made", "contribute", "review")
    name = both.submitted(fresh_run())
    target.wait_for_review(name)
    assert "another reviewer" in refused(both.send("POST", f"/v1/submissions/{name}/accept", timeout=120), 403)
    assert target.press(f"/reviews/{name}/accept", both).status_code == 403
    assert target.state(name) == "submitted"


def test_runs_of_others_are_read(target: Target) -> None:
    """read the runs and submissions of somebody else, or learn whether they exist"""
    name = target.victim.submitted(run := fresh_run())
    foreign = without_request(answers(target.mallory, run.id, name))
    unknown = without_request(answers(target.mallory, new_name(), UNKNOWN))
    # Only for PUT of a run.json is an id taken or free; there, the body is refused first.
    assert foreign == unknown
    assert not [each for each in foreign if each[0] < 400 and "Victoria" in str(each)]


def test_runs_of_others_are_written(target: Target) -> None:
    """add to, finish, submit or replace somebody else's run"""
    run = fresh_run()
    target.victim.create(run)
    more = SpooledRun(id=run.id, segments={"0009/000001.jsonl": rows(range(3))})
    refused(target.mallory.put(more, "0009/000001.jsonl"), 404)
    refused(target.mallory.finish(run), 404)
    refused(target.mallory.create(SpooledRun(id=run.id, batch_size=1)), 409)
    refused(target.mallory.submit(run), 404)
    mine = fresh_run()
    target.mallory.contribute(mine)
    refused(target.mallory.submit(mine, run), 404)
    claim = {"contribution": run.id, "metric": "val/loss", "target": 0.5, "steps": 2}
    refused(target.mallory.submit(mine, claims=[claim]), 422)
    assert target.victim.send("GET", f"/v1/contributions/{run.id}").json()["n_segments"] == 0
    assert target.victim.put(run).status_code == 201


def test_squatted_ids(target: Target) -> None:
    """take the id of a run before its owner sends it, to learn its facts or to slip in others"""
    run = fresh_run()
    assert target.mallory.create(SpooledRun(id=run.id, batch_size=1)).status_code == 201
    assert "other facts" in refused(target.victim.create(run), 409)
    refused(target.victim.put(run), 404)
    assert refused(target.mallory.send("GET", f"/v1/contributions/{run.id}/segments/1/1"), 404)


def test_queue_of_others(target: Target) -> None:
    """list the submissions of others, through states, pages and odd parameters"""
    name = target.victim.submitted(fresh_run(), note="secret plan")
    stranger = target.someone("Stranger")
    mine: tuple[dict[str, str], ...] = ({}, {"state": "submitted"}, {"state": "accepted"})
    for query in mine:
        assert stranger.send("GET", "/v1/submissions", params=query).json()["submissions"] == []
    refused(stranger.send("GET", "/v1/submissions", params={"after": name}), 404)
    odd: list[dict[str, Any]] = [
        {"contributor": "x"},
        {"owner": "Victoria"},
        {"state": "' OR 1=1 --"},
        {"state": ["submitted", "accepted"]},
    ]
    for parameters in odd:
        refused(stranger.send("GET", "/v1/submissions", params=parameters), 422, 400)
    for path in ("/reviews", "/reviews?state=returned", f"/reviews?after={name}"):
        assert "secret plan" not in target.page(path, stranger).text


def test_replayed_segments(target: Target) -> None:
    """replay a segment at another place, in another run, or with other bytes"""
    run = fresh_run()
    target.mallory.create(run)
    assert [target.mallory.put(run).status_code for _ in range(2)] == [201, 200]
    other = b'{"step": 0, "val/loss": 0}\n'
    forged: dict[str, Any] = {"data": other, "sha256": hashlib.sha256(other).hexdigest()}
    refused(target.mallory.put(run, **forged), 409)
    refused(target.mallory.put(run, from_step=5), 409)
    refused(target.mallory.put(run, n=2, from_step=5), 409)
    assert target.mallory.finish(run).status_code == 200
    assert target.mallory.submit(run).status_code == 201
    refused(target.mallory.put(run, n=2), 409)
    refused(target.mallory.put(run, attempt=2, from_step=0), 409)
    refused(target.mallory.put(run, **forged), 409)
    (held,) = target.mallory.send("GET", f"/v1/contributions/{run.id}/segments").json()["segments"]
    assert held == run.place(CURVE)


def test_forged_digests(target: Target) -> None:
    """have bytes stored under the digest of others, or finish a run with digests that don't hold"""
    run = fresh_run()
    target.mallory.create(run)
    refused(target.mallory.put(run, data=b'{"step": 1}\n'), 422)
    refused(target.mallory.put(run, sha256="0" * 64), 422)
    for digest in ("", "0" * 63, "A" * 64, f"{'0' * 64}\n", "' OR 1=1 --", "\uff10" * 64):
        refused(target.mallory.put(run, sha256=digest), 422)
    assert target.mallory.send("GET", f"/v1/contributions/{run.id}").json()["n_segments"] == 0
    target.mallory.put(run)
    place = run.place(CURVE)
    for changes in ({"sha256": "0" * 64}, {"bytes": 1}, {"from_step": 3}, {"n": 2}, {"attempt": 2}):
        end = {**run.end, "segments": [{**place, **changes}]}
        refused(target.mallory.send("POST", f"/v1/contributions/{run.id}/finish", json=end), 409)
    twice = {**run.end, "segments": [place, place]}
    refused(target.mallory.send("POST", f"/v1/contributions/{run.id}/finish", json=twice), 422)
    refused(target.mallory.send("POST", f"/v1/contributions/{run.id}/finish", json={**run.end, "segments": []}), 409)


def test_tricks_in_paths(target: Target) -> None:
    """reach other files or routes by ids and numbers in paths"""
    odd = [
        "..",
        "../../etc/passwd",
        "..%2f..%2flake.toml",
        "%2e%2e",
        "%00",
        "a%00b",
        "%0d%0a",
        "\\..",
        "C:",
        "*",
        "%25",
        "'--",
        "0190A000-0000-7000-8000-000000000001",
        "{0190a000-0000-7000-8000-000000000001}",
        "\u0660",
        "%ff",
        "a" * 3000,
    ]
    for text in odd:
        for path in (f"/v1/contributions/{text}", f"/v1/submissions/{text}", f"/v1/submissions/{text}/review"):
            answer = target.mallory.send("GET", path)
            assert answer.status_code in (400, 404, 422), (path, answer.text)
    run = fresh_run()
    target.mallory.create(run)
    for number in ("0", "-1", "1.0", "1e3", "\u0661", "9" * 10, "9" * 5000, "..", "0x1", " 1", "1%00"):
        for where in (f"{number}/1", f"1/{number}"):
            answer = target.mallory.send("PUT", f"/v1/contributions/{run.id}/segments/{where}?sha256={'0' * 64}")
            assert answer.status_code in (400, 404, 405, 422), (where, answer.text)
    for name in ("%00" * 36, "\u00e9" * 36, "'" * 36, "-" * 36):
        refused(target.mallory.send("GET", f"/v1/submissions/{name}"), 404)
        refused(target.mallory.send("GET", f"/v1/submissions?after={name}"), 404)
    files = target.lake.folder / "contributions"
    assert all(len(path.name) == 36 for path in files.iterdir()) if files.exists() else True


def test_lines_in_logs_and_headers(target: Target) -> None:
    """write lines into the log, or headers into an answer"""
    mark = new_name()
    forged = f"{mark}%0d%0aset-cookie:%20a=b%0a%7B%22level%22:%22error%22%7D%1b%5b2J"
    for path in (f"/v1/submissions/{forged}", f"/v1/contributions/{forged}", f"/{forged}", f"/reviews/{forged}"):
        answer = target.mallory.send("GET", path)
        assert "set-cookie" not in answer.headers
    query = target.mallory.send("GET", f"/v1/submissions?state={forged}")
    assert "set-cookie" not in query.headers
    agent = target.client.get("/healthz", headers={"user-agent": f"{mark} \x1b[2J", "x-request-id": f"{mark}\x1b"})
    assert agent.status_code in (200, 400)
    for line in logged(target, mark):
        assert "\x1b" not in json.dumps(line)
        assert line["level"] != "error"


def test_other_hosts(target: Target) -> None:
    """place links to another host in what the service answers"""
    name = target.mallory.submitted(fresh_run())
    for headers in (
        {"host": "evil.example"},
        {"host": ""},
        {"host": "127.0.0.1@evil.example"},
        {"host": "evil.example:8010"},
    ):
        answer = target.mallory.send("GET", f"/v1/submissions/{name}", headers=headers)
        assert answer.status_code == 400
        assert "evil" not in answer.headers.get("location", "")
    for headers in (
        {"x-forwarded-host": "evil.example"},
        {"forwarded": "host=evil.example"},
        {"x-forwarded-proto": "evil"},
    ):
        answer = target.mallory.send("GET", f"/v1/submissions/{name}", headers=headers)
        assert "evil" not in answer.text


def test_names_in_health_and_metrics(target: Target) -> None:
    """learn who sends what from health, metrics, OpenAPI or the pages for everybody"""
    name = target.victim.submitted(run := fresh_run(), note="private words")
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/contribute", "/sign-in", "/", "/robots.txt"):
        text = target.client.get(path).text
        assert not [
            word for word in ("Victoria", name, run.id, "private words", str(target.lake.folder)) if word in text
        ]


def test_unknown_methods(target: Target) -> None:
    """change something by another method, or one that a header names"""
    name = target.victim.submitted(run := fresh_run())
    for method in ("DELETE", "PATCH", "PUT", "OPTIONS", "TRACE", "PROPFIND", "CONNECT"):
        for path in (
            f"/v1/contributions/{run.id}/segments/1/1",
            f"/v1/submissions/{name}",
            f"/v1/contributions/{run.id}/",
        ):
            if (method, path[-1]) == ("PUT", "1"):
                continue
            assert target.victim.send(method, path).status_code in (400, 404, 405, 501)
    for header in ("x-http-method-override", "x-method-override"):
        assert target.victim.send("GET", f"/v1/submissions/{name}", headers={header: "DELETE"}).status_code == 200
    assert target.state(name) == "submitted"
