"""Nobody accepts their own runs over HTTP, also not with a token of both scopes; the operator may."""

from __future__ import annotations

import pytest

from losslake_contributions.review.acceptance import accept
from tests.contributions.conftest import ADA, Sender, Service
from tests.contributions.spooled_runs import SpooledRun

WHY = "is your own submission: another reviewer accepts it"


@pytest.fixture
def both(service: Service) -> Sender:
    return service.sender("Ada", ADA, "contribute", "review")


def test_one_s_own_submission_is_not_accepted_over_rest(
    service: Service, ada: Sender, both: Sender, bob: Sender
) -> None:
    for name in (both.submitted(SpooledRun(), SpooledRun(batch_size=9)), ada.submitted(SpooledRun(batch_size=7))):
        response = both.send("POST", f"/v1/submissions/{name}/accept")
        assert (response.status_code, WHY in response.json()["detail"]) == (403, True)
    assert service.lake.newest_release() is None
    assert both.send("POST", f"/v1/submissions/{name}/return", json={"reason": "wrong"}).status_code == 200
    response = both.send("POST", f"/v1/submissions/{bob.submitted(SpooledRun(batch_size=5))}/accept")
    assert (response.status_code, response.json()["state"]) == (200, "accepted")


def test_a_part_that_was_split_off_stays_one_s_own(both: Sender) -> None:
    runs = SpooledRun(), SpooledRun(batch_size=9)
    name = both.submitted(*runs)
    part = both.send("POST", f"/v1/submissions/{name}/split", json={"contributions": [runs[0].id]}).json()["id"]
    assert both.send("POST", f"/v1/submissions/{part}/accept").status_code == 403


def test_one_s_own_submission_is_not_accepted_on_pages(service: Service, both: Sender) -> None:
    name = both.submitted(SpooledRun())
    assert both.review(name).status_code == 200
    cookie = {"cookie": both.signed_in()}
    page = service.client.get(f"/reviews/{name}", headers=cookie).text
    assert "This submission is your own" in page
    assert f"/reviews/{name}/accept" not in page
    response = service.client.post(f"/reviews/{name}/accept", headers=cookie, follow_redirects=False)
    assert (response.status_code, WHY in response.text) == (403, True)
    assert service.lake.newest_release() is None


def test_unknown_submissions_stay_unknown(both: Sender) -> None:
    assert both.send("POST", f"/v1/submissions/{SpooledRun().id}/accept").status_code == 404


def test_the_operator_may_accept_it(service: Service, both: Sender) -> None:
    assert accept(service.database, both.submitted(SpooledRun()), "Ada").submission.release == 1
