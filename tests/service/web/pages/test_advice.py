"""The page of a workload answers which batch size to use, and says which of the reader's numbers can't be used."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl

import pytest
from fastapi.testclient import TestClient

from tests.applications import without_sql
from tests.bundled import bundled_lake

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
PAGE = f"/workloads/{WORKLOAD}"
GOAL = {"metric": "val/classification_error", "target": "0.05"}
TIMES = "16=0.01, 1024=0.03"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(bundled_lake(tmp_path_factory))) as client:
        yield client


def test_page_shows_the_sentences_and_rows_of_the_answer(client: TestClient) -> None:
    given = {"price": "2.5", "accelerators": "2", "budget": "10"}
    times = {"step_time": TIMES.split(", ")}
    answer = client.get("/v1/analysis/advice", params={"workload": WORKLOAD, **GOAL, **given, **times})
    given = {"price": "2.5", "trial_accelerators": "2", "budget": "10"}
    page = client.get(PAGE, params={**GOAL, **given, "step_times": TIMES}).text
    assert '<details class="part" id="advice" open>' in page
    assert len(answer.json()["advice"]) == 2
    for sentence in answer.json()["advice"]:
        assert sentence in page
    table = page.partition('<table class="advised">')[2].partition("</table>")[0]
    assert table.count('<th scope="row"') == len(answer.json()["rows"])
    assert "The best of 10 new trials" in page
    spaced = client.get(PAGE, params={**GOAL, **given, "step_times": TIMES.replace("=", " = ")}).text
    assert answer.json()["advice"][0] in spaced
    assert answer.json()["definition"] in unescape(page)


def test_form_keeps_what_was_given_and_asks_where_nothing_was(client: TestClient) -> None:
    page = client.get(PAGE, params={**GOAL, "step_times": TIMES, "price": "2.5"}).text
    assert f'value="{TIMES}"' in page
    assert 'value="2.5"' in page
    empty = client.get(PAGE, params=GOAL).text
    assert 'class="advised"' not in empty
    assert 'name="step_times"' in empty


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"step_times": "16"}, "give BATCH_SIZE=SECONDS"),
        ({"step_times": "16=nan"}, "give BATCH_SIZE=SECONDS"),
        ({"step_times": "16=1 16=2"}, "is given twice"),
        ({"step_times": " ".join(["16=1"] * 51)}, "Seconds per step: list should have at most 50 items"),
        ({"price": "cheap"}, "Price of an accelerator hour: input should be a valid number"),
        ({"price": "2,50"}, "Price of an accelerator hour: input should be a valid number"),
        ({"price": "-1"}, "Price of an accelerator hour: input should be greater than"),
        ({"price": "2"}, "Seconds per step: the logs of"),
        ({"step_times": TIMES, "budget": "0"}, "Trials to be run: input should be greater than"),
        ({"step_times": TIMES, "budget": "1e9"}, "Trials to be run: give a whole number"),
        ({"budget": "5"}, "Seconds per step: give step_time=BATCH_SIZE=SECONDS"),
        (
            {"step_times": TIMES, "trial_accelerators": "2"},
            "Price of an accelerator hour: accelerators count for costs",
        ),
        (
            {"step_times": TIMES, "price": "1", "trial_accelerators": "20000000"},
            "Accelerators: input should be less than",
        ),
    ],
)
def test_what_cannot_be_used_is_said_above_the_form(client: TestClient, given: dict[str, str], said: str) -> None:
    answer = client.get(PAGE, params={**GOAL, **given})
    assert answer.status_code == 200
    assert said in answer.text
    assert 'class="advised"' not in answer.text


def test_form_keeps_the_goal_of_the_page(client: TestClient) -> None:
    page = client.get(PAGE, params={"metric": GOAL["metric"], "target": "0.0375"}).text
    assert '<input type="hidden" name="target" value="0.0375">' in form_of(page)


def form_of(page: str) -> str:
    """Return the form of the section."""
    return page[page.index(f'action="{PAGE}#advice"') :].partition("</form>")[0]


def test_the_former_page_leads_to_the_section_with_its_numbers(client: TestClient) -> None:
    former = {"workload": WORKLOAD, **GOAL, "step_times": TIMES, "accelerators": "2", "release": "1"}
    moved = client.get("/advice", params=former, follow_redirects=False)
    assert moved.status_code == 308
    kept = {**GOAL, "step_times": TIMES, "trial_accelerators": "2", "release": "1"}
    path, _, query = moved.headers["location"].partition("?")
    assert path == PAGE
    assert query.endswith("#advice")
    assert dict(parse_qsl(query.removesuffix("#advice"))) == kept


def test_embedded_chart_links_to_the_page_with_its_step_times(client: TestClient) -> None:
    query = {"workload": WORKLOAD, **GOAL, "step_time": TIMES.split(", ")}
    answer = client.get("/embed/advice", params=query)
    assert answer.status_code == 200
    assert f'href="{PAGE}?' in answer.text
    assert "step_times=16%3D0.01" in answer.text


def test_a_proposed_target_is_said_and_stays_proposed_when_the_form_is_sent(client: TestClient) -> None:
    query = {"metric": "train/cross_entropy_error", "step_times": TIMES}
    page = client.get(PAGE, params=query).text
    form = form_of(page)
    assert "No goal is set for train/cross_entropy_error of this workload" in page
    assert 'name="metric" value="train/cross_entropy_error"' in form
    assert 'name="target"' not in form
    assert 'name="target" value="0.3"' in form_of(client.get(PAGE, params={**query, "target": "0.3"}).text)
