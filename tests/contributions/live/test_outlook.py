"""How a run may go on: what the question of forecasts says, while it goes on, and why not where it can't be said."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.applications import without_sql
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.live.test_page import GOALS, page, sent
from tests.contributions.made_runs import lake_of, write_run
from tests.contributions.spooled_runs import COLLECTION, SpooledRun, rows

N_TRIALS = 12


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose lake has a dozen trials at batch size 64, and one at 256."""
    folder = tmp_path_factory.mktemp("outlook")
    for number in range(1, N_TRIALS + 2):
        size = 64 if number <= N_TRIALS else 256
        lines = rows(range(30), 1 + number / 4)
        write_run(folder / "spools", number, lines, collection=COLLECTION, batch_size=size, parameters={"n": number})
    with serving(lake_of(folder / "lake", folder / "spools")) as made:
        yield made


@pytest.fixture(scope="module")
def sender(beside: Service) -> Sender:
    return beside.sender("Ada", ADA)


def run_of(n_steps: int, scale: float = 2.0, **changes: Any) -> SpooledRun:
    return SpooledRun(segments={"0001/000001.jsonl": rows(range(n_steps), scale)}, **{"more": GOALS, **changes})


def said(service: Service, sender: Sender, run: SpooledRun) -> str:
    """The page of a run."""
    _, path = sent(sender, id=run.id, segments=run.segments, batch_size=run.batch_size, more=run.more)
    return unescape(page(service.client, path))


def test_a_run_that_goes_on_is_told_what_the_question_answers(beside: Service, sender: Sender) -> None:
    run = run_of(10)
    curve = [f"{row['step']}={row['val/loss']!r}" for row in run.segments["0001/000001.jsonl"]]
    asked: dict[str, Any] = {
        "workload": f"{COLLECTION}/mnist/cnn/sgd", "batch_size": 64, "metric": "val/loss", "target": 0.1,
        "comparator": "inclusive", "curve": curve,
    }  # fmt: skip
    with TestClient(without_sql(beside.lake)) as client:
        forecast = client.get("/v1/analysis/forecast", params=asked).json()["forecast"]
    sentences = [text for text in forecast if text.startswith(("Best value at", "The target:"))]
    text = said(beside, sender, run)
    assert len(sentences) == 2
    assert all(each in text for each in sentences)


def test_a_run_that_has_ended_is_told_nothing_of_its_end(beside: Service, sender: Sender) -> None:
    run = run_of(10)
    _, path = sent(sender, id=run.id, segments=run.segments)
    sender.finish(run)
    assert "Best value at the end" not in page(beside.client, path)


def test_it_is_said_why_nothing_is_forecast(beside: Service, sender: Sender) -> None:
    assert "can't be forecast: only 1 comparable setting has a number by step 9" in said(
        beside, sender, run_of(10, batch_size=256)
    )
    assert "can't be forecast: step 39 isn't before the last step" in said(beside, sender, run_of(40))


def test_a_run_unlike_the_stored_ones_is_called_so(beside: Service, sender: Sender) -> None:
    assert "It is better than all of the 12 stored trials at this step" in said(beside, sender, run_of(10, 0.5))
