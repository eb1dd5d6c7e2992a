"""Nobody reaches or learns of what others send, except reviewers, who read it."""

from __future__ import annotations

from losslake.record.spool import new_name
from tests.contributions.conftest import Sender
from tests.contributions.spooled_runs import SpooledRun, rows


def answers(sender: Sender, run: SpooledRun) -> list[tuple[int, str]]:
    """Status and detail of every request about a run, with its id left out."""
    responses = [
        sender.send("GET", f"/v1/contributions/{run.id}"),
        sender.send("GET", f"/v1/contributions/{run.id}/segments"),
        sender.send("GET", f"/v1/contributions/{run.id}/segments/1/1"),
        sender.put(run),
        sender.finish(run),
        sender.submit(run),
    ]
    return [(each.status_code, each.json()["detail"].replace(run.id, "ID")) for each in responses]


def test_a_run_of_another_is_answered_like_an_unknown_one(ada: Sender, bob: Sender) -> None:
    run = SpooledRun()
    ada.contribute(run)
    assert answers(bob, run) == answers(bob, SpooledRun())
    assert {status for status, _ in answers(bob, run)} == {404}


def test_an_id_of_another_is_refused_alike_whatever_the_facts(ada: Sender, bob: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    same, other = bob.create(run), bob.create(SpooledRun(id=run.id, batch_size=7))
    assert (same.status_code, same.json()["detail"]) == (other.status_code, other.json()["detail"])
    assert same.status_code == 409
    assert ada.put(run).status_code == 201


def test_nobody_adds_to_the_run_of_another(ada: Sender, bob: Sender, reviewer: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    more = SpooledRun(id=run.id, segments={"0009/000001.jsonl": rows(range(3))})
    assert bob.put(more, "0009/000001.jsonl").status_code == 404
    assert reviewer.put(more, "0009/000001.jsonl").status_code == 403
    assert ada.send("GET", f"/v1/contributions/{run.id}").json()["n_segments"] == 0


def test_submissions_of_others_are_unknown(ada: Sender, bob: Sender, reviewer: Sender) -> None:
    run = SpooledRun()
    name = ada.submitted(run, note="mine")
    unknown = bob.send("GET", f"/v1/submissions/{new_name()}")
    theirs = bob.send("GET", f"/v1/submissions/{name}")
    assert (theirs.status_code, unknown.status_code) == (404, 404)
    assert bob.send("POST", f"/v1/submissions/{name}/withdraw").status_code == 404
    assert bob.send("GET", "/v1/submissions").json()["submissions"] == []
    assert bob.send("GET", "/v1/submissions", params={"after": name}).status_code == 404
    assert [each["id"] for each in ada.send("GET", "/v1/submissions").json()["submissions"]] == [name]
    assert [each["id"] for each in reviewer.send("GET", "/v1/submissions").json()["submissions"]] == [name]
    assert reviewer.send("GET", f"/v1/submissions/{name}").json()["note"] == "mine"
    assert reviewer.send("GET", f"/v1/contributions/{run.id}/segments/1/1").status_code == 200


def test_runs_of_two_people_are_not_submitted_together(ada: Sender, bob: Sender) -> None:
    mine, theirs = SpooledRun(), SpooledRun()
    ada.contribute(mine)
    bob.contribute(theirs)
    assert ada.submit(mine, theirs).status_code == 404
    assert bob.submit(theirs).status_code == 201
