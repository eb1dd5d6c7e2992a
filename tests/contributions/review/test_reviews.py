"""Reviews: what checks find and runs change; who sees them; acceptance keeps the report."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from losslake_contributions.protocol.errors import SegmentBroken
from losslake_contributions.review import routes as submissions
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.review import CURVES, Reviews
from losslake_contributions.review.review_document import PendingReview, Review
from losslake_contributions.review.submissions import row_of
from losslake_service.shares.allowances import HOUR, Allowance
from tests.contributions.conftest import ADA, BOB, Sender, Service
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.processes import wait_until
from tests.service.operation.conftest import Clock


class RunWithGoal(SpooledRun):
    @property
    def facts(self) -> dict[str, Any]:
        return {**super().facts, "goals": [{"metric": "val/loss", "target": 0.2}]}


def review_of(sender: Sender, name: str) -> dict[str, Any]:
    response = sender.review(name)
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


@dataclass
class Reviewed:
    """Two submissions, of which the first is accepted between two reviews of the second, which then is accepted."""

    service: Service
    first: str
    second: str
    fast: SpooledRun
    review_of_first: dict[str, Any]
    reviews_of_second: list[dict[str, Any]]
    draft_of_first: str
    trials_of_draft: list[dict[str, Any]]
    report_while_waiting: str | None
    seen: list[Any]  # when Ada, a reviewer, Bob, and Bob for an unknown one, ask for the review of the second


@pytest.fixture(scope="module")
def reviewed(shared_service: Service) -> Reviewed:
    service = shared_service
    ada, bob = service.sender("Ada", ADA), service.sender("Bob", BOB)
    reviewer = service.sender("Rea Viewer", None, "review")
    slow, fast = RunWithGoal(), RunWithGoal(segments={"0001/000001.jsonl": rows(range(12), 0.5)})
    first = ada.submitted(slow)
    second = ada.submitted(fast, contributors=[{"name": "Grace Hopper", "orcid": None, "role": "methodology"}])
    review_of_first, reviews_of_second = review_of(reviewer, first), [review_of(reviewer, second)]
    path, unknown = (f"/v1/submissions/{name}/review" for name in (second, "0" * 36))
    seen = [each.send("GET", path) for each in (ada, reviewer, bob)] + [bob.send("GET", unknown)]
    links = reviewer.send("GET", f"/v1/submissions/{first}").json()["links"]
    draft = links["draft"].removeprefix("http://localhost")
    trials = service.client.get(f"{draft}v1/trials?workload=given/mnist/cnn/sgd").json()["rows"]
    report = row_of(service.database, first).report
    for name in (first, second):
        assert reviewer.send("POST", f"/v1/submissions/{name}/accept").status_code == 200
        if name == first:
            reviews_of_second.append(review_of(reviewer, second))
    return Reviewed(service, first, second, fast, review_of_first, reviews_of_second, draft, trials, report, seen)


def test_review_has_the_steps_to_goals_before_and_after(reviewed: Reviewed) -> None:
    assert reviewed.review_of_first["base"] is None
    found = reviewed.reviews_of_second[1]
    (goal,) = found["changes"]["goals"]
    (point,) = goal["points"]
    # 1/(step+1) < 0.2 from step 5 on; half of it from step 2 on.
    assert (point["batch_size"], point["before"], point["after"], point["is_new"]) == (64, 5, 2, True)
    assert (found["base"], found["changes"]["before"], found["changes"]["after"]) == (1, 1, 2)
    assert [each["run"] for each in found["changes"]["trials"]] == [reviewed.fast.id]


def test_review_is_made_anew_for_a_new_release(reviewed: Reviewed) -> None:
    assert [review["base"] for review in reviewed.reviews_of_second] == [None, 1]


def test_only_its_contributor_and_reviewers_see_a_review(reviewed: Reviewed) -> None:
    *known, unknown = reviewed.seen
    assert [each.status_code for each in known] == [200, 200, 404]
    assert known[2].json()["type"] == unknown.json()["type"]


def test_a_false_claim_can_not_be_accepted(service: Service, ada: Sender, reviewer: Sender) -> None:
    run = SpooledRun()
    claim = {"contribution": run.id, "metric": "val/loss", "target": 0.2, "steps": 4}
    name = ada.submitted(run, claims=[claim])
    refused = reviewer.send("POST", f"/v1/submissions/{name}/accept")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:losslake:problem:refused")
    assert "return it, or split" in refused.json()["detail"]
    assert service.lake.newest_release() is None
    true = SpooledRun(batch_size=8)
    name = ada.submitted(true, claims=[{**claim, "contribution": true.id, "steps": 5}])
    assert reviewer.send("POST", f"/v1/submissions/{name}/accept").json()["state"] == "accepted"


def test_review_is_made_before_anybody_asks_for_it(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "SECONDS_BEFORE_REVIEW", 0.0)
    name = ada.submitted(SpooledRun())
    drafts = service.lake.folder / "drafts"
    wait_until(lambda: len([*drafts.glob(f"{name}/*/review.json")]) == 1, "the review is made")


def test_a_review_that_is_being_made_gives_202_and_holds_up_nobody(
    service: Service, ada: Sender, reviewer: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, make = threading.Event(), Reviews._make

    def make_when_told(*arguments: Any) -> None:
        assert may_go_on.wait(60)
        make(*arguments)

    monkeypatch.setattr(Reviews, "_make", make_when_told)
    names = [ada.submitted(SpooledRun(batch_size=size)) for size in (1, 2, 4)]
    for _ in range(3):
        for name in names:
            pending = reviewer.send("GET", f"/v1/submissions/{name}/review")
            assert (pending.status_code, pending.headers["retry-after"]) == (202, "2")
            assert pending.json()["state"] in ("waiting", "being_made")
            assert f"/reviews/{name}" in reviewer.send("GET", f"/v1/submissions/{name}").json()["links"]["review"]
    may_go_on.set()
    assert [reviewer.review(name).json()["submission"] for name in names] == names


def test_a_review_that_fails_says_so_once_and_is_tried_again(
    service: Service, ada: Sender, reviewer: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, failures = Reviews._make, [SegmentBroken("a segment is missing")]

    def make_later(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        make(*arguments)

    monkeypatch.setattr(Reviews, "_make", make_later)
    # The review that nobody asked for would be told of the failure.
    monkeypatch.setattr(submissions, "SECONDS_BEFORE_REVIEW", 1000.0)
    name = ada.submitted(SpooledRun())
    failed = reviewer.review(name)
    assert (failed.status_code, failed.json()["type"]) == (500, "urn:losslake:problem:review-failed")
    assert "a segment is missing" in failed.json()["detail"]
    assert reviewer.review(name).status_code == 200


def test_reviews_of_a_contributor_wait_when_they_took_too_long(service: Service, ada: Sender, bob: Sender) -> None:
    clock = Clock()
    seconds = Allowance(10, HOUR, clock=clock)
    reviews = Reviews(service.database, seconds)
    mine, other = ada.submitted(SpooledRun()), bob.submitted(SpooledRun())
    seconds.charge(row_of(service.database, mine).contributor, 11)
    pending = reviews.progress(mine)
    assert isinstance(pending, PendingReview)
    assert (pending.state, pending.seconds) == ("waiting", 360)
    reviews.begin(other).result(60)
    assert isinstance(reviews.progress(other), Review)
    clock.now += 360
    reviews.begin(mine).result(60)
    reviews.close()


def test_no_review_is_begun_of_a_submission_that_was_withdrawn(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = ada.submitted(SpooledRun())
    assert ada.send("POST", f"/v1/submissions/{name}/withdraw").status_code == 200
    monkeypatch.setattr(submissions, "SECONDS_BEFORE_REVIEW", 0.0)
    reviews = Reviews(service.database)
    asyncio.run(submissions._begin_review(reviews, name))
    reviews.close()
    assert not [*(service.lake.folder / "drafts").iterdir()]


def test_acceptance_keeps_the_report_of_the_checks(reviewed: Reviewed) -> None:
    assert reviewed.report_while_waiting is None
    kept = row_of(reviewed.service.database, reviewed.first).report
    assert kept is not None
    assert json.loads(kept) == reviewed.review_of_first["report"]
    assert not Report.from_json(kept).refuses


def test_draft_is_gone_when_the_submission_is_decided(reviewed: Reviewed) -> None:
    service, name = reviewed.service, reviewed.first
    assert reviewed.trials_of_draft[0]["batch_size"] == 64
    gone = service.client.get(f"{reviewed.draft_of_first}v1/workloads")
    assert gone.status_code == 409
    assert f"{name} was accepted into release 1" in gone.json()["detail"]
    assert not (service.lake.folder / "drafts" / name).exists()
    assert "draft" not in service.sender("Ada", ADA).send("GET", f"/v1/submissions/{name}").json()["links"]


def test_clean_up_deletes_drafts_of_decided_submissions_and_keeps_those_of_waiting_ones(reviewed: Reviewed) -> None:
    service = reviewed.service
    waiting = service.sender("Ada", ADA).submitted(SpooledRun(batch_size=8))
    drafts = service.lake.folder / "drafts"
    for name in (reviewed.first, "0" * 36, waiting):
        (drafts / name).mkdir()
        (drafts / f"{name}.lock").touch()
    broken = drafts / f"{'1' * 36}.lock"
    broken.mkdir()
    Reviews(service.database).forget_decided()
    kept = {waiting, f"{waiting}.lock", broken.name, CURVES}
    assert {each.name for each in drafts.iterdir()} == kept


def test_trials_are_credited_to_who_sent_them(reviewed: Reviewed) -> None:
    from losslake.library.lake import opened

    statement = "SELECT trial_id, name, role, contribution FROM contributors ORDER BY trial_id"
    rows_ = opened(reviewed.service.lake.folder, None).sql(statement).to_dicts()
    assert [tuple(row.values()) for row in rows_] == [
        (1, "Ada", "data collection", reviewed.first),
        (2, "Grace Hopper", "methodology", reviewed.second),
    ]
