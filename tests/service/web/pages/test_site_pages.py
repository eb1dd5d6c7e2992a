"""The pages of the navigation, the search and the sitemap exist, and the navigation shows where one is."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from losslake_service.web.documentation.site_documents import by_name
from losslake_service.web.site_pages import navigation, site_pages, words_of_documents


def test_every_page_exists(explorer: TestClient) -> None:
    assert {page.path: explorer.get(page.path).status_code for page in site_pages()} == {
        page.path: 200 for page in site_pages()
    }


def test_every_document_with_other_names_exists() -> None:
    assert words_of_documents().keys() <= by_name().keys()


@pytest.mark.parametrize(
    ("path", "text", "current"),
    [
        ("/workloads", "Curves", "page"),
        ("/compare", "Curves", "true"),
        ("/viewer", "Curves", "true"),
        ("/studies/a/b/c/d/8", "Curves", "true"),
        ("/docs", "Docs", "page"),
        ("/docs/methods", "Docs", "true"),
        ("/documents", "", ""),
        ("/", "", ""),
    ],
)
def test_navigation_shows_the_section_of_a_page(path: str, text: str, current: str) -> None:
    shown = [(page.navigation, page.place(path)) for page in navigation() if page.place(path)]
    assert shown == ([(text, current)] if text else [])


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/optimisers", "/optimizers"),
        ("/mlperf-results", "/results"),
        ("/critical_batch_size", "/batch-size"),
        ("/help/api", "/docs/reference"),
        ("/docs/contribution", "/docs/contributions"),
    ],
)
def test_unknown_path_suggests_pages(explorer: TestClient, path: str, wanted: str) -> None:
    response = explorer.get(path, headers={"accept": "text/html"})
    assert response.status_code == 404
    suggested = re.findall(r'<li><a href="(.*?)">', response.text.partition("<main")[2])
    assert wanted in suggested[:3]
    assert not any(word in response.text for word in ("readyz", "healthz"))


@pytest.mark.parametrize("path", ["/%22%3E%3Cimg%20src=x%3E", "/%00", "/" + "a/" * 2000, "/" + "(" * 500])
def test_unknown_path_of_any_text_is_answered(explorer: TestClient, path: str) -> None:
    response = explorer.get(path, headers={"accept": "text/html"})
    assert response.status_code == 404
    assert "<img src=x" not in response.text
