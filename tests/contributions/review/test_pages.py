"""The pages of contributions: signing in, the queue, reviews, decisions by forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from losslake.lake.lake import Lake
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.spooled_runs import SpooledRun
from tests.servers.processes import wait_until
from tests.service.web.reading import Page

BROWSER = {"accept": "text/html"}


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


def sign_in(sender: Sender, following: str = "") -> Any:
    sender.client.cookies.clear()
    return sender.client.post(
        "/sign-in", data={"token": sender.token, "next": following}, headers=BROWSER, follow_redirects=False
    )


def post(service: Service, path: str, headers: dict[str, str] | None = None, **form: str) -> Any:
    return service.client.post(path, data=form, headers=BROWSER | (headers or {}), follow_redirects=False)


def page_of(service: Service, name: str) -> str:
    """Return the page of a submission, once its review is made."""

    def is_made() -> bool:
        return "being made" not in service.client.get(f"/reviews/{name}", headers=BROWSER).text

    wait_until(is_made, "the review is made")
    text: str = service.client.get(f"/reviews/{name}", headers=BROWSER).text
    return text


def test_start_page_says_how_to_contribute_and_how_long_the_queue_is(empty_lake: Lake) -> None:
    with serving(empty_lake) as service:
        assert service.client.get("/", follow_redirects=False).headers["location"] == "/contribute"
        assert "0 submissions wait for a review" in service.client.get("/contribute").text
        service.sender("Ada", ADA).submitted(SpooledRun())
        text = service.client.get("/contribute").text
    assert "1 submission waits for a review; the oldest was submitted less than a minute ago" in text
    assert "losslake push RUNS --url http://localhost" in text


def test_signing_in_leads_back_and_keeps_the_token_from_scripts_and_other_sites(service: Service, ada: Sender) -> None:
    service.client.cookies.clear()
    asked = service.client.get("/reviews/x", headers=BROWSER, follow_redirects=False)
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in?next=/reviews/x")
    done = sign_in(ada, "/reviews/x")
    assert (done.status_code, done.headers["location"]) == (303, "/reviews/x")
    cookie = {part.strip().lower() for part in done.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict"} <= cookie
    assert done.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "following",
    ["https://evil.example", "//evil.example", "/reviews//evil", "/reviews/\\evil", "/reviews/\r\nx: y", ""],
)
def test_signing_in_never_leads_to_another_site(ada: Sender, following: str) -> None:
    assert sign_in(ada, following).headers["location"] == "/reviews"


def test_wrong_token_is_refused_without_a_cookie(service: Service) -> None:
    response = post(service, "/sign-in", token="llc_000000000000_" + "a" * 43)
    assert response.status_code == 401
    assert "the token isn&#39;t valid" in response.text
    assert "set-cookie" not in response.headers


def test_contributors_see_their_own_submissions_reviewers_everyones(
    service: Service, ada: Sender, bob: Sender, reviewer: Sender
) -> None:
    name = ada.submitted(SpooledRun())
    for sender, seen in ((ada, True), (bob, False), (reviewer, True)):
        sign_in(sender)
        assert (name in service.client.get("/reviews").text) == seen
        assert (service.client.get(f"/reviews/{name}").status_code == 200) == seen


def test_page_of_a_submission_shows_a_page_of_its_runs(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("losslake_contributions.review.submissions.PAGE", 2)
    runs = [SpooledRun(batch_size=size, parameters={"long": f"{size}{'x' * 9_000}"}) for size in (1, 2, 3)]
    name, *_ = ada.submitted(*runs), sign_in(ada)
    ids = sorted(run.id for run in runs)
    first = service.client.get(f"/reviews/{name}").text
    assert [run in first.partition('id="runs"')[2] for run in ids] == [True, True, False]
    assert f"/reviews/{name}?after={ids[1]}#runs" in first
    assert "x" * 200 not in first
    second = service.client.get(f"/reviews/{name}", params={"after": ids[1]}).text
    assert [run in second.partition('id="runs"')[2] for run in ids] == [False, False, True]
    assert "Next runs" not in second


@dataclass
class Reviewed:
    """A submission whose review is made, and that nobody decides."""

    owner: Sender
    run: SpooledRun
    name: str


@pytest.fixture(scope="module")
def reviewed(service: Service) -> Reviewed:
    owner = service.sender("Ada", ADA)
    run = SpooledRun(parameters={"<b>name</b>": "<script>alert(1)</script>", "learning_rate": 0.1})
    name = owner.submitted(run, note="<img src=x onerror=alert(1)>")
    sign_in(owner)
    page_of(service, name)
    return Reviewed(owner, run, name)


def test_page_shows_what_was_sent_escaped(service: Service, reviewed: Reviewed, reviewer: Sender) -> None:
    run, name = reviewed.run, reviewed.name
    sign_in(reviewer)
    text = page_of(service, name)
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>" not in text.replace("<script type=", "")
    source = service.client.get(f"/reviews/{name}/runs/{run.id}").text
    assert "&lt;b&gt;name&lt;/b&gt;" in source
    segment = service.client.get(f"/reviews/{name}/runs/{run.id}/1/1")
    assert segment.content == run.data("0001/000001.jsonl")
    assert segment.headers["content-type"].startswith("text/plain")
    assert segment.headers["x-content-type-options"] == "nosniff"


def test_pictures_of_the_review_are_those_of_the_draft(service: Service, reviewed: Reviewed, reviewer: Sender) -> None:
    sign_in(reviewer)
    pictures = [each for each in Page(page_of(service, reviewed.name)).loads if "/v1/figures/" in each]
    assert pictures
    for each in pictures:
        response = service.client.get(each)
        assert (response.status_code, response.headers["content-type"]) == (200, "image/svg+xml")


def test_reviewer_returns_by_form_with_a_reason(service: Service, ada: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    sign_in(reviewer)
    assert post(service, f"/reviews/{name}/return", reason=" ").status_code == 422
    assert post(service, f"/reviews/{name}/return", reason="wrong data set").status_code == 303
    sign_in(ada)
    assert "Reason: wrong data set" in service.client.get(f"/reviews/{name}").text


def test_reviewer_splits_by_form(service: Service, ada: Sender, reviewer: Sender) -> None:
    first, second = SpooledRun(), SpooledRun(batch_size=8)
    name = ada.submitted(first, second)
    sign_in(reviewer)
    new = post(service, f"/reviews/{name}/split", runs=f"{second.id}\r\n").headers["location"]
    assert new != f"/reviews/{name}"
    assert second.id in page_of(service, new.rpartition("/")[2])
    assert second.id not in page_of(service, name)


def test_contributor_withdraws_but_does_not_decide(service: Service, reviewed: Reviewed, ada: Sender) -> None:
    sign_in(reviewed.owner)
    text = page_of(service, reviewed.name)
    assert "Withdraw this submission" in text
    assert "Accept: publish" not in text
    for decision, said in {"accept": {}, "return": {"reason": "mine"}, "split": {"runs": reviewed.run.id}}.items():
        assert post(service, f"/reviews/{reviewed.name}/{decision}", None, **said).status_code == 403
    name = ada.submitted(SpooledRun())
    sign_in(ada)
    assert post(service, f"/reviews/{name}/withdraw").status_code == 303
    assert ada.send("GET", f"/v1/submissions/{name}").json()["state"] == "withdrawn"


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}])
def test_form_of_another_site_decides_nothing(
    service: Service, ada: Sender, reviewer: Sender, headers: dict[str, str]
) -> None:
    name = ada.submitted(SpooledRun())
    sign_in(reviewer)
    assert post(service, f"/reviews/{name}/accept", headers).status_code == 403
    assert reviewer.send("GET", f"/v1/submissions/{name}").json()["state"] == "submitted"


def test_signed_out_means_signed_out(service: Service, ada: Sender) -> None:
    sign_in(ada)
    assert service.client.get("/reviews", follow_redirects=False).status_code == 200
    post(service, "/sign-out")
    assert service.client.get("/reviews", follow_redirects=False).status_code == 303


# The last one: a review beside stored trials takes twice as long.
def test_reviewer_accepts_by_form_and_the_release_has_the_runs(service: Service, ada: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    sign_in(reviewer)
    page_of(service, name)
    assert post(service, f"/reviews/{name}/accept").headers["location"] == f"/reviews/{name}"
    assert "in release 1" in service.client.get(f"/reviews/{name}").text
    assert service.lake.release().n_trials == 1
