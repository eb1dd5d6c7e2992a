"""Submissions: made of finished runs, once; withdrawn by their contributor; returned and split by a reviewer."""

from __future__ import annotations

from typing import Any

import pytest

from losslake.record.spool import new_name
from tests.contributions.conftest import ADA, Sender, Service
from tests.contributions.spooled_runs import SpooledRun

REASON = {"reason": "the steps count examples"}


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


def test_the_same_runs_are_submitted_once(ada: Sender) -> None:
    runs = [SpooledRun(), SpooledRun(batch_size=128)]
    ada.contribute(*runs)
    credit = {"name": "Ada", "orcid": ADA, "role": "software"}
    claim = {"contribution": runs[0].id, "metric": "val/loss", "target": 0.5, "steps": 2}
    facts: dict[str, Any] = {"contributors": [credit], "claims": [claim], "note": "two\nlines"}
    first, again = ada.submit(*runs, **facts), ada.submit(*reversed(runs), **facts)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"].endswith(f"/v1/submissions/{first.json()['id']}")
    document = again.json()
    assert document == first.json()
    assert (document["state"], document["n_runs"], document["owner"]["orcid"]) == ("submitted", 2, ADA)
    assert (document["contributors"], document["claims"], document["note"]) == ([credit], [claim], "two\nlines")
    studies = [f"given/mnist/cnn/sgd/{run.batch_size}" for run in sorted_runs(runs)]
    assert [(run["study"], run["status"]) for run in document["runs"]] == [(study, "COMPLETE") for study in studies]
    status = ada.send("GET", f"/v1/contributions/{runs[0].id}").json()
    assert status["submission"] == {"id": document["id"], "state": "submitted", "reason": None, "release": None}


def sorted_runs(runs: list[SpooledRun]) -> list[SpooledRun]:
    return sorted(runs, key=lambda run: run.id)


def test_a_run_is_in_one_submission(ada: Sender) -> None:
    run, other = SpooledRun(), SpooledRun()
    name = ada.submitted(run)
    ada.contribute(other)
    for response in (
        ada.submit(run, other),
        ada.submit(run, note="changed"),
        ada.submit(run, licence="CC-BY-4.0", claims=[]),
    ):
        if response.status_code == 200:
            assert response.json()["id"] == name
            continue
        assert response.status_code == 409
        assert response.json()["submitted"] == [{"contribution": run.id, "submission": name}]
    assert ada.submit(other).status_code == 201


