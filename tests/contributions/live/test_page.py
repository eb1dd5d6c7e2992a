"""The page of a live run: its link, what it says without scripts, its choices, and the figures below the link."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlalchemy.orm import Session

from losslake.record.spool import new_name
from losslake_contributions.people.links import DAYS
from losslake_contributions.people.signing_key import SigningKey, link_token
from losslake_contributions.store.tables import Link
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.made_runs import lake_of, write_run
from tests.contributions.spooled_runs import COLLECTION, SpooledRun, rows

BROWSER = {"accept": "text/html"}
PRIVATE = {"cache-control": "no-store", "x-robots-tag": "noindex", "referrer-policy": "no-referrer"}
GOALS = {"goals": [{"metric": "val/loss", "target": 0.1, "comparator": "inclusive"}]}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose lake has three trials at batch size 64, and one at 256."""
    folder = tmp_path_factory.mktemp("live")
    for number, (scale, size) in enumerate(((1.0, 64), (2.0, 64), (3.0, 64), (1.0, 256)), start=1):
        lines = rows(range(30), scale)
        write_run(folder / "spools", number, lines, collection=COLLECTION, batch_size=size, parameters={"n": number})
    with serving(lake_of(folder / "lake", folder / "spools")) as made:
        yield made


@pytest.fixture(scope="module")
def sender(beside: Service) -> Sender:
    return beside.sender("Ada", ADA)


def sent(sender: Sender, *segments: str, **changes: Any) -> tuple[SpooledRun, str]:
    """A run with these segments, and the path of its live page."""
    run = SpooledRun(**{"more": GOALS, **changes})
    created = sender.create(run)
    assert created.status_code == 201
    for path in segments or tuple(run.segments):
        assert sender.put(run, path).status_code == 201
    return run, urlsplit(created.json()["links"]["live"]).path


def page(client: TestClient, path: str, **query: str) -> str:
    answer = client.get(path, params=query, headers=BROWSER)
    assert answer.status_code == 200, answer.text
    assert {name: answer.headers[name] for name in PRIVATE} == PRIVATE
    return str(answer.text)


def said(text: str) -> list[str]:
    (part,) = re.findall(r'id="live-said".*?>(.*?)</div>', text, re.DOTALL)
    return [unescape(each) for each in re.findall("<p>(.*?)</p>", part)]


def figures(text: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'data-live="(.*?)"', text)]


def test_run_has_a_link_to_its_page_when_it_is_created_and_asked_for(beside: Service, sender: Sender) -> None:
    run, path = sent(sender)
    found = sender.send("GET", f"/v1/contributions/{run.id}").json()["links"]["live"]
    assert re.fullmatch(r"http://[\w.:]+/live/[\w-]{56}", found)
    assert "val/loss" in page(beside.client, path)


def test_page_says_how_the_run_compares(beside: Service, sender: Sender) -> None:
    _, path = sent(sender)
    text = page(beside.client, path)
    # 1 / (step + 1) ≤ 0.1 at step 9; at twice and three times that, at 19 and 29.
    assert said(text)[0] == "Reached val/loss ≤ 0.1 in 9 steps; the median of 3 trials took 19."
    assert "This run over 3 trials of given/mnist/cnn/sgd at batch size 64." in text
    assert "<td>0.1</td>" in text  # learning_rate
    assert '<dd id="live-state">open</dd>' in text
    assert "UTC. The run is not reviewed" in text


def test_figures_below_the_link_are_those_of_the_newest_release(beside: Service, sender: Sender) -> None:
    _, path = sent(sender)
    curves, scaling = figures(page(beside.client, path))
    for address in (curves, scaling):
        answer = beside.client.get(address)
        assert answer.status_code == 200, answer.text
        assert answer.headers["losslake-release"] == "1"
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert json.loads(answer.content)["concat"]
    assert "comparator=inclusive" in scaling
    assert scaling.startswith(f"{path}/v1/figures/scaling.vl.json?")
    assert beside.client.get(scaling.replace("figures/scaling.vl.json", "scaling.csv")).status_code == 200


