"""The page of MLPerf's results has the numbers of REST, counts what filters would show, and opens curves and logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.results.submissions import FLAGS
from losslake_ingest.run import ingest
from losslake_service.web.pages import results
from losslake_service.web.results.facets import words
from losslake_service.web.results.strips import duration
from tests.applications import without_sql
from tests.service.web.pages.conftest import write
from tests.service.web.reading import Page
from tests.service.web.tables import Tables
from tests.submissions import LOGS, Submitted, write_submissions

TEN = [300.0 + number for number in range(10)]
BERTS = (
    Submitted("4.0", "NVIDIA", "DGXH100_n1", "bert", TEN),
    Submitted("4.0", "Google", "tpu-v5p-8", "bert", [2 * each for each in TEN], accelerator="Google TPU v5p"),
    Submitted("4.0", "NVIDIA", "DGXH100_n8", "bert", [each / 7.16 for each in TEN], accelerators=64, batch_size=3072),
    Submitted("3.1", "NVIDIA", "DGXH100_n1", "bert", [*TEN[:9], None]),
    Submitted("3.1", "Google", "tpu-v5e-8", "bert", TEN[:4], accelerator="Google TPU v5e"),
    Submitted("3.1", "Dell", "<b>&", "bert", [*TEN[:8], None, None], more={"source_url": "javascript:alert(1)"}),
)
RESNETS = (
    Submitted("4.0", "Dell", "XE9680", "resnet", TEN[:5], "imagenet/resnet/lars", 3264),
    Submitted("3.1", "Dell", "XE9680", "resnet", TEN[5:], "imagenet/resnet/lars", 3264, division="open"),
)
NAME = "mlperf-training/4.0/closed/NVIDIA/DGXH100_n1/bert"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("submissions")
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [write_submissions(folder / "mlperf-training", [*BERTS, *RESNETS])]).quarantined
    with TestClient(without_sql(lake)) as client:
        yield client


def listed(text: str) -> list[str]:
    """Return the submissions of the table in its order."""
    rows = text.partition('<table class="results">')[2].partition("</table>")[0]
    return [unescape(name) for name in re.findall(r'name="submission" value="([^"]*)"', rows)]


def rest(client: TestClient, text: str) -> list[dict[str, Any]]:
    """Return the rows of the page's link to its data."""
    (data,) = re.findall(r'rel="alternate" type="application/json" href="(.*?)"', text)
    rows: list[dict[str, Any]] = client.get(unescape(data)).json()["rows"]
    return rows


def counts(text: str) -> dict[tuple[str, str], int]:
    """Return the counts by facet and value."""
    chips = re.findall(r'name="(\w+)" value="([^"]*)"[^>]*>[^<]*<span class="n"[^>]*>([\d,]+)<', text)
    return {(facet, unescape(value)): int(count.replace(",", "")) for facet, value, count in chips}


def viewed(client: TestClient, path: str) -> list[str]:
    """Return the trials that the viewer shows."""
    (data,) = re.findall(r'data-request="(.*?)"', client.get(unescape(path)).text)
    studies = json.loads(unescape(data))["studies"]
    trials = []
    for each in studies:
        stored = client.get("/v1/trials", params={"study": each["study"], "fields": "trial"}).json()["rows"]
        numbers = each["trials"]
        trials += [row["trial"] for row in stored if numbers is None or int(row["trial"].rpartition("/")[2]) in numbers]
    return sorted(trials)


def test_page_shows_the_newest_round_first(client: TestClient) -> None:
    text = client.get("/results").text
    assert "round 4.0, the newest" in Page(text).text
    assert [each.split("/")[1] for each in listed(text)] == ["4.0"] * 4
    assert [each.rpartition("/")[2] for each in listed(text)] == ["bert"] * 3 + ["resnet"]


