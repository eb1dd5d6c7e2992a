"""The feed of releases and the sitemap are valid, lead to pages that exist, and name no foreign host."""

from __future__ import annotations

import re
from datetime import datetime
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.questions import QUESTIONS
from losslake_service.bounded_cache import BoundedCache
from losslake_service.web.pages import discovery
from tests.applications import without_sql
from tests.service.web.reading import Page

ATOM = {"a": "http://www.w3.org/2005/Atom"}
MAP = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
SELF = "http://localhost"
DOCUMENTS = ["/releases.atom", "/sitemap.xml", "/robots.txt", "/llms.txt"]


def locations(text: str) -> list[str]:
    return [str(loc.text) for loc in ElementTree.fromstring(text).iterfind(".//s:loc", MAP)]


def test_the_feed_has_what_rfc_4287_requires(explorer: TestClient) -> None:
    response = explorer.get("/releases.atom")
    assert response.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(response.content)
    entries = feed.findall("a:entry", ATOM)
    assert [entry.findtext("a:title", None, ATOM) for entry in entries] == ["Release 3", "Release 2", "Release 1"]
    ids = [str(each.findtext("a:id", None, ATOM)) for each in (feed, *entries)]
    assert len(set(ids)) == 4
    assert all(each.startswith("urn:uuid:") for each in ids)
    times = [datetime.fromisoformat(str(each.findtext("a:updated", None, ATOM))) for each in (feed, *entries)]
    assert times == sorted(times, reverse=True)
    assert times[0] == times[1]
    assert feed.findtext("a:author/a:name", None, ATOM)
    links = {link.get("rel"): link.get("href") for link in feed.findall("a:link", ATOM)}
    assert links == {"self": f"{SELF}/releases.atom", "alternate": f"{SELF}/releases"}
    for entry in entries:
        (link,) = entry.findall("a:link", ATOM)
        assert explorer.get(str(link.get("href"))).status_code == 200


def test_an_entry_says_what_changed_and_repeats_the_notes(explorer: TestClient) -> None:
    feed = ElementTree.fromstring(explorer.get("/releases.atom").content)
    third, second, first = (str(each.text) for each in feed.iterfind("a:entry/a:summary", ATOM))
    assert third.startswith("Changed: 1 study replaced.")
    assert second.startswith("Changed: 2 studies added.")
    assert second.endswith("Another model & <script>alert(1)</script>")
    assert first.startswith("Changed: the first release.")


def test_the_ids_of_entries_stay_when_the_address_changes(three_releases: Lake) -> None:
    ids = [
        re.findall("<id>(.*?)</id>", discovery.feed(three_releases, address)) for address in (SELF, "https://b.example")
    ]
    assert ids[0] == ids[1]


def test_every_page_links_to_the_feed(explorer: TestClient) -> None:
    for path in ("/", "/releases", "/docs", "/workloads"):
        assert discovery.FEED in Page(explorer.get(path).text).loads


def test_the_sitemap_leads_to_every_page_of_workloads_studies_and_documents(explorer: TestClient) -> None:
    urls = locations(explorer.get("/sitemap.xml").text)
    assert len(set(urls)) == len(urls)
    paths = {url.removeprefix(SELF) for url in urls}
    for name in ("workload", "study"):
        rows = explorer.get(f"/v1/{'studies' if name == 'study' else 'workloads'}").json()["rows"]
        assert {f"/{'studies' if name == 'study' else 'workloads'}/{row[name]}" for row in rows} <= paths
    assert {"/", "/docs/rest", "/docs/methods", "/docs/schema", "/docs/reference", "/compare"} <= paths
    assert {explorer.get(url).status_code for url in urls} == {200}


def test_more_urls_than_the_protocol_allows_make_an_index(
    explorer: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = locations(explorer.get("/sitemap.xml").text)
    monkeypatch.setattr(discovery, "URLS_IN_SITEMAP", 10)
    monkeypatch.setattr(discovery, "_sitemaps", BoundedCache(8))
    index = explorer.get("/sitemap.xml").text
    assert "<sitemapindex" in index
    parts = [locations(explorer.get(url).text) for url in locations(index)]
    assert [url for part in parts for url in part] == whole
    assert {len(part) for part in parts[:-1]} == {10}
    for number in (0, len(parts) + 1):
        assert explorer.get(f"/sitemap-{number}.xml").status_code == 404


def test_robots_names_the_sitemap(explorer: TestClient) -> None:
    assert f"\nSitemap: {SELF}/sitemap.xml\n" in explorer.get("/robots.txt").text


def test_llms_txt_names_every_question_and_leads_to_pages_that_exist(explorer: TestClient) -> None:
    text = explorer.get("/llms.txt").text
    assert text.startswith("# LossLake\n\n> ")
    links = re.findall(r"\]\((.*?)\)", text)
    assert {explorer.get(url).status_code for url in links} == {200}
    assert all(f"[{question.path}]" in text for question in QUESTIONS)
    asked = explorer.get(re.findall(r"\S+/v1/workloads\?q=", text)[0] + "momentum").json()["rows"][0]["workload"]
    (scaling,) = re.findall(r"\S+/v1/scaling\?\S+", text)
    question = scaling.replace("NAME", asked).replace("seconds", "examples")
    assert explorer.get(f"{question}&metric=val/classification_error&target=0.5").json()["rows"]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_documents_are_revalidated_by_their_tag(explorer: TestClient, path: str) -> None:
    first = explorer.get(path)
    assert first.headers["cache-control"] == "public, max-age=3600"
    assert explorer.get(path, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    assert explorer.head(path).status_code == 200


@pytest.fixture(scope="module")
def published(three_releases: Lake) -> TestClient:
    """A service with a public URL."""
    app = without_sql(three_releases, public_url="https://lake.example")
    return TestClient(app, base_url="https://lake.example")


@pytest.mark.parametrize("path", DOCUMENTS)
def test_no_request_puts_a_foreign_host_into_them(published: TestClient, path: str) -> None:
    assert published.get(path, headers={"Host": "evil.example"}).status_code == 400
    hostile = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "X-Forwarded-Proto": "evil"}
    text = published.get(path, headers=hostile).text
    assert "evil" not in text
    assert "https://lake.example/" in text
