"""Decisions of reviewers, by REST and on pages: never about what they sent, and also where no review can be made."""

from __future__ import annotations

from typing import Any

from tests.contributions.conftest import ADA, Sender, Service
from tests.contributions.spooled_runs import SpooledRun
from tests.servers.processes import wait_until


def page(sender: Sender, path: str) -> Any:
    return sender.client.get(path, headers={"cookie": sender.signed_in(), "accept": "text/html"})


def press(sender: Sender, path: str, **form: str) -> Any:
    headers = {"cookie": sender.signed_in(), "sec-fetch-site": "same-origin"}
    return sender.client.post(path, headers=headers, data=form, follow_redirects=False)


def test_nobody_accepts_what_they_sent(service: Service, reviewer: Sender) -> None:
    both = service.sender("Ada", ADA, "contribute", "review")
    name = both.submitted(SpooledRun())
    for sender in (both, service.sender("Ada", ADA, "review")):
        answer = sender.send("POST", f"/v1/submissions/{name}/accept")
        assert (answer.status_code, "another reviewer" in answer.json()["detail"]) == (403, True)
        assert press(sender, f"/reviews/{name}/accept").status_code == 403
        assert "Accept" not in page(sender, f"/reviews/{name}").text
    assert reviewer.send("POST", f"/v1/submissions/{name}/accept").json()["state"] == "accepted"


def test_a_submission_whose_review_fails_can_be_returned_on_its_page(
    service: Service, ada: Sender, reviewer: Sender
) -> None:
    run = SpooledRun()
    ada.contribute(run)
    for file in service.lake.store.list_files("contributions"):
        service.lake.store.delete([file.path])
    name = ada.submit(run).json()["id"]
    shown = ""

    def says_why() -> bool:
        # It says so once: the next view has the review made again.
        nonlocal shown
        shown = page(reviewer, f"/reviews/{name}").text
        return "t be made:" in shown

    wait_until(says_why, "the page says that there is no review")
    assert "is missing: restore it" in shown
    assert "http-equiv" not in shown
    assert press(reviewer, f"/reviews/{name}/return", reason="its files are lost").status_code == 303
    assert ada.send("GET", f"/v1/submissions/{name}").json()["state"] == "returned"


def test_numbers_in_paths_of_segments_are_bounded(ada: Sender) -> None:
    name = ada.submitted(run := SpooledRun())
    where = f"/reviews/{name}/runs/{run.id}"
    assert page(ada, f"{where}/1/1").content == run.data("0001/000001.jsonl")
    for number in ("9" * 30, "0", "-1", "x"):
        assert page(ada, f"{where}/{number}/1").status_code in (404, 422)


def test_forms_have_the_limits_of_rest(ada: Sender, reviewer: Sender) -> None:
    runs = [SpooledRun(), SpooledRun(batch_size=128)]
    name = ada.submitted(*runs)
    for reason in ("x" * 10_001, "a\x00b", "a\u202eb", "  "):
        assert press(reviewer, f"/reviews/{name}/return", reason=reason).status_code == 422
    for chosen in ("x", runs[0].id.upper(), " ".join([runs[0].id] * 1001), ""):
        assert press(reviewer, f"/reviews/{name}/split", runs=chosen).status_code == 422
    assert press(reviewer, f"/reviews/{name}/split", runs=f"{runs[0].id}\r\n").status_code == 303
    assert press(reviewer, f"/reviews/{name}/return", reason="two\r\nlines").status_code == 303
    assert ada.send("GET", f"/v1/submissions/{name}").json()["reason"] == "two\nlines"
