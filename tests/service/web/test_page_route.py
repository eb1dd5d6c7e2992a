"""Rules of all pages: release, caching, errors and escaping."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from tests.applications import without_sql
from tests.service.web.reading import Page

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def path(client: TestClient) -> str:
    row = client.get("/v1/workloads").json()["rows"][0]
    return f"/workloads/{row['workload']}"


def test_page_has_title_description_and_preview(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    for wanted in ('<link rel="canonical"', 'property="og:image"', '<meta name="description"', '<html lang="en">'):
        assert wanted in response.text


def test_page_has_no_inline_scripts_or_styles(client: TestClient, path: str) -> None:
    response = client.get(path)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page = Page(response.text)
    assert set(page.scripts) <= {"module", "application/ld+json"}
    assert "<style" not in response.text
    assert all(address.startswith(("/", "http://localhost/", "data:")) for address in page.loads)


def test_matching_etag_of_a_page_returns_304(client: TestClient, path: str) -> None:
    etag = client.get(path).headers["etag"]
    assert client.get(path, headers={"if-none-match": etag}).status_code == 304
    assert client.get(f"{path}?release=1").headers["etag"] != etag


def test_head_has_the_headers_of_get(client: TestClient, path: str) -> None:
    plain = {"accept-encoding": "identity"}
    head, whole = client.head(path, headers=plain), client.get(path, headers=plain)
    for name in ("etag", "content-length", "content-type", "cache-control", "content-security-policy"):
        assert head.headers[name] == whole.headers[name]
    assert head.content == b""


def test_tracking_parameters_are_ignored(client: TestClient, path: str) -> None:
    assert client.get(f"{path}?utm_source=somewhere").status_code == 200


def test_links_of_a_pinned_page_keep_the_release(client: TestClient, path: str) -> None:
    page = Page(client.get(f"{path}?release=1").text)
    assert "/workloads?release=1" in page.links


def test_notice_of_the_host_stands_above_every_page_and_is_escaped(lake: Lake, path: str) -> None:
    plain, noted = (TestClient(without_sql(lake, notice=notice)) for notice in ("", "A <b>test</b>."))
    with plain, noted:
        assert 'class="notice"' not in plain.get(path).text
        for each in ("/", path):
            assert '<p class="notice" role="note">A &lt;b&gt;test&lt;/b&gt;.</p>' in noted.get(each).text
        assert plain.get(path).headers["etag"] != noted.get(path).headers["etag"]


def test_unknown_name_returns_an_error_page_to_a_browser(client: TestClient, path: str) -> None:
    response = client.get(path[:-1], headers=BROWSER)
    assert response.status_code == 404
    page = Page(response.text)
    assert path in page.links
    assert "/workloads" in page.links


def test_unknown_name_returns_problem_json_to_a_program(client: TestClient, path: str) -> None:
    response = client.get(path[:-1])
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


def test_rest_errors_are_problem_json_even_in_a_browser(client: TestClient) -> None:
    response = client.get("/v1/scaling", headers=BROWSER)
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "{{7*7}}"])
def test_text_of_the_url_is_escaped(client: TestClient, path: str, evil: str) -> None:
    for address in (f"/workloads/{evil}", f"{path}?metric={evil}", f"{path}?target={evil}", f"/nothing{evil}"):
        response = client.get(address, headers=BROWSER)
        assert response.status_code in (404, 422)
        page = Page(response.text)
        assert page.scripts == []
        assert "<img src=x" not in response.text
        assert "49" not in page.text.partition("<main")[2].partition("request")[0]


def test_unknown_release_returns_an_error_page(client: TestClient, path: str) -> None:
    response = client.get(f"{path}?release=99", headers=BROWSER)
    assert response.status_code == 404
    assert "There is no such release" in response.text
