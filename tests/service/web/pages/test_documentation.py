"""Every document is a page of the site, and all of its links work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urldefrag

import pytest
from fastapi.testclient import TestClient

from losslake_service.web.documentation.site_documents import by_name, documents, groups
from losslake_service.web.paths import PAGES
from tests.applications import without_sql
from tests.bundled import bundled_lake
from tests.repository.checkout import ROOT
from tests.service.web.reading import Page

NAMES = ("", *by_name())
BROWSER = {"accept": "text/html"}
# The workload that a class makes in the lesson.
OF_A_CLASS = "/batch-size?workload=class/digits/softmax/sgd"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of the bundled studies, to which the documents link."""
    with TestClient(without_sql(bundled_lake(tmp_path_factory))) as client:
        yield client


@pytest.fixture(scope="module")
def pages(client: TestClient) -> Mapping[str, Page]:
    """Return every page of the documentation by its URL."""
    addresses = ["/docs", *(f"/docs/{name}" for name in by_name()), "/docs/reference", "/docs/schema", "/docs/methods"]
    return {address: Page(client.get(address).text) for address in addresses}


def test_index_lists_every_document_once() -> None:
    wanted = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert wanted - set(documents()) == set()
    listed = [document.path for group in groups() for _, document in group.documents]
    assert sorted(listed) == sorted(set(documents()) - {"docs/README.md"})


def test_explorer_document_lists_every_page() -> None:
    text = documents()["docs/explorer.md"].markdown
    shown = {kind.path.partition("{")[0].rstrip("/") for kind in PAGES if not kind.is_fragment}
    assert {path for path in shown if f"`{path}" not in text} == set()


@pytest.mark.parametrize("name", NAMES)
def test_document_page_has_its_title(client: TestClient, name: str) -> None:
    response = client.get(f"/docs/{name}".rstrip("/"))
    assert response.status_code == 200
    (document,) = (each for each in documents().values() if each.name == name)
    title = document.markdown.partition("\n")[0].removeprefix("# ")
    assert f"<h1>{title.replace(chr(39), '&#39;')}</h1>" in response.text
    page = Page(response.text)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.scripts) <= {"module"}


@pytest.mark.slow
def test_every_link_of_every_document_works(client: TestClient, pages: Mapping[str, Page]) -> None:
    dead = []
    for address, page in pages.items():
        for link in {*page.links, *page.loads}:
            if not link.startswith(("/", "#")):
                assert link.startswith(("https://", "http://localhost/")), link
                continue
            place, fragment = urldefrag(link)
            target = pages.get(place or address)
            is_dead = False
            if target is None:
                answer = client.get(place)
                is_dead = answer.status_code != (404 if place == OF_A_CLASS else 200)
                target = Page(answer.text if fragment else "")
            if is_dead or (fragment and unquote(fragment) not in target.ids):
                dead.append(f"{address}: {link}")
    assert dead == []


def test_documents_link_to_previous_and_next(pages: Mapping[str, Page]) -> None:
    names = list(by_name())
    assert f"/docs/{names[1]}" in pages[f"/docs/{names[0]}"].links
    for before, name, after in zip(names, names[1:], names[2:], strict=False):
        turns = pages[f"/docs/{name}"].text.partition('<nav class="turn"')[2]
        assert f'href="/docs/{before}" rel="prev"' in turns
        assert f'href="/docs/{after}" rel="next"' in turns


def test_links_of_a_pinned_document_keep_the_release(client: TestClient) -> None:
    page = Page(client.get("/docs/words?release=1").text)
    assert {link for link in page.links if link.startswith("/docs/") and "release=1" not in link} == set()


@pytest.mark.parametrize(
    "name", ["nothing", "..", "%2e%2e", "..%2Fpages", "rest%2F", "%2Frest", "rest.md", "README", "ümlaut"]
)
def test_unknown_document_returns_a_404_page(client: TestClient, name: str) -> None:
    response = client.get(f"/docs/{name}", headers=BROWSER)
    if name == "..":
        assert response.url.path == "/"  # which the client makes of it
        return
    assert response.status_code == 404
    assert "There is nothing at this path" in response.text
    assert 'href="/docs' in response.text


def test_misspelt_document_suggests_the_right_one(client: TestClient) -> None:
    assert "/docs/quarantine" in Page(client.get("/docs/quarantin", headers=BROWSER).text).links


@pytest.mark.parametrize("name", ["nothing.png", "../README.md", "..%2F..%2FLICENSE", "explorer", "explorer/", ""])
def test_unknown_picture_returns_404(client: TestClient, name: str) -> None:
    assert client.get(f"/docs/pictures/{name}").status_code == 404


def test_matching_etag_of_a_picture_returns_304(client: TestClient) -> None:
    response = client.get("/docs/pictures/explorer/workload.png")
    assert response.headers["content-type"] == "image/png"
    assert client.get(response.url, headers={"if-none-match": response.headers["etag"]}).status_code == 304


def test_old_search_url_redirects_to_the_reference(client: TestClient) -> None:
    response = client.get("/docs?q=figures curves&release=1", follow_redirects=False)
    assert response.status_code == 308
    assert response.headers["location"] == "/docs/reference?q=figures%20curves&release=1"
    assert client.get("/docs?q=", follow_redirects=False).status_code == 200
