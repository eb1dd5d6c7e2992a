"""Reviews: what checks find and runs change; who sees them; acceptance keeps the report."""

from __future__ import annotations

import json
from typing import Any

from losslake_contributions.checks.report import Report
from losslake_contributions.store.submissions import report_of
from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun, rows


class RunWithGoal(SpooledRun):
    @property
    def facts(self) -> dict[str, Any]:
        return {**super().facts, "goals": [{"metric": "val/loss", "target": 0.2}]}


def review_of(sender: Sender, name: str) -> dict[str, Any]:
    response = sender.send("GET", f"/v1/submissions/{name}/review")
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


def test_review_has_the_steps_to_goals_before_and_after(service: Service, ada: Sender, reviewer: Sender) -> None:
    slow, fast = RunWithGoal(), RunWithGoal(segments={"0001/000001.jsonl": rows(range(12), 0.5)})
    first = ada.submitted(slow)
    assert review_of(reviewer, first)["base"] is None
    assert reviewer.send("POST", f"/v1/submissions/{first}/accept").status_code == 200
    second = ada.submitted(fast)
    found = review_of(reviewer, second)
    (goal,) = found["changes"]["goals"]
    (point,) = goal["points"]
    # 1/(step+1) < 0.2 from step 5 on; half of it from step 2 on.
    assert (point["batch_size"], point["before"], point["after"], point["is_new"]) == (64, 5, 2, True)
    assert (found["base"], found["changes"]["before"], found["changes"]["after"]) == (1, 1, 2)
    assert [each["run"] for each in found["changes"]["trials"]] == [fast.id]


def test_review_is_made_anew_for_a_new_release(ada: Sender, reviewer: Sender) -> None:
    first, second = ada.submitted(RunWithGoal()), ada.submitted(SpooledRun(batch_size=8))
    assert review_of(reviewer, second)["base"] is None
    reviewer.send("POST", f"/v1/submissions/{first}/accept")
    assert review_of(reviewer, second)["base"] == 1


def test_only_its_contributor_and_reviewers_see_a_review(ada: Sender, bob: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    path = f"/v1/submissions/{name}/review"
    assert [each.send("GET", path).status_code for each in (ada, reviewer, bob)] == [200, 200, 404]
    assert bob.send("GET", path).json()["type"] == bob.send("GET", f"/v1/submissions/{'0' * 36}/review").json()["type"]


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


def test_acceptance_keeps_the_report_of_the_checks(service: Service, ada: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    report = review_of(reviewer, name)["report"]
    assert report_of(service.database, name) is None
    reviewer.send("POST", f"/v1/submissions/{name}/accept")
    kept = report_of(service.database, name)
    assert kept is not None
    assert json.loads(kept) == report
    assert not Report.from_json(kept.encode()).refuses


def test_draft_is_gone_when_the_submission_is_decided(service: Service, ada: Sender, reviewer: Sender) -> None:
    name = ada.submitted(SpooledRun())
    review_of(reviewer, name)
    links = reviewer.send("GET", f"/v1/submissions/{name}").json()["links"]
    draft = links["draft"].removeprefix("http://localhost")
    assert service.client.get(f"{draft}v1/trials?workload=given/mnist/cnn/sgd").json()["rows"][0]["batch_size"] == 64
    reviewer.send("POST", f"/v1/submissions/{name}/accept")
    gone = service.client.get(f"{draft}v1/workloads")
    assert gone.status_code == 409
    assert f"{name} was accepted into release 1" in gone.json()["detail"]
    assert not (service.lake.folder / "drafts" / name).exists()
    assert "draft" not in reviewer.send("GET", f"/v1/submissions/{name}").json()["links"]


def test_trials_are_credited_to_who_sent_them(service: Service, ada: Sender, reviewer: Sender) -> None:
    from losslake.library.lake import opened

    name = ada.submitted(SpooledRun())
    reviewer.send("POST", f"/v1/submissions/{name}/accept")
    named = [{"name": "Grace Hopper", "orcid": None, "role": "methodology"}]
    other = ada.submitted(SpooledRun(batch_size=8), contributors=named)
    reviewer.send("POST", f"/v1/submissions/{other}/accept")
    statement = "SELECT batch_size, name, role, contribution FROM contributors ORDER BY batch_size"
    rows_ = opened(service.lake.folder, None).sql(statement).to_dicts()
    assert [tuple(row.values()) for row in rows_] == [
        (8, "Grace Hopper", "methodology", other),
        (64, "Ada", "data collection", name),
    ]