@pytest.mark.parametrize(
    "rest",
    [
        "v1/sql?q=SELECT+1",
        "v1/figures/curves.png",
        "v1/trials",
        "v1/../metrics",
        "v1/",
        "data/",
        "v1/figures/atlas.vl.json",
    ],
)
def test_nothing_else_of_the_read_service_is_below_the_link(beside: Service, sender: Sender, rest: str) -> None:
    _, path = sent(sender)
    assert beside.client.get(f"{path}/{rest}").status_code == 404


def test_figures_are_only_read(beside: Service, sender: Sender) -> None:
    _, path = sent(sender)
    for method in ("POST", "PUT", "DELETE"):
        assert beside.client.request(method, f"{path}/v1/scaling.json").status_code == 405
        assert beside.client.request(method, path).status_code == 405


def test_run_before_its_first_measurement_has_a_page(beside: Service, sender: Sender) -> None:
    run = SpooledRun()
    path = sender.create(run).json()["links"]["live"]
    text = page(beside.client, path)
    assert said(text) == ["Nothing is measured yet."]
    assert figures(text) == []
    assert 'http-equiv="refresh"' in text


def test_run_without_stored_trials_is_drawn_alone(beside: Service, sender: Sender) -> None:
    more = {"dataset": "unheard-of"}
    _, path = sent(sender, more=more)
    text = page(beside.client, path)
    assert said(text)[-1] == "No trials of the same data set and model are stored: the run is shown alone."
    (figure,) = figures(text)
    drawn = beside.client.get(f"{figure}&last_step=11&least=0.1&most=1&theme=dark")
    assert drawn.status_code == 200
    (plot,) = drawn.json()["concat"]
    domains = [plot["layer"][0]["encoding"][name]["scale"]["domain"] for name in ("x", "y")]
    assert domains[0][0] <= 0 < 11 <= domains[0][1]
    assert domains[1][0] <= 0.1 < 1 <= domains[1][1]
    assert drawn.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("query", ["least=nan", "most=1e999", "last_step=-1", "width=9999", "metric="])
def test_odd_axes_are_refused(beside: Service, sender: Sender, query: str) -> None:
    _, path = sent(sender)
    both = query if query.startswith("metric") else f"metric=val/loss&{query}"
    assert beside.client.get(f"{path}/figures/curves.vl.json?{both}").status_code == 422


def test_batch_size_that_is_not_stored_is_shown_beside_its_neighbours(beside: Service, sender: Sender) -> None:
    _, path = sent(sender, batch_size=128)
    text = page(beside.client, path)
    assert said(text)[-1].endswith("has batch size 128: the curves are of 64 and 256.")
    assert "study=given/mnist/cnn/sgd/64&study=given/mnist/cnn/sgd/256" in figures(text)[0]


def test_reader_chooses_the_metric_the_goal_and_the_workload(beside: Service, sender: Sender) -> None:
    goals = [{"metric": "val/loss", "target": target, "comparator": "inclusive"} for target in (0.1, 0.2)]
    _, path = sent(sender, more={"goals": goals})
    text = page(beside.client, path, target="0.2", workload="given/mnist/cnn/sgd")
    assert said(text)[0] == "Reached val/loss ≤ 0.2 in 4 steps; the median of 3 trials took 9."
    assert '<option value="0.2" selected>' in text
    assert f"{path}/events?metric=val/loss&target=0.2&workload=given/mnist/cnn/sgd" in unescape(text)
    text = page(beside.client, path, metric="train/loss")
    assert any("not finite" in each for each in said(text))


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("metric=val/x", 404, "val/x"),
        ("workload=given/mnist/mlp/sgd", 404, "mlp"),
        ("target=x", 422, "target"),
        ("target=inf", 422, "target"),
        ("colour=red", 422, "colour"),
        ("target=1&target=2", 422, "twice"),
    ],
)
def test_unknown_choice_is_refused(beside: Service, sender: Sender, query: str, status: int, word: str) -> None:
    _, path = sent(sender)
    for place in (path, f"{path}/events"):
        answer = beside.client.get(f"{place}?{query}")
        assert answer.status_code == status
        assert word in answer.json()["detail"]
        assert {name: answer.headers[name] for name in PRIVATE} == PRIVATE


