"""The document about papers shows the figures that this release has data for, and counts the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient

from tests.applications import without_sql
from tests.bundled import bundled_lake


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(bundled_lake(tmp_path_factory))) as client:
        yield client


def test_only_figures_with_data_are_shown(client: TestClient) -> None:
    rows = client.get("/v1/papers").json()["rows"]
    page = client.get("/docs/papers").text
    drawn = [row for row in rows if row["series_without_data"] < row["series"]]
    assert {row["paper"] for row in drawn} == {"bundled"}
    assert page.count('class="of-paper"') == len(drawn)
    for row in drawn:
        assert row["path"] in page
    assert f"Not shown: {len(rows) - len(drawn)} figures" in page


def test_a_figure_can_be_framed_by_its_shared_lines(client: TestClient) -> None:
    page = unescape(unescape(client.get("/docs/papers").text))
    (first, *_) = re.findall(r'<iframe src="http://localhost([^"]*)"', page)
    answer = client.get(first)
    assert "frame-ancestors *" in answer.headers["content-security-policy"]
    assert "immutable" in answer.headers["cache-control"]
    (picture,) = re.findall(r'<img src="([^"]*)"', answer.text)
    assert client.get(unescape(picture)).headers["content-type"] == "image/svg+xml"
    (source,) = re.findall(r'<a href="(/docs/papers[^"]*)"', answer.text)
    assert f'id="{source.partition("#")[2]}"' in client.get(source).text
    for path in ("/embed/papers/nobody/1", "/embed/papers/bundled/99", "/embed/papers/shallue2018/1"):
        refused = client.get(path, headers={"accept": "text/html"})
        assert refused.status_code == 404
        assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]
    assert client.get(f"{first}&no=1").status_code == 422


def test_the_former_page_leads_to_the_document_with_its_release(client: TestClient) -> None:
    moved = client.get("/papers?release=1", follow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (308, "/docs/papers?release=1")


@pytest.mark.parametrize("number", ["2", "11"])
def test_room_for_a_figure_is_about_its_size(client: TestClient, number: str) -> None:
    page = client.get("/docs/papers").text
    (picture,) = re.findall(
        rf'<img src="(/v1/papers/bundled/figures/{number}\.svg[^"]*)" width="(\d+)" height="(\d+)"', page
    )
    drawn = client.get(unescape(picture[0])).text
    sizes = re.search(r'<svg [^>]*?width="(\d+)" height="(\d+)"', drawn)
    assert sizes is not None
    assert int(sizes[1]) <= int(picture[1]) <= 1.02 * int(sizes[1])
    assert int(picture[2]) == pytest.approx(int(sizes[2]), rel=0.1)