def test_only_finished_runs_are_submitted(ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    response = ada.submit(run)
    assert (response.status_code, response.json()["unfinished"]) == (409, [run.id])
    assert ada.submit(SpooledRun()).status_code == 404


def test_the_licence_is_that_of_the_runs(ada: Sender) -> None:
    stated, open_run = SpooledRun(), SpooledRun(licence=None)
    ada.contribute(stated, open_run)
    response = ada.submit(stated, licence="CC0-1.0")
    assert (response.status_code, "was recorded with the licence" in response.json()["detail"]) == (422, True)
    assert ada.submit(open_run, licence="CC0-1.0").status_code == 201


@pytest.mark.parametrize(
    "changes",
    [
        {"contributions": []},
        {"contributions": ["x"]},
        {"contributions": [new_name()] * 2},
        {"contributions": [new_name() for _ in range(1001)]},
        {"licence": ""},
        {"licence": None},
        {"contributors": [{"name": "Ada", "orcid": "0000-0002-1825-0098"}]},
        {"contributors": [{"name": "<b>\u202e</b>"}]},
        {"claims": [{"contribution": new_name(), "metric": "val/loss", "target": 1, "steps": 1}]},
        {"note": "a\x00b"},
        {"note": "x" * 10_001},
        {"state": "accepted"},
    ],
)
def test_invalid_submissions_are_refused(ada: Sender, changes: dict[str, Any]) -> None:
    run = SpooledRun()
    ada.contribute(run)
    assert ada.submit(run, **changes).status_code == 422
    assert ada.send("GET", f"/v1/contributions/{run.id}").json()["submission"] is None


def test_a_withdrawn_submission_frees_its_runs(ada: Sender) -> None:
    run = SpooledRun()
    name = ada.submitted(run)
    states = [ada.send("POST", f"/v1/submissions/{name}/withdraw").json()["state"] for _ in range(2)]
    assert states == ["withdrawn", "withdrawn"]
    late = ada.submit(run)
    assert (late.status_code, late.json()["state"]) == (200, "withdrawn"), "a request that comes late revives nothing"
    again = ada.submit(run, note="once more")
    assert (again.status_code, again.json()["state"]) == (201, "submitted")


def test_a_returned_submission_tells_its_reason(ada: Sender, reviewer: Sender) -> None:
    run = SpooledRun()
    name = ada.submitted(run)
    for _ in range(2):
        response = reviewer.send("POST", f"/v1/submissions/{name}/return", json=REASON)
        assert (response.status_code, response.json()["state"]) == (200, "returned")
    assert reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": "other"}).status_code == 409
    of_run = ada.send("GET", f"/v1/contributions/{run.id}").json()["submission"]
    assert (of_run["state"], of_run["reason"]) == ("returned", REASON["reason"])
    assert ada.send("POST", f"/v1/submissions/{name}/withdraw").status_code == 409
    assert ada.submit(run, note="corrected").status_code == 201
    assert ada.send("GET", f"/v1/submissions/{name}").json()["state"] == "returned"


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": 7}, {"reason": "x", "more": 1}])
def test_a_return_needs_a_reason(ada: Sender, reviewer: Sender, body: dict[str, Any]) -> None:
    name = ada.submitted(SpooledRun())
    assert reviewer.send("POST", f"/v1/submissions/{name}/return", json=body).status_code == 422


def test_a_split_moves_runs_and_their_claims(ada: Sender, reviewer: Sender) -> None:
    runs = [SpooledRun(batch_size=size) for size in (1, 2, 3)]
    claims = [{"contribution": run.id, "metric": "val/loss", "target": 0.5, "steps": 2} for run in runs]
    name = ada.submitted(*runs, claims=claims)
    body = {"contributions": [runs[1].id]}
    first, again = [reviewer.send("POST", f"/v1/submissions/{name}/split", json=body) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200)
    # The link to the draft says when it expires.
    assert {**again.json(), "links": None} == {**first.json(), "links": None}
    part, rest = first.json(), reviewer.send("GET", f"/v1/submissions/{name}").json()
    assert (part["contributions"], part["claims"], part["split_from"]) == ([runs[1].id], [claims[1]], name)
    assert rest["contributions"] == sorted([runs[0].id, runs[2].id])
    assert sorted(claim["contribution"] for claim in rest["claims"]) == rest["contributions"]
    assert part["submitted_at"] == rest["submitted_at"], "it doesn't wait longer for being split"
    for runs_named in ([runs[1].id, runs[0].id], rest["contributions"], [new_name()]):
        response = reviewer.send("POST", f"/v1/submissions/{name}/split", json={"contributions": runs_named})
        assert response.status_code == 409


def test_runs_of_a_submission_come_in_pages(ada: Sender, bob: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake_contributions.review.submissions.PAGE", 2)
    runs = sorted_runs([SpooledRun(batch_size=size) for size in range(1, 6)])
    name = ada.submitted(*runs)
    pages = [ada.send("GET", f"/v1/submissions/{name}").json()]
    while pages[-1]["next"] is not None:
        pages.append(ada.send("GET", f"/v1/submissions/{name}", params={"after": pages[-1]["next"]}).json())
    assert [[run["id"] for run in page["runs"]] for page in pages] == [
        [run.id for run in runs[first : first + 2]] for first in (0, 2, 4)
    ]
    assert {(page["n_runs"], len(page["contributions"])) for page in pages} == {(5, 5)}
    assert ada.send("GET", f"/v1/submissions/{name}", params={"after": "x"}).status_code == 422
    link = pages[0]["runs"][0]["links"]["facts"]
    assert ada.send("GET", link).json() == runs[0].facts
    assert bob.send("GET", link).status_code == 404


def test_list_of_submissions_has_no_documents_of_runs(ada: Sender) -> None:
    run = SpooledRun()
    claim = {"contribution": run.id, "metric": "val/loss", "target": 0.5, "steps": 2}
    name = ada.submitted(run, claims=[claim], note="mine")
    (listed,) = (each for each in ada.send("GET", "/v1/submissions").json()["submissions"] if each["id"] == name)
    assert (listed["n_runs"], listed["note"], listed["bytes"]) == (1, "mine", len(run.data("0001/000001.jsonl")))
    assert not listed.keys() & {"runs", "contributions", "claims", "contributors"}
