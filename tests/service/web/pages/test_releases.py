"""The pages of releases: what changed, which files there are, and how to cite one."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_service.web.pages import releases
from tests.service.web.reading import Page


def main_of(text: str) -> str:
    """The text of the main part, on one line."""
    main = text.partition("<main")[2].partition("</main>")[0].partition(">")[2]
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", main).split()))


def test_the_list_says_what_each_release_changed(explorer: TestClient) -> None:
    text = explorer.get("/releases").text
    rows = [main_of(f"<main>{row}</main>") for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL)]
    assert [row.split()[1] for row in rows[1:]] == ["3", "2", "1"]
    assert "1 study replaced" in rows[1]
    assert "2 studies added" in rows[2]
    assert "+4" in rows[2]
    assert "the first release" in rows[3]
    assert Page(text).scripts == ["module"]


def test_a_long_list_of_releases_is_given_in_pages(explorer: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "RELEASES_ON_A_PAGE", 2)
    assert "Release 1<" not in explorer.get("/releases").text
    assert "the first release" in explorer.get("/releases?page=2").text


def test_a_release_names_the_studies_that_changed_and_links_to_them(explorer: TestClient) -> None:
    second, third = Page(explorer.get("/releases/2").text), Page(explorer.get("/releases/3").text)
    added = [f"/studies/shelf/mnist/mlp/momentum/{size}?release=2" for size in (16, 64)]
    assert [link for link in second.links if link.startswith("/studies/")] == added
    replaced = ["/studies/shelf/mnist/cnn/sgd/16?release=3"]
    assert [link for link in third.links if link.startswith("/studies/")] == replaced
    assert "with 4 more trials" in main_of(second.text)
    assert "all 6 studies are new" in main_of(explorer.get("/releases/1").text)


def test_a_release_lists_its_files_as_the_rest_interface_does(
    explorer: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {(row["path"], row["sha256"]) for row in explorer.get("/v1/releases/3/files").json()["rows"]}
    monkeypatch.setattr(releases, "FILES_ON_A_PAGE", 15)
    found = set()
    for number in (1, 2):
        text = explorer.get(f"/releases/3?page={number}").text
        rows = re.findall(r'<tr><td><a href="(.*?)">(.*?)</a>.*?<code>(\w+)</code>', text)
        found |= {(unescape(place), sha256) for _, place, sha256 in rows}
        assert explorer.head(unescape(rows[0][0])).status_code == 200
    assert found == wanted
    assert f"16\u2013{len(wanted)} of {len(wanted)} files" in text


def test_a_release_can_be_cited(explorer: TestClient, three_releases: Lake) -> None:
    page = Page(explorer.get("/releases/2").text)
    assert "cite" in page.ids
    digest = three_releases.release(2).content_digest
    text, bibtex = page.lines[:2]
    assert text.endswith(f"http://testserver/releases/2, content digest sha256:{digest}.")
    assert unescape(bibtex).startswith("@misc{losslake-release-2,\n  author = {{The LossLake developers}},")
    assert bibtex.count("{") == bibtex.count("}")
    assert "/v1/releases/2/CITATION.cff" in page.links


def test_the_lines_of_a_release_name_it(explorer: TestClient) -> None:
    lines = Page(explorer.get("/releases/2").text).lines[2:]
    assert len(lines) == 5
    assert [line for line in lines if not re.search(r"release=2|--release 2|/releases/2/|/data/2/", line)] == []


def test_the_links_of_a_release_lead_somewhere(explorer: TestClient) -> None:
    for link in Page(explorer.get("/releases/2").text).links:
        if link.startswith(("/v1/", "/data/", "/releases", "/workloads")):
            assert explorer.get(link).status_code == 200, link


@pytest.mark.parametrize("name", ["9", "0", "two", "02", "<script>"])
def test_a_release_that_is_not_there_is_told_with_those_that_are(explorer: TestClient, name: str) -> None:
    response = explorer.get(f"/releases/{name}", headers={"accept": "text/html"})
    assert response.status_code == 404
    page = Page(response.text)
    assert "/releases/1" in page.links
    assert page.scripts == []


def test_metadata_of_a_release_is_its_own(explorer: TestClient) -> None:
    assert '"version": "2.0.0"' in explorer.get("/releases/2").text
