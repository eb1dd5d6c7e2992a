"""The pages of releases: changes, files and citations."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_service.web.pages import releases
from tests.service.web.reading import Page


def main_of(text: str) -> str:
    """Return the text of the main element on one line."""
    main = text.partition("<main")[2].partition("</main>")[0].partition(">")[2]
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", main).split()))


@pytest.mark.slow
def test_list_shows_changes_of_each_release(explorer: TestClient) -> None:
    text = explorer.get("/releases").text
    rows = [main_of(f"<main>{row}</main>") for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL)]
    assert [row.split()[1] for row in rows[1:]] == ["3", "2", "1"]
    assert "1 study replaced" in rows[1]
    assert "2 studies added" in rows[2]
    assert "+4" in rows[2]
    assert "the first release" in rows[3]
    assert Page(text).scripts == ["module"]


@pytest.mark.slow
def test_long_list_of_releases_is_paginated(explorer: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "RELEASES_ON_A_PAGE", 2)
    assert "Release 1<" not in explorer.get("/releases").text
    assert "the first release" in explorer.get("/releases?page=2").text


def test_release_links_to_changed_studies(explorer: TestClient) -> None:
    second, third = Page(explorer.get("/releases/2").text), Page(explorer.get("/releases/3").text)
    added = [f"/studies/shelf/mnist/mlp/momentum/{size}?release=2" for size in (16, 64)]
    assert [link for link in second.links if link.startswith("/studies/")] == added
    replaced = ["/studies/shelf/mnist/cnn/sgd/16?release=3"]
    assert [link for link in third.links if link.startswith("/studies/")] == replaced
    assert "with 4 more trials" in main_of(second.text)
    assert "all 6 studies are new" in main_of(explorer.get("/releases/1").text)


def test_files_of_a_release_match_the_rest_answer(explorer: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {(row["path"], row["sha256"]) for row in explorer.get("/v1/releases/3/files").json()["rows"]}
    monkeypatch.setattr(releases, "FILES_ON_A_PAGE", 15)
    listed = set()
    for number in (1, 2):
        text = explorer.get(f"/releases/3?page={number}").text
        rows = re.findall(r'<tr><td><a href="(.*?)">(.*?)</a>.*?<code>(\w+)</code>', text)
        listed |= {(unescape(place), sha256) for _, place, sha256 in rows}
        assert explorer.head(unescape(rows[0][0])).status_code == 200
    assert listed == expected
    assert f"16\u2013{len(expected)} of {len(expected)} files" in text


def test_release_has_a_citation(explorer: TestClient, three_releases: Lake) -> None:
    page = Page(explorer.get("/releases/2").text)
    assert "cite" in page.ids
    digest = three_releases.release(2).content_digest
    text, bibtex = page.lines[:2]
    assert text.endswith(f"http://localhost/releases/2, content digest sha256:{digest}.")
    assert unescape(bibtex).startswith("@misc{losslake-release-2,\n  author = {{The LossLake developers}},")
    assert bibtex.count("{") == bibtex.count("}")
    assert "/v1/releases/2/CITATION.cff" in page.links


def test_code_lines_name_the_release(explorer: TestClient) -> None:
    lines = Page(explorer.get("/releases/2").text).lines[3:]
    assert len(lines) == 5
    assert [line for line in lines if not re.search(r"release=2|--release 2|/releases/2/|/data/2/", line)] == []


def test_every_link_of_a_release_works(explorer: TestClient) -> None:
    for link in Page(explorer.get("/releases/2").text).links:
        if link.startswith(("/v1/", "/data/", "/releases", "/workloads")):
            assert explorer.get(link).status_code == 200, link


@pytest.mark.parametrize("name", ["9", "0", "two", "02", "<script>"])
def test_unknown_release_lists_existing_ones(explorer: TestClient, name: str) -> None:
    response = explorer.get(f"/releases/{name}", headers={"accept": "text/html"})
    assert response.status_code == 404
    page = Page(response.text)
    assert "/releases/1" in page.links
    assert page.scripts == []


def test_json_ld_describes_the_release(explorer: TestClient) -> None:
    assert '"version": "2.0.0"' in explorer.get("/releases/2").text