@pytest.mark.parametrize(
    "query",
    [
        "", "benchmark=bert", "round=3.1&round=4.0", "organisation=Google&organisation=NVIDIA&round=3.1",
        "accelerator=Google+TPU+v5p", "division=open", "flagged=only", "flag=fewer_runs", "suite=mlperf-training",
        "q=dgx+nvidia", "benchmark=bert&sort=time", "benchmark=bert&sort=accelerator_hours", "round=3.1&sort=examples",
        "sort=time",
    ],
)  # fmt: skip
def test_rows_are_those_of_rest_in_the_same_order_with_the_same_numbers(client: TestClient, query: str) -> None:
    text = client.get(f"/results?{query}").text
    rows = rest(client, text)
    assert rows
    assert listed(text) == [row["submission"] for row in rows]
    table = [cells for cells in Tables(text).by_class["results"][1:] if len(cells) > 1]
    for row, cells in zip(rows, table, strict=True):
        exact = re.findall(r'<strong title="([^"]*) s">', text)
        assert row["organisation"] in cells[1]
        assert row["system"] in cells[1]
        assert ("none" if row["time_s"] is None else duration(row["time_s"])) in cells
        assert row["time_s"] is None or repr(row["time_s"]) in exact
        assert f"{row['accelerators']} \u00d7 {row['accelerator']}" in cells
        assert f"{row['batch_size']:,}" in cells
        assert all(words in cells[-1] for words in row["flags_in_words"])
        assert (row["time_reason"] or "") in cells[-1]


@pytest.mark.parametrize("query", ["", "benchmark=bert", "organisation=NVIDIA&round=4.0", "flag=fewer_runs&round=3.1"])
def test_count_of_a_value_is_the_number_of_rows_that_choosing_it_alone_shows(client: TestClient, query: str) -> None:
    shown = counts(client.get(f"/results?{query}").text)
    assert shown
    for (facet, value), count in shown.items():
        others = [(name, each) for name, values in parse_qs(query).items() for each in values if name != facet]
        answer = client.get("/results", params=[*others, (facet, value)])
        assert len(listed(answer.text)) == count, (facet, value)


def test_a_value_that_would_show_nothing_stays_in_its_place(client: TestClient) -> None:
    every, some = (counts(client.get(path).text) for path in ("/results", "/results?benchmark=resnet"))
    assert [*every] == [*some]
    assert some["organisation", "Google"] == 0


def test_runs_that_the_mean_leaves_out_are_hollow(client: TestClient) -> None:
    text = unescape(client.get("/results", params={"q": "DGXH100_n1", "benchmark": "bert"}).text)
    strips = re.findall(r'<svg class="strip".*?</svg>', text, re.DOTALL)
    # A run that missed the target is the slowest, so that only the fastest is left out besides.
    assert [strip.count("<circle") for strip in strips] == [2, 1]
    hollow = "of them left out of the mean, drawn hollow"
    assert f"10 runs from 5 min to 5.15 min, 2 {hollow}" in text
    assert f"9 runs from 5 min to 5.133 min, 1 {hollow}, 1 more run without a time to the target" in text


def test_every_run_leads_to_its_log(client: TestClient) -> None:
    links = Page(client.get("/results?round=4.0&round=3.1").text).links
    n_runs = sum(len(each.seconds) for each in (*BERTS, *RESNETS) if not each.more)
    assert len([link for link in links if link.startswith(LOGS)]) == n_runs


def test_curves_of_a_submission_are_those_of_its_runs(client: TestClient) -> None:
    page = Page(client.get("/results", params={"q": "DGXH100_n8"}).text)
    (curves,) = {link for link in page.links if link.startswith("/viewer")}
    (row,) = rest(client, page.text)
    assert viewed(client, curves) == sorted(row["trials"])


def test_curves_of_two_submissions_are_coloured_by_what_they_differ_in(client: TestClient) -> None:
    two = [name for name in listed(client.get("/results?benchmark=bert&round=4.0").text) if "n8" not in name]
    path = "/viewer?" + "&".join(f"submission={name}" for name in two)
    assert len(viewed(client, path)) == 20
    assert '"colour": "org"' in unescape(client.get(path).text)
    assert 'name="submission" value="mlperf-training/4.0' in client.get(path).text