def test_state_and_end_of_a_run_are_said(beside: Service, sender: Sender) -> None:
    run, path = sent(sender, status="INCOMPLETE", segments={"0001/000001.jsonl": rows(range(5))})
    assert sender.finish(run).status_code == 200
    text = page(beside.client, path)
    assert '<dd id="live-state">finished: INCOMPLETE</dd>' in text
    assert said(text)[0].startswith("Didn't reach val/loss ≤ 0.1 in 4 steps: its best value is 0.2, at step 4")


def link_of(service: Service, path: str) -> UUID:
    """The id of a link's record."""
    return UUID(bytes=base64.urlsafe_b64decode(path.removeprefix("/live/"))[:16])


def change_link(service: Service, path: str, **changes: Any) -> None:
    with Session(service.lake.engine) as session:
        session.execute(update(Link).where(Link.id == link_of(service, path).hex).values(**changes))
        session.commit()


def test_wrong_expired_and_foreign_links_give_one_problem(beside: Service, sender: Sender) -> None:
    _, path = sent(sender)
    _, expired = sent(sender)
    change_link(beside, expired, expires_at=datetime.now(UTC))
    key, link = SigningKey.of(beside.lake).read(), link_of(beside, path)
    tokens = [
        "x",
        path.removeprefix("/live/")[:-1] + ("B" if path.endswith("A") else "A"),
        expired.removeprefix("/live/"),
        link_token("live", key, UUID(new_name())),
        link_token("draft", key, link),
        link_token("live", bytes(32), link),
    ]
    assert f"/live/{link_token('live', key, link)}" == path
    for token in tokens:
        for rest in ("", "/events", "/v1/scaling.json", "/figures/curves.vl.json?metric=val/loss"):
            answer = beside.client.get(f"/live/{token}{rest}")
            assert answer.status_code == 404
            assert answer.json()["type"] == "urn:losslake:problem:unknown-live-run"
            assert {name: answer.headers[name] for name in PRIVATE} == PRIVATE
    shown = beside.client.get("/live/x", headers=BROWSER)
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "ask its contributor for a new one" in shown.text


def test_link_to_a_run_that_is_gone_is_a_problem(beside: Service, sender: Sender) -> None:
    _, path = sent(sender)
    change_link(beside, path, subject=new_name())
    answer = beside.client.get(path, headers=BROWSER)
    assert answer.status_code == 404
    assert "is not here" in answer.text


def test_link_says_how_long_it_lasts(beside: Service, sender: Sender) -> None:
    _, path = sent(sender)
    change_link(beside, path, expires_at=datetime(2033, 5, 18, 3, 33, tzinfo=UTC))
    assert "sees it until 2033-05-18 03:33 UTC" in page(beside.client, path)
    assert DAYS == 30


def test_texts_of_a_run_are_escaped(beside: Service, sender: Sender) -> None:
    evil = "<script>alert(1)</script>"
    _, path = sent(sender, parameters={evil: evil}, more={"optimizer": "x&<b>y", **GOALS})
    text = page(beside.client, path)
    assert evil not in text
    assert "<b>" not in text


def test_lake_without_a_release_shows_a_run(service: Service, ada: Sender) -> None:
    _, path = sent(ada)
    text = page(service.client, path)
    assert said(text)[0] == "Reached val/loss ≤ 0.1 in 9 steps."
    assert len(figures(text)) == 1


def test_a_run_that_changes_its_batch_size_is_shown_alone(beside: Service, sender: Sender) -> None:
    _, path = sent(sender, more={**GOALS, "batch_size": None, "batch_schedule": [[0, 64], [9, 128]]})
    text = page(beside.client, path)
    assert "batch size 64-128" in text
    assert "The run changes its batch size (64-128), so no stored trials are drawn beside it." in text
    assert json.loads(unescape(re.findall(r'id="live-about" hidden>(.*?)<', text)[0]))["batchSize"] is None
