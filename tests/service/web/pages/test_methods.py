"""The page of methods: citations, constants of the code, and working links."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from losslake.analysis.break_points import PERFECT_WITHIN, USEFUL_WITHIN
from losslake.analysis.fit_intervals import LEVEL
from losslake.analysis.identifiability import FEWEST_BATCH_SIZES
from losslake_schema.package_files import read_toml
from losslake_service.web.templates import percent
from tests.service.web.reading import Page


@pytest.fixture(scope="module")
def page(client: TestClient) -> Page:
    response = client.get("/docs/methods")
    assert response.status_code == 200
    return Page(response.text)


def test_citations_and_sources_match(page: Page) -> None:
    cited = {fragment for fragment in page.fragments() if fragment.startswith("source-")}
    sources = read_toml("losslake_service.web", "sources.toml")
    assert cited == {f"source-{name}" for name in sources}
    assert {source["url"] for source in sources.values()} <= set(page.links)
    assert all(source["url"].startswith("https://") for source in sources.values())


def test_ids_are_unique_and_fragments_resolve(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert page.fragments() - set(page.ids) - {"main"} == set()


def test_every_question_is_described_and_its_link_works(page: Page, client: TestClient) -> None:
    named = {link for link in page.links if link.startswith("/docs/reference/")}
    assert len(named) >= 14
    assert [link for link in named if client.get(link).status_code != 200] == []
    answers = [link for link in page.links if link.startswith("/v1/")]
    assert len(answers) == 9
    for link in answers:
        assert "release=1" in link
        assert client.get(link).status_code == 200, link


def test_numbers_match_the_constants_of_the_code(page: Page) -> None:
    text = re.sub(r"<[^>]+>|\s+", " ", page.text)
    assert f"at most {percent(PERFECT_WITHIN)} more examples" in text
    assert f"improves by more than {percent(USEFUL_WITHIN)}" in text
    assert f"at least {FEWEST_BATCH_SIZES} batch sizes" in text
    assert f"The {percent(LEVEL)} interval" in text


def test_every_formula_has_a_text_alternative(page: Page) -> None:
    formulas = re.findall(r"<math [^>]*>", page.text)
    assert len(formulas) >= 12
    assert all(re.search(r'alttext="[^"]{5,}"', formula) for formula in formulas)


def test_percent_has_no_space_before_the_sign() -> None:
    assert percent(0.2) == "20%"
    assert percent(2 * 0.95 - 1) == "90%"


def test_100_percent_is_all() -> None:
    assert percent(1) == "100%"
    assert percent(0.99951) == percent(1 - 1e-12) == "over 99.9%"
