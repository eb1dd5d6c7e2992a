"""The page of a study: its numbers are those of the answers, and whatever a study holds it can be looked at."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake_schema.tables import STATUSES
from tests.made_up_lake import ERROR, ODD, PRECISION
from tests.service.web.reading import Page
from tests.service.web.tables import Tables

WORKLOAD = "shelf/deep/mnist/cnn/sgd"
STUDY = f"{WORKLOAD}/64"
GOAL = {"metric": ERROR, "target": "0.3"}
BROWSER = {"accept": "text/html"}


def shown(client: TestClient, **query: str) -> str:
    response = client.get(f"/studies/{STUDY}", params=query)
    assert response.status_code == 200, response.text
    return response.text


def table(client: TestClient, **query: str) -> list[list[str]]:
    """The rows of the table of trials, without headings."""
    return Tables(shown(client, **query)).found["trials"][1:]


def numbers(rows: list[list[str]]) -> list[int]:
    return [int(row[0]) for row in rows]


def answered(client: TestClient) -> list[dict[str, Any]]:
    asked: dict[str, Any] = GOAL | {"workload": WORKLOAD, "batch_size": 64, "status": STATUSES}
    rows: list[dict[str, Any]] = client.get("/v1/steps-to-target", params=asked).json()["rows"]
    return rows


def metaparameters(client: TestClient) -> dict[int, dict[str, float]]:
    rows = client.get("/v1/trials", params={"study": STUDY}).json()["rows"]
    return {row["trial_id"]: row["parameters"] for row in rows}


def headline(text: str) -> str:
    found = re.search(r'class="lead answer">(.*?)</p>', text, re.DOTALL)
    assert found
    return " ".join(unescape(re.sub("<[^>]+>", "", found[1])).split())


def test_its_table_has_every_trial_with_its_status_and_steps(client: TestClient) -> None:
    short = {"COMPLETE": "complete", "INCOMPLETE": "stopped", "INFEASIBLE": "diverged"}
    expected = []
    for row in answered(client):
        never = "never" if row["status"] == "COMPLETE" else "not reached"
        steps = never if row["steps"] is None else str(row["steps"])
        last = "\u2013" if row["last_step"] is None else str(row["last_step"])
        expected.append((row["trial_id"], short[row["status"]], steps, last))
    found = [(int(row[0]), row[1], row[2], row[4]) for row in table(client, **GOAL)]
    assert sorted(found) == sorted(expected)


def test_its_table_begins_with_the_fewest_steps(client: TestClient) -> None:
    steps = [row[2] for row in table(client, **GOAL)]
    reached = [int(text) for text in steps if text.isdigit()]
    assert reached == sorted(reached)
    assert reached
    assert not any(text.isdigit() for text in steps[len(reached) :])


def test_its_headline_is_the_answer_of_scaling(client: TestClient) -> None:
    rows = client.get("/v1/scaling", params=GOAL | {"workload": WORKLOAD}).json()["rows"]
    row = next(row for row in rows if row["batch_size"] == 64)
    text = headline(shown(client, **GOAL))
    of = (
        f"All {row['n_trials']}"
        if row["n_reached"] == row["n_trials"]
        else f"{row['n_reached']} of the {row['n_trials']}"
    )
    assert text.startswith(f"{of} trials that completed reached {ERROR} < 0.3. ")
    assert f"trial {row['trial_id']}, did so after {row['steps']} steps" in text
    assert f"learning_rate {metaparameters(client)[row['trial_id']]['learning_rate']:.4g}" in text


def test_a_target_that_no_trial_reaches_names_the_nearest(client: TestClient) -> None:
    best = client.get("/v1/best", params={"workload": WORKLOAD, "metric": ERROR}).json()["rows"]
    row = next(row for row in best if row["batch_size"] == 64)
    text = headline(shown(client, metric=ERROR, target="0"))
    assert f"ever reached {ERROR} < 0." in text
    assert f"trial {row['trial_id']}, came to {row['best_value']:g} at step {row['step']}" in text


@pytest.mark.parametrize("sign", ["", "-"])
def test_it_is_sorted_by_any_metaparameter(client: TestClient, sign: str) -> None:
    rates = {trial: given["learning_rate"] for trial, given in metaparameters(client).items()}
    expected = sorted(rates, key=lambda trial: rates[trial], reverse=sign == "-")
    assert numbers(table(client, sort=f"{sign}parameter.learning_rate")) == expected


@pytest.mark.parametrize("column", ["trial_id", "status", "best_value", "last_step"])
def test_its_headings_sort_both_ways(client: TestClient, column: str) -> None:
    up, down = (numbers(table(client, sort=f"{sign}{column}", **GOAL)) for sign in ("", "-"))
    assert sorted(up) == sorted(down)
    assert up != down
    for sort in (column, f"-{column}"):
        other = f"-{column}" if sort == column else column
        assert any(f"sort={other}" in link for link in Page(shown(client, sort=sort)).links)


def test_an_unknown_column_is_a_sentence_with_those_like_it(client: TestClient) -> None:
    response = client.get(f"/studies/{STUDY}?sort=parameter.learning_rat", headers=BROWSER)
    assert response.status_code == 422
    assert "did you mean one of parameter.learning_rate" in response.text


def test_it_is_filtered_by_status_and_by_what_was_reached(client: TestClient) -> None:
    rows = answered(client)
    for status in STATUSES:
        expected = sorted(row["trial_id"] for row in rows if row["status"] == status)
        page = shown(client, status=status, **GOAL)
        assert sorted(numbers(Tables(page).found.get("trials", [])[1:])) == expected
        assert expected or "No trial passes these filters" in page
    for reached in ("yes", "no"):
        expected = sorted(row["trial_id"] for row in rows if (row["steps"] is not None) == (reached == "yes"))
        assert sorted(numbers(table(client, reached=reached, **GOAL))) == expected


def test_a_metric_without_a_direction_has_curves_and_no_target(client: TestClient) -> None:
    page = shown(client, metric=ODD)
    assert f"Nobody has said of {ODD} which way is better" in page
    assert "Steps to target" not in page
    assert f"metric={ODD}" in page


def test_a_metric_to_be_maximized_is_reached_from_below(client: TestClient) -> None:
    assert f"{PRECISION} > 0.5" in headline(shown(client, metric=PRECISION, target="0.5"))


def test_a_metric_that_the_study_lacks_is_named_with_those_it_has(client: TestClient) -> None:
    response = client.get(f"/studies/{STUDY}?metric=val/nothing", headers=BROWSER)
    assert response.status_code == 404
    assert ERROR in response.text


def test_it_leads_to_the_batch_sizes_beside_it_with_the_same_goal(client: TestClient) -> None:
    links = Page(shown(client, **GOAL)).links
    for size in (1, 8, 512):
        assert f"/studies/{WORKLOAD}/{size}?metric={ERROR}&target=0.3" in links
    assert f"/workloads/{WORKLOAD}?metric={ERROR}&target=0.3" in links


def test_what_it_offers_to_take_away_can_be_had(client: TestClient) -> None:
    links = [link for link in Page(shown(client, **GOAL)).links if link.startswith(("/v1/", "/data/"))]
    assert any(link.startswith("/data/") for link in links)
    for link in links:
        if "/figures/" not in link:
            assert client.get(link).status_code == 200, link
    csv = next(link for link in links if link.startswith("/v1/steps-to-target.csv"))
    assert len(client.get(csv).text.splitlines()) == 1 + len(answered(client))


def test_its_map_and_curves_are_of_this_study_alone(client: TestClient) -> None:
    live = [unescape(address) for address in re.findall('data-live="([^"]+)"', shown(client, axis="log", **GOAL))]
    assert len(live) == 2
    assert all(client.get(address).status_code == 200 for address in live)
    assert "axis=log" in live[0]
    rows = client.get(live[1].replace("figures/learning-rate-momentum.vl", "analysis/metaparameter-map")).json()["rows"]
    assert {row["batch_size"] for row in rows} == {64}
