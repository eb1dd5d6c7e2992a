"""The page of all workloads: search, pagination, and suggestions for searches without matches."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from losslake_service.web.pages import workloads
from tests.service.web.pages.conftest import STEPS
from tests.service.web.reading import Page

NAMES = [f"shelf/{name}" for name in STEPS]


def listed(text: str) -> list[str]:
    """Return the workloads of the table in its order."""
    return re.findall(r'<th scope="row"><a href="/workloads/(.*?)[?"]', text)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", NAMES),
        ("q=CNN", NAMES[:2]),
        ("q=momentum+mnist", [NAMES[0], NAMES[2]]),
        ("q=mlp+sgd", []),
        ("q=classification_error", NAMES),
        ("optimizer=sgd", NAMES[1:2]),
        ("q=cnn&optimizer=momentum&collection=&sort=name", NAMES[:1]),
        ("collection=nowhere", []),
        ("sort=trials", NAMES),
        ("sort=studies", NAMES),
        ("sort=batch_size&q=momentum", [NAMES[0], NAMES[2]]),
        ("page=7", NAMES),
    ],
)
def test_search_matches_every_word(explorer: TestClient, query: str, expected: list[str]) -> None:
    assert listed(explorer.get(f"/workloads?{query}").text) == expected


def test_list_shows_batch_sizes_counts_and_fewest_steps(explorer: TestClient) -> None:
    (row,) = re.findall(r"<tr>\s*<td><input.*?</tr>", explorer.get("/workloads?q=sgd").text, re.DOTALL)
    for wanted in (
        '<td class="number">16\u2013256</td>',
        '<td class="number">3</td>',
        '<td class="number">6</td>',
        "no goal",
    ):
        assert wanted in row


def test_list_says_what_batch_sizes_count_unless_it_is_examples(
    explorer: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = workloads._listed
    monkeypatch.setattr(workloads, "_table", workloads.WorkloadTable)
    monkeypatch.setattr(workloads, "_listed", lambda view, row: listed(view, {**row, "batch_unit": "tokens"}))
    counted = '16\u2013256 <span class="quiet unit">tokens</span></td>'
    assert counted in explorer.get("/workloads?q=sgd&sort=trials").text


def test_long_list_of_workloads_is_paginated(explorer: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "ROWS_ON_A_PAGE", 2)
    # No other test asks for this address: a page in memory has as many rows as it had.
    first = explorer.get("/workloads?sort=studies&q=").text
    assert listed(first) == NAMES[:2]
    assert "1\u20132 of 3 workloads" in first
    (after,) = re.findall(r'rel="next" href="(.*?)"', first)
    second = explorer.get(unescape(after)).text
    assert listed(second) == NAMES[2:]
    assert 'rel="next"' not in second
    assert "sort=studies" in re.findall(r'rel="prev" href="(.*?)"', second)[0]


def test_selected_workloads_stay_selected_outside_the_search(explorer: TestClient) -> None:
    text = explorer.get(f"/workloads?q=mlp&workload={NAMES[1]}&workload={NAMES[2]}&workload=no/such/thing/there").text
    chosen = re.findall(r'name="workload" value="([^"]*)"[^>]* checked', text)
    assert chosen == [NAMES[1], NAMES[2]]
    assert "no/such/thing/there" not in Page(text).text


def test_search_without_matches_suggests_similar_words(explorer: TestClient) -> None:
    for query in ("q=momentm+cnn", "q=mlp+sgd", "q=cnn&model=mlp"):
        text = explorer.get(f"/workloads?{query}").text
        assert "No workload matches" in text
        ways = re.findall(r'<li><a href="(/workloads\?.*?)">.*?</a> <span class="quiet">(\d+) workload', text)
        assert ways
        for url, count in ways:
            assert len(listed(explorer.get(unescape(url)).text)) == int(count)
    assert "/workloads" in Page(text).links
    assert "momentum cnn" in explorer.get("/workloads?q=momentm+cnn").text


@pytest.mark.parametrize("query", ["", "q=momentum", "optimizer=momentum&sort=trials"])
def test_list_links_to_json_and_csv(explorer: TestClient, query: str) -> None:
    text = explorer.get(f"/workloads?{query}").text
    (csv,) = re.findall(r'<a href="(/v1/workloads.csv.*?)" download>', text)
    (data,) = re.findall(r'rel="alternate" type="application/json" href="(.*?)"', text)
    rows = explorer.get(unescape(data)).json()["rows"]
    assert sorted(row["workload"] for row in rows) == sorted(listed(text))
    assert len(explorer.get(unescape(csv)).text.splitlines()) == len(rows) + 1


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "{{7*7}}"])
def test_search_text_is_escaped(explorer: TestClient, evil: str) -> None:
    for name in ("q", "model", "workload"):
        page = Page(explorer.get("/workloads", params={name: evil}).text)
        assert set(page.scripts) == {"module"}
        assert "<img src=x" not in page.text
        assert "49" not in page.text.partition("<main")[2].partition("<footer")[0]


def test_search_keeps_the_release(explorer: TestClient) -> None:
    page = Page(explorer.get("/workloads?release=1").text)
    assert listed(page.text) == NAMES[:2]
    assert f"/workloads/{NAMES[0]}?release=1" in page.links
    assert page.text.count('name="release" value="1"') == 2
