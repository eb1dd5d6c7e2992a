"""The queue of submissions: in order of waiting, in pages, with its age."""

from __future__ import annotations

import pytest

from losslake_contributions.intake.metrics import ContributionMetrics
from losslake_contributions.review.submissions import queue
from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun


def test_the_one_that_waits_longest_is_first(ada: Sender, reviewer: Sender) -> None:
    names = [ada.submitted(SpooledRun()) for _ in range(3)]
    reviewer.send("POST", f"/v1/submissions/{names[1]}/return", json={"reason": "too early"})
    listed = reviewer.send("GET", "/v1/submissions", params={"state": "submitted"}).json()
    assert ([each["id"] for each in listed["submissions"]], listed["next"]) == ([names[0], names[2]], None)
    after = reviewer.send("GET", "/v1/submissions", params={"after": names[0]}).json()
    assert [each["id"] for each in after["submissions"]] == names[1:]
    assert reviewer.send("GET", "/v1/submissions", params={"state": "new"}).status_code == 422


def test_lists_come_in_pages(ada: Sender, reviewer: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake_contributions.review.submissions.PAGE", 2)
    names = [ada.submitted(SpooledRun()) for _ in range(5)]
    found: list[str] = []
    after: str | None = None
    while True:
        query = {"after": after} if after else None
        page = reviewer.send("GET", "/v1/submissions", params=query).json()
        found += [each["id"] for each in page["submissions"]]
        after = page["next"]
        if after is None:
            break
    assert found == names


def test_the_age_of_the_queue_is_in_the_metrics(ada: Sender, service: Service) -> None:
    ada.submitted(SpooledRun())
    metrics = ContributionMetrics()
    metrics.set_queue(*queue(service.database))
    assert metrics.registry.get_sample_value("losslake_contributions_submissions", {"state": "submitted"}) == 1
    assert metrics.registry.get_sample_value("losslake_contributions_submissions", {"state": "accepted"}) == 0
    oldest = metrics.registry.get_sample_value("losslake_contributions_oldest_submission_seconds")
    assert oldest is not None
    assert oldest > 0
