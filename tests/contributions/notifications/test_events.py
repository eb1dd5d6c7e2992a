"""Contributors who want to be told of an event are told once, with what is true when it is delivered."""

from __future__ import annotations

import hmac
import json
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake_contributions.intake.divergence import notify_diverged, reason_of_divergence
from losslake_contributions.intake.silence import end_silent_runs
from losslake_contributions.review.erasure import erase_runs
from tests.contributions.conftest import Sender, Service
from tests.contributions.notifications.conftest import Notifier, facts_of, set_webhook
from tests.contributions.notifications.receivers import Webhook
from tests.contributions.spooled_runs import SpooledRun

PATH = "0001/000001.jsonl"
REASON = "units are unclear:\n<!channel> @everyone [here](https://evil.example) ``` & more"


def returned(sender: Sender, reviewer: Sender, reason: str = REASON) -> str:
    """Submit a run that is returned; the id of the submission."""
    name = sender.submitted(SpooledRun())
    assert reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": reason}).status_code == 200
    return name


def test_a_returned_submission_is_told_once_with_its_reason_and_signed(
    ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    secret = set_webhook(ada, webhook)["secret"]
    name = returned(ada, reviewer)
    assert reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": REASON}).status_code == 200
    notifier.deliver()
    notifier.deliver(at_once=True)
    hello, request = webhook.requests
    assert json.loads(hello.body)["losslake"]["event"] == "hello"
    body = json.loads(request.body)
    base = "http://localhost"
    assert body["losslake"] == {
        "id": request.headers["losslake-delivery"],
        "event": "returned",
        "created_at": body["losslake"]["created_at"],
        "submission": name,
        "n_runs": 1,
        "links": {"submission": f"{base}/v1/submissions/{name}", "review": f"{base}/reviews/{name}"},
        "reason": REASON,
    }
    assert request.headers["losslake-event"] == "returned"
    seconds, _, code = request.headers["losslake-signature"].partition(",v1=")
    signed = f"{seconds.removeprefix('t=')}.".encode() + request.body
    assert hmac.new(secret.encode(), signed, sha256).hexdigest() == code
    assert notifier.outcomes == {"delivered": 2}


def test_texts_of_reviewers_call_nobody_and_are_no_links_in_chats(
    ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    returned(ada, reviewer)
    notifier.deliver()
    body = json.loads(webhook.requests[-1].body)
    assert body["allowed_mentions"] == {"parse": []}
    for name in ("text", "content"):
        before, block, after = body[name].split("```")
        assert "evil" not in before
        assert "evil" in block
        assert not after
    assert "<" not in body["text"]
    assert "&lt;!channel&gt;" in body["text"]


def test_an_accepted_submission_is_told_with_its_release_and_how_to_cite_it(
    ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    name = ada.submitted(SpooledRun())
    for _ in range(2):
        assert reviewer.send("POST", f"/v1/submissions/{name}/accept").status_code == 200
    notifier.deliver()
    (told,) = facts_of(webhook, "accepted")
    assert (told["submission"], told["release"], told["citations"]) == (name, 1, ["given@1"])


def live_run(sender: Sender, lines: int = 4, **facts: Any) -> SpooledRun:
    run = SpooledRun(**facts)
    assert sender.create(run).status_code == 201
    assert sender.live(run.piece(PATH, 0, lines)).status_code == 200
    return run


def test_a_silent_run_is_told_each_time_it_falls_silent(
    service: Service, ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    run = live_run(ada)
    for start in (4, 8):
        assert end_silent_runs(service.database, timedelta(0)) == 1
        notifier.deliver()
        assert ada.live(run.piece(PATH, start, start + 4)).status_code == 200
    assert [each["run"] for each in facts_of(webhook, "silent")] == [run.id, run.id]
    told = facts_of(webhook, "silent")[0]
    assert told["study"] == "given/mnist/cnn/sgd/64"
    live = ada.send("GET", f"/v1/contributions/{run.id}").json()["links"]["live"]
    assert told["links"]["live"].partition("/live/")[2] == live.partition("/live/")[2]


def test_a_run_that_went_on_is_not_told_as_silent(
    service: Service, ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    run = live_run(ada)
    assert end_silent_runs(service.database, timedelta(0)) == 1
    ada.live(run.piece(PATH, 4, 8))
    notifier.deliver()
    assert facts_of(webhook, "silent") == []
    assert [each.state for each in notifier.deliveries("silent")] == ["outdated"]


def test_a_live_run_that_ends_as_infeasible_is_told_as_diverged_and_a_pushed_one_is_not(
    ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    run = live_run(ada, status="INFEASIBLE")
    assert ada.put(run).status_code == 201
    assert ada.finish(run).status_code == 200
    ada.contribute(SpooledRun(status="INFEASIBLE"))
    notifier.deliver()
    (told,) = facts_of(webhook, "diverged")
    assert (told["run"], told["why"]) == (run.id, "it ended as INFEASIBLE")


def test_three_values_of_a_watched_metric_that_are_no_numbers_are_told_once(
    service: Service, ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    values = [1.0, 2.0, "NaN", "Infinity", "NaN", "NaN"]
    rows = [{"step": step, "elapsed_s": 0.1, "train/loss": value} for step, value in enumerate(values)]
    run = live_run(ada, lines=4, segments={PATH: rows})
    assert notify_diverged(service.database) == 0
    ada.live(run.piece(PATH, 4, 5))
    assert notify_diverged(service.database) == 1
    ada.live(run.piece(PATH, 5, 6))
    assert notify_diverged(service.database) == 0
    notifier.deliver()
    (told,) = facts_of(webhook, "diverged")
    assert told["why"] == "the last 3 values of train/loss are NaN, Infinity, NaN, the last one at step 4"


VALUE = st.one_of(st.none(), st.sampled_from(["NaN", "Infinity", "-Infinity", "text"]), st.floats(-1, 1))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), VALUE), max_size=12), st.integers(0, 30))
def test_divergence_is_that_the_last_three_values_are_not_finite(rows: list[dict[str, Any]], cut: int) -> None:
    lines = b"".join(json.dumps({"step": step, **row}).encode() + b"\n" for step, row in enumerate(rows))[cut:]
    kept = [json.loads(line) for line in lines.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
    words = ("NaN", "Infinity", "-Infinity")
    values = [row["a"] for row in kept if isinstance(row.get("a"), float) or row.get("a") in words]
    expected = len(values) >= 3 and all(value in words for value in values[-3:])
    assert (reason_of_divergence(lines, ["a"]) is not None) == expected


def test_only_chosen_events_are_told(ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook) -> None:
    set_webhook(ada, webhook, events=["accepted"])
    returned(ada, reviewer)
    assert [each.event for each in notifier.deliveries()] == ["hello"]


@pytest.mark.parametrize("what", ["the runs", "a text"])
def test_an_erasure_ends_what_waits(
    service: Service, ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook, what: str
) -> None:
    set_webhook(ada, webhook)
    run = SpooledRun()
    name = ada.submitted(run)
    reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": "no"})
    if what == "the runs":
        erase_runs(service.lake, [run.id])
        assert [each.event for each in notifier.deliveries()] == ["hello"]
    else:
        erase_runs(service.lake, [], ["hook/secret"])
        assert notifier.deliveries() == []
        assert ada.send("GET", "/v1/notifications").json() == {"webhook": None, "email": None}
