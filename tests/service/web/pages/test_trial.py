"""The page of a trial: results, metaparameters and source."""

from __future__ import annotations

import math
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.made_up_lake import ERROR, ODD, PRECISION, Curves
from tests.oracle import Row
from tests.service.web.reading import Page
from tests.service.web.tables import Tables

WORKLOAD = "shelf/deep/mnist/cnn/sgd"
STUDY = f"{WORKLOAD}/64"
GOAL = {"metric": ERROR, "target": "0.3"}


@pytest.fixture(scope="module")
def trials(client: TestClient) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get("/v1/trials", params={"study": STUDY}).json()["rows"]
    return rows


def shown(client: TestClient, trial_id: int, **query: str) -> str:
    response = client.get(f"/trials/{STUDY}/{trial_id}", params=query)
    assert response.status_code == 200, response.text
    return response.text


def values(curves: Curves, trial_id: int, metric: str) -> list[Row]:
    rows = [row for row in curves[WORKLOAD][metric] if (row.batch_size, row.trial_id) == (64, trial_id)]
    return [row for row in rows if row.value is not None]


def test_best_values_match_the_curve(client: TestClient, curves: Curves, trials: list[dict[str, Any]]) -> None:
    for trial in trials:
        if trial["last_step"] is None:
            continue
        rows = {row[0]: row[2:4] for row in Tables(shown(client, trial["trial_id"])).by_class["trials"][1:]}
        for metric, sign in ((ERROR, 1), (PRECISION, -1)):
            finite = [row for row in values(curves, trial["trial_id"], metric) if math.isfinite(row.value or 0)]
            best = min(finite, key=lambda row: (sign * (row.value or 0), row.step), default=None)
            assert rows[metric] == (["no finite value"] if best is None else [f"{best.value:.4g}", str(best.step)])
        assert rows[ODD] == ["not known whether lower or higher is better"]


def test_page_shows_steps_to_the_goal_and_rank(client: TestClient) -> None:
    parameters: dict[str, Any] = GOAL | {"workload": WORKLOAD, "batch_size": 64}
    rows = client.get("/v1/steps-to-target", params=parameters).json()["rows"]
    reached = sorted((row for row in rows if row["steps"] is not None), key=lambda row: (row["steps"], row["trial_id"]))
    assert reached
    for place, row in enumerate(reached, start=1):
        text = unescape(shown(client, row["trial_id"], **GOAL))
        assert f"It reached {ERROR} < 0.3 after {row['steps']:,} steps" in text
        assert f"Rank {place} of the {len(reached)} trials that did" in text
    for row in rows:
        if row["steps"] is None and row["last_step"] is not None:
            assert f"It never reached {ERROR} < 0.3" in unescape(shown(client, row["trial_id"], **GOAL))


def test_page_shows_source_file_and_sha256(client: TestClient, trials: list[dict[str, Any]]) -> None:
    for trial in trials:
        text = shown(client, trial["trial_id"])
        for name in ("source", "source_sha256", "content_digest", "status"):
            assert trial[name] in text
        assert f"{trial['n_evaluations']:,}; {trial['n_nonfinite'] or 'no'}" in text


def test_metaparameters_are_shown_in_full_precision(client: TestClient, trials: list[dict[str, Any]]) -> None:
    for trial in trials:
        rows = Tables(shown(client, trial["trial_id"])).by_class["space"][1:]
        shown_values = [(name, float(value), kind) for name, value, kind, _ in rows]
        assert shown_values == [(name, value, "number") for name, value in sorted(trial["parameters"].items())]


def test_trial_without_evaluations_has_a_page(client: TestClient) -> None:
    text = shown(client, 40)
    assert "It was never evaluated in " in text
    assert "data-live" not in text


def test_page_links_to_neighbours_and_the_best_trial(client: TestClient, trials: list[dict[str, Any]]) -> None:
    ids = [trial["trial_id"] for trial in trials]
    best = next(
        row["trial_id"]
        for row in client.get("/v1/scaling", params=GOAL | {"workload": WORKLOAD}).json()["rows"]
        if row["batch_size"] == 64
    )
    for before, trial_id, after in zip(ids, ids[1:], ids[2:], strict=False):
        links = Page(shown(client, trial_id, **GOAL)).links
        for other in (before, after, *({best} - {trial_id})):
            assert f"/trials/{STUDY}/{other}?metric={ERROR}&target=0.3" in links


def test_every_download_link_works(client: TestClient, trials: list[dict[str, Any]]) -> None:
    page = Page(shown(client, trials[0]["trial_id"], release="1"))
    links = [link for link in page.links if link.startswith(("/v1/curves", "/data/"))]
    assert len(links) > 3
    assert all(client.get(link).status_code == 200 for link in links)
    assert f"/studies/{STUDY}?release=1" in page.links


def test_unknown_trial_suggests_neighbours(client: TestClient) -> None:
    response = client.get(f"/trials/{STUDY}/999999", headers={"accept": "text/html"})
    assert response.status_code == 404
    assert f"/trials/{STUDY}/40" in response.text