def test_unknown_submission_is_refused_in_a_line(client: TestClient) -> None:
    answer = client.get("/viewer?submission=nobody/nothing", headers={"accept": "text/html"})
    assert answer.status_code in (404, 422)
    assert "nobody/nothing" in answer.text


def test_selected_submissions_stay_selected_on_other_pages(client: TestClient) -> None:
    here = client.get("/results", params={"submission": NAME}).text
    assert re.search(f'value="{NAME}"[^>]* checked', here)
    elsewhere = client.get("/results", params={"benchmark": "resnet", "submission": NAME}).text
    assert "Selected elsewhere" in elsewhere
    assert NAME not in listed(elsewhere)


def test_long_list_is_paginated(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "ROWS_ON_A_PAGE", 2)
    path, names = "/results?benchmark=bert&q=", []
    while path:
        text = client.get(unescape(path)).text
        names += listed(text)
        assert f"of {len(BERTS)} submissions" in text
        path = next(iter(re.findall(r'rel="next" href="(.*?)"', text)), "")
    assert sorted(names) == sorted({*names})
    assert len(names) == len(BERTS)


def test_downloads_are_of_exactly_this_selection(client: TestClient) -> None:
    page = Page(client.get("/results?organisation=Google&sort=time").text)
    (csv,) = [link for link in page.links if link.startswith("/v1/results.csv")]
    assert len(client.get(csv).text.splitlines()) == len(listed(page.text)) + 1
    query = parse_qs(urlsplit(csv).query)
    assert (query["organisation"], query["sort"]) == (["Google"], ["benchmark,time_s"])
    assert any('.results(organisation="Google", sort="benchmark,time_s")' in line for line in page.lines)


def test_a_round_is_a_text_in_python(client: TestClient) -> None:
    lines = Page(client.get("/results?round=4.0&round=3.1").text).lines
    assert any('.results(round=["4.0", "3.1"])' in line for line in lines)


def test_rows_on_other_hardware_are_said_to_compare_hardware(client: TestClient) -> None:
    def warns(params: dict[str, Sequence[str]]) -> bool:
        return "compare hardware" in Page(client.get("/results", params=params).text).text

    assert warns({"benchmark": ["bert"]})
    assert not warns({"q": ["XE9680"]})


def test_unknown_value_is_refused_in_a_line(client: TestClient) -> None:
    answer = client.get("/results?benchmark=brt", headers={"accept": "text/html"})
    assert answer.status_code in (404, 422)
    assert "bert" in answer.text


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "{{7*7}}"])
def test_text_of_the_address_is_escaped(client: TestClient, evil: str) -> None:
    for name in ("q", "submission", "benchmark"):
        text = client.get("/results", params={name: evil}, headers={"accept": "text/html"}).text
        assert set(Page(text).scripts) <= {"module"}
        assert "<img src=x" not in text
        assert evil != "{{7*7}}" or evil in text


def test_names_of_logs_are_escaped(client: TestClient) -> None:
    text = client.get("/results?organisation=Dell&benchmark=bert").text
    assert "&lt;b&gt;&amp;" in text
    assert "<b>&" not in text


def test_only_logs_on_the_web_are_linked(client: TestClient) -> None:
    page = Page(client.get("/results?organisation=Dell&benchmark=bert").text)
    assert not [link for link in page.links if link.startswith("javascript")]
    assert page.text.count("<li>5 min</li>") == 1


def test_links_keep_the_release(client: TestClient) -> None:
    page = Page(client.get("/results?release=1&benchmark=bert").text)
    assert all("release=1" in link for link in page.links if link.startswith(("/viewer", "/results", "/v1/results")))


def test_every_flag_has_its_words() -> None:
    assert {*words()["flag"]} == {*FLAGS}


def test_release_without_submissions_says_so(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    write(tmp_path / "shelf", "mnist/cnn/momentum", {16: 80})
    ingest(lake, [tmp_path / "shelf"])
    with TestClient(without_sql(lake)) as client:
        text = client.get("/results").text
    assert "This release has no submissions to MLPerf." in text
    assert "<form id=" not in text
