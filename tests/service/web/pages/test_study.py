"""The page of a study shows the numbers of the REST answers, for every kind of study."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake_schema.statuses import STATUSES
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
    """Return the rows of the table of trials without headings."""
    return Tables(shown(client, **query)).by_class["trials"][1:]


def numbers(rows: list[list[str]]) -> list[int]:
    return [int(row[0]) for row in rows]


def answered(client: TestClient) -> list[dict[str, Any]]:
    parameters: dict[str, Any] = GOAL | {"workload": WORKLOAD, "batch_size": 64, "status": STATUSES}
    rows: list[dict[str, Any]] = client.get("/v1/steps-to-target", params=parameters).json()["rows"]
    return rows


def metaparameters(client: TestClient) -> dict[int, dict[str, float]]:
    rows = client.get("/v1/trials", params={"study": STUDY}).json()["rows"]
    return {row["trial_id"]: row["parameters"] for row in rows}


def headline(text: str) -> str:
    match = re.search(r'class="lead answer">(.*?)</p>', text, re.DOTALL)
    assert match
    return " ".join(unescape(re.sub("<[^>]+>", "", match[1])).split())


def test_table_lists_every_trial_with_status_and_steps(client: TestClient) -> None:
    short = {"COMPLETE": "complete", "INCOMPLETE": "stopped", "INFEASIBLE": "diverged"}
    expected = []
    for row in answered(client):
        never = "never" if row["status"] == "COMPLETE" else "not reached"
        steps = never if row["steps"] is None else str(row["steps"])
        last = "\u2013" if row["last_step"] is None else str(row["last_step"])
        expected.append((row["trial_id"], short[row["status"]], steps, last))
    listed = [(int(row[0]), row[1], row[2], row[4]) for row in table(client, **GOAL)]
    assert sorted(listed) == sorted(expected)


def test_table_is_sorted_by_fewest_steps(client: TestClient) -> None:
    steps = [row[2] for row in table(client, **GOAL)]
    reached = [int(text) for text in steps if text.isdigit()]
    assert reached == sorted(reached)
    assert reached
    assert not any(text.isdigit() for text in steps[len(reached) :])


def test_headline_matches_the_scaling_answer(client: TestClient) -> None:
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


def test_unreached_target_shows_the_nearest_trial(client: TestClient) -> None:
    best = client.get("/v1/best", params={"workload": WORKLOAD, "metric": ERROR}).json()["rows"]
    row = next(row for row in best if row["batch_size"] == 64)
    text = headline(shown(client, metric=ERROR, target="0"))
    assert f"ever reached {ERROR} < 0." in text
    assert f"trial {row['trial_id']}, got to {row['best_value']:g} at step {row['step']}" in text


@pytest.mark.parametrize("sign", ["", "-"])
def test_table_sorts_by_any_metaparameter(client: TestClient, sign: str) -> None:
    rates = {trial: given["learning_rate"] for trial, given in metaparameters(client).items()}
    expected = sorted(rates, key=lambda trial: rates[trial], reverse=sign == "-")
    assert numbers(table(client, sort=f"{sign}parameter.learning_rate")) == expected


@pytest.mark.parametrize("column", ["trial_id", "status", "best_value", "last_step"])
def test_headings_link_to_both_sort_orders(client: TestClient, column: str) -> None:
    up, down = (numbers(table(client, sort=f"{sign}{column}", **GOAL)) for sign in ("", "-"))
    assert sorted(up) == sorted(down)
    assert up != down
    for sort in (column, f"-{column}"):
        other = f"-{column}" if sort == column else column
        assert any(f"sort={other}" in link for link in Page(shown(client, sort=sort)).links)


def test_unknown_sort_column_suggests_similar_ones(client: TestClient) -> None:
    response = client.get(f"/studies/{STUDY}?sort=parameter.learning_rat", headers=BROWSER)
    assert response.status_code == 422
    assert "did you mean one of parameter.learning_rate" in response.text


def test_table_filters_by_status_and_reached(client: TestClient) -> None:
    rows = answered(client)
    for status in STATUSES:
        expected = sorted(row["trial_id"] for row in rows if row["status"] == status)
        page = shown(client, status=status, **GOAL)
        assert sorted(numbers(Tables(page).by_class.get("trials", [])[1:])) == expected
        assert expected or "No trials match these filters" in page
    for reached in ("yes", "no"):
        expected = sorted(row["trial_id"] for row in rows if (row["steps"] is not None) == (reached == "yes"))
        assert sorted(numbers(table(client, reached=reached, **GOAL))) == expected


def test_metric_without_direction_shows_curves_without_target(client: TestClient) -> None:
    page = shown(client, metric=ODD)
    assert f"It isn't known whether lower or higher values of {ODD} are better" in page
    assert "Steps to target" not in page
    assert f"metric={ODD}" in page


def test_maximized_metric_reaches_target_from_below(client: TestClient) -> None:
    assert f"{PRECISION} > 0.5" in headline(shown(client, metric=PRECISION, target="0.5"))


def test_unknown_metric_lists_those_of_the_study(client: TestClient) -> None:
    response = client.get(f"/studies/{STUDY}?metric=val/nothing", headers=BROWSER)
    assert response.status_code == 404
    assert ERROR in response.text


def test_page_links_to_neighbouring_batch_sizes_with_the_goal(client: TestClient) -> None:
    links = Page(shown(client, **GOAL)).links
    for size in (1, 8, 512):
        assert f"/studies/{WORKLOAD}/{size}?metric={ERROR}&target=0.3" in links
    assert f"/workloads/{WORKLOAD}?metric={ERROR}&target=0.3" in links


def test_every_download_link_works(client: TestClient) -> None:
    links = [link for link in Page(shown(client, **GOAL)).links if link.startswith(("/v1/", "/data/"))]
    assert any(link.startswith("/data/") for link in links)
    for link in links:
        if "/figures/" not in link:
            assert client.get(link).status_code == 200, link
    csv = next(link for link in links if link.startswith("/v1/steps-to-target.csv"))
    assert len(client.get(csv).text.splitlines()) == 1 + len(answered(client))


def test_map_and_curves_show_only_this_study(client: TestClient) -> None:
    live = [unescape(address) for address in re.findall('data-live="([^"]+)"', shown(client, axis="log", **GOAL))]
    assert len(live) == 2
    assert all(client.get(address).status_code == 200 for address in live)
    assert "axis=log" in live[0]
    rows = client.get(live[1].replace("figures/learning-rate-momentum.vl", "analysis/metaparameter-map")).json()["rows"]
    assert {row["batch_size"] for row in rows} == {64}


def test_measure_is_a_column_of_the_table_and_the_axis_of_curves(client: TestClient) -> None:
    steps = {row[0]: row[2] for row in table(client, **GOAL)}
    for row in table(client, **GOAL, measure="examples"):
        assert row[3] == steps[row[0]]
        assert row[2] == (f"{int(row[3]) * 64:,}" if row[3].isdigit() and int(row[3]) * 64 >= 100 else row[2])
    text = shown(client, **GOAL, measure="examples")
    assert "measure=examples" in text.partition("/v1/figures/curves.vl.json?")[2].partition('"')[0]


def test_measures_that_can_be_had_are_links_and_those_that_need_a_number_ask_for_it(client: TestClient) -> None:
    text = shown(client, **GOAL, measure="examples", axis="log")
    offered = text.partition('<nav class="measures"')[2].partition("</nav>")[0]
    links = Page(offered).links
    assert len(links) == 2
    assert all("axis=log" in link for link in links)
    assert offered.count("<summary>") == offered.count("<form ") == 1
    assert "don&#39;t say" in offered
    assert 'name="examples_per_epoch"' in offered


def test_no_two_buttons_of_a_page_say_the_same(client: TestClient) -> None:
    text = re.sub(r"<nav class=.measures.*?</nav>", "", shown(client, **GOAL), flags=re.DOTALL)
    # Each menu of a chart has a button that copies what its own list has chosen.
    buttons = re.findall(r"<button[^>]*>([^<]*)</button>", re.sub(r'<p class="pick".*?</p>', "", text, flags=re.DOTALL))
    assert len(buttons) == len(set(buttons))


def test_own_run_is_compared_with_the_steps_of_rest(client: TestClient) -> None:
    about = data_of(shown(client, **GOAL), "own-about")
    stored = data_of(client.get(about["stored"], headers=BROWSER).text, "own-stored")["sizes"]["64"]["stored"]
    counted = [row for row in answered(client) if row["status"] in ("COMPLETE", "MISSED")]
    steps = [row["steps"] for row in counted if row["steps"] is not None]
    assert stored["reached"].startswith(f"{len(steps):,} of {len(counted):,} trials reach it")
    assert [each[2] for each in stored["nearest"]] == sorted(set(steps))


def data_of(text: str, element: str) -> Any:
    """Return the JSON in an element of a page."""
    match = re.search(f'id="{element}"[^>]*>(.*?)</p>', text)
    assert match is not None
    return json.loads(unescape(match[1]))
