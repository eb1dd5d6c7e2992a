"""The page of batch sizes: the live figure, and every critical batch size or why there is none."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.applications import without_sql
from tests.bundled import bundled_lake
from tests.service.web.reading import Page

PATH = "/batch-size"
SGD = "bundled/digits/mlp_64/sgd"
GOAL = {"metric": "val/classification_error", "target": "0.1"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(bundled_lake(tmp_path_factory)), base_url="http://localhost") as client:
        yield client


def test_page_has_a_row_for_each_workload_of_the_answer(client: TestClient) -> None:
    rows = client.get("/v1/analysis/atlas").json()["estimates"]
    assert len(rows) == 11
    page = client.get(PATH).text
    for row in rows:
        assert f"/workloads/{row['workload']}" in page, row["workload"]
    n_known = sum(row["critical_batch_size"] is not None for row in rows)
    assert f"{n_known} of {len(rows)}" in " ".join(page.split())


def test_filters_are_in_the_page_and_its_data(client: TestClient) -> None:
    page = client.get(PATH, params={"dataset": "digits"}).text
    assert "<option selected>digits</option>" in page
    assert "/v1/analysis/atlas.json?dataset=digits" in page


def test_unknown_name_is_refused_in_a_line(client: TestClient) -> None:
    answer = client.get(PATH, params={"dataset": "nowhere"}, headers={"accept": "text/html"})
    assert answer.status_code == 422
    assert "no workload has the dataset nowhere" in answer.text


def test_chart_of_the_page_is_embedded_with_a_link_back(client: TestClient) -> None:
    embedded = client.get("/embed/atlas", params={"dataset": "digits"})
    assert embedded.status_code == 200
    assert re.search(r'href="/batch-size\?dataset=digits&amp;release=\d+"', embedded.text)


def test_former_address_leads_to_the_page_with_its_query(client: TestClient) -> None:
    answer = client.get("/critical-batch-sizes?dataset=digits&release=1", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, f"{PATH}?dataset=digits&release=1")
    assert client.get("/critical-batch-sizes", follow_redirects=False).headers["location"] == PATH
    odd = client.get("/critical-batch-sizes?dataset=%0d%0aset-cookie:x", follow_redirects=False)
    assert "set-cookie" not in odd.headers


def test_figure_is_of_the_starting_example_by_default_and_offers_every_workload(client: TestClient) -> None:
    page = client.get(PATH).text
    names = re.findall(r'<option value="(.+?)">', page.partition("<datalist")[2].partition("</datalist>")[0])
    assert len(names) == len(set(names)) == 11
    assert re.search(r'<input name="workload" list="offered" value="(.*?)"', page)[1] in names  # type: ignore[index]


def test_workload_is_chosen_by_its_name_or_by_its_heading(client: TestClient) -> None:
    by_name = client.get("/embed/batch-size", params={"workload": SGD, **GOAL}).text
    by_heading = client.get(
        "/embed/batch-size", params={"workload": "mlp_64 on Digits, SGD \u00b7 Bundled studies", **GOAL}
    ).text
    assert by_name == by_heading
    assert "Steps to val/classification_error &lt; 0.1 by batch size" in by_name


def test_caption_says_the_regimes_and_what_they_are_at_the_goal(client: TestClient) -> None:
    def caption(**goal: str) -> str:
        text = client.get("/embed/batch-size", params={"workload": SGD, **goal}).text
        inside = text.partition("data-caption>")[2].partition("</p>")[0]
        return " ".join(html.unescape(re.sub("<[^>]*>", "", inside)).split())

    rows = {}
    for target in ("0.1", "0.035"):
        bounds = {"target_min": target, "target_max": target, "n_targets": "1", "spacing": "linear"}
        query = {"workload": SGD, "metric": GOAL["metric"], **bounds}
        (rows[target],) = client.get("/v1/analysis/target-sweep", params=query).json()["rows"]
    ends = {name: (row["perfect_scaling_end"], row["max_useful_batch_size"]) for name, row in rows.items()}
    at_goal = caption()
    assert at_goal.startswith(f"Perfect scaling until batch size {ends['0.035'][0]}: ")
    assert f"Nothing is gained beyond {ends['0.035'][1]} (within 10%)." in at_goal
    assert f"Critical batch size {rows['0.035']['critical_batch_size']:.2g} (90% interval" in at_goal
    assert "At the goal" not in at_goal
    moved = caption(**GOAL)
    assert moved.startswith(f"Perfect scaling until batch size {ends['0.1'][0]}: ")
    known = f"{ends['0.035'][0]}, {ends['0.035'][1]} and 32"
    assert moved.endswith(f"At the goal, val/classification_error < 0.035, these are {known}.")


def test_stops_of_the_slider_have_the_captions_of_their_pages(client: TestClient) -> None:
    page = client.get("/embed/batch-size", params={"workload": SGD, **GOAL}).text
    address = html.unescape(re.search(r'data-stops="(.*?)"', page)[1])  # type: ignore[index]
    stops = client.get(address).text.split("<li ")[1:]
    assert len(stops) > 20
    for stop in stops[::10]:
        target = re.search(r'data-target="(.*?)"', stop)[1]  # type: ignore[index]
        alone = client.get("/embed/batch-size", params={"workload": SGD, **GOAL, "target": target}).text
        assert re.search("<p>(.*?)</p>", stop)[1] == re.search("data-caption>(.*?)</p>", alone)[1]  # type: ignore[index]


def test_any_site_may_frame_the_figure_and_its_form_stays_on_the_service(client: TestClient) -> None:
    answer = client.get("/embed/batch-size", params={"workload": SGD})
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors *" in policy
    assert "form-action 'self'" in policy
    assert "frame-ancestors 'none'" in client.get(PATH).headers["content-security-policy"]
    page = Page(answer.text)
    frame = html.unescape(next(line for line in page.lines if line.startswith("<iframe")))
    assert 'src="http://localhost/embed/batch-size?workload=' in frame
    for link in page.links:
        if not link.startswith("http"):
            assert client.get(link).status_code == 200, link


@pytest.mark.parametrize(
    ("workload", "status"), [("nothing", 422), ("bundled/digits/mlp_64/none", 404), ("bundled/digits/*/sgd", 422)]
)
def test_workload_without_a_figure_is_refused_in_a_line(client: TestClient, workload: str, status: int) -> None:
    for path in (PATH, "/embed/batch-size"):
        answer = client.get(path, params={"workload": workload}, headers={"accept": "text/html"})
        assert answer.status_code == status
        assert "<h1>" in answer.text
