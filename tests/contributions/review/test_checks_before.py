"""POST /v1/checks: the review that runs would get, before they are submitted."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from losslake_contributions.review.draft import LAKE, RUNS
from losslake_contributions.review.review import Reviews
from losslake_contributions.store.private_files import DRAFTS
from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun
from tests.servers.processes import wait_until


def check(sender: Sender, *runs: SpooledRun, **facts: Any) -> Any:
    """Return the response to a check, once it isn't 202 any more."""
    document = {"contributions": [run.id for run in runs], "licence": "CC-BY-4.0", **facts}
    responses: list[Any] = []

    def is_there() -> bool:
        responses[:] = [sender.send("POST", "/v1/checks", json=document)]
        return bool(responses[0].status_code != 202)

    wait_until(is_there, "the check is made")
    return responses[0]


def test_a_check_gives_the_review_of_a_submission_and_submits_nothing(
    service: Service, ada: Sender, reviewer: Sender
) -> None:
    run = SpooledRun()
    ada.contribute(run)
    claims = [{"contribution": run.id, "metric": "val/loss", "target": 0.5, "steps": 1}]
    before = check(ada, run, claims=claims)
    assert before.status_code == 200
    assert ada.send("GET", "/v1/submissions").json()["submissions"] == []
    name = ada.submit(run, claims=claims).json()["id"]
    review = reviewer.review(name).json()
    assert {**before.json(), "submission": name} == review
    assert "claim" in [each["rule"] for each in review["report"]["findings"]]
    left = {path.name for path in (service.lake.folder / DRAFTS).glob("check-*/*/*")}
    assert left & {LAKE, RUNS} == set()


def test_a_later_check_of_a_contributor_replaces_the_earlier_one(service: Service, ada: Sender) -> None:
    first, second = SpooledRun(), SpooledRun(batch_size=8)
    ada.contribute(first, second)
    assert [check(ada, run).json()["report"]["runs"] for run in (first, second)] == [[first.id], [second.id]]
    assert len([*(service.lake.folder / DRAFTS).glob("check-*/*/")]) == 1


def test_a_check_is_deleted_after_an_hour(service: Service, ada: Sender, caplog: pytest.LogCaptureFixture) -> None:
    run = SpooledRun()
    ada.contribute(run)
    check(ada, run)
    drafts, reviews = service.lake.folder / DRAFTS, Reviews(service.database)
    reviews.forget_decided()
    (folder,) = (path for path in drafts.glob("check-*") if path.is_dir())
    os.utime(folder, (0, 0))
    with caplog.at_level(logging.WARNING):
        reviews.forget_decided()
    assert [*drafts.glob("check-*")] == []
    assert caplog.records == []


def test_nobody_checks_runs_of_others_unfinished_ones_or_submitted_ones(ada: Sender, bob: Sender) -> None:
    run, unfinished = SpooledRun(), SpooledRun(batch_size=8)
    ada.contribute(run)
    ada.create(unfinished)
    assert check(bob, run).status_code == 404
    assert check(ada, unfinished).status_code == 409
    assert check(ada, run, licence="MIT").status_code == 422
    ada.submit(run)
    assert check(ada, run).status_code == 409


@pytest.mark.parametrize(("scope", "needed"), [("review", "contribute")])
def test_a_token_of_another_scope_is_told_both_scopes(service: Service, scope: str, needed: str) -> None:
    response = check(service.sender("Rea", None, scope), SpooledRun())
    assert response.status_code == 403
    detail = response.json()["detail"]
    assert f"needs a token with the scope '{needed}', and the scope of yours is '{scope}'" in detail
