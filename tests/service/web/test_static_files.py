from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from losslake_service.web.static_files import STATIC_FILES


def test_a_file_is_kept_for_ever_under_its_own_address(client: TestClient) -> None:
    response = client.get(STATIC_FILES.address("style.css"))
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in response.headers["cache-control"]
    assert client.get(response.url, headers={"if-none-match": response.headers["etag"]}).status_code == 304


def test_a_page_of_an_older_version_still_finds_its_files(client: TestClient) -> None:
    response = client.get("/static/000000000000/page.js")
    assert response.content == STATIC_FILES.files["page.js"].content
    assert response.headers["cache-control"] == "public, no-cache"


@pytest.mark.parametrize("name", ["nothing.js", "../templates/base.html", "..%2Fpaths.py", "vendor/", ""])
def test_nothing_but_static_files_can_be_reached(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{STATIC_FILES.digest}/{name}").status_code == 404


def test_every_file_that_a_script_or_style_names_is_there() -> None:
    for name, file in STATIC_FILES.files.items():
        if name.startswith("vendor/") or not name.endswith((".js", ".css")):
            continue
        for other in re.findall(r"""(?:from|import\()\s*"\./([^"]+)\"""", file.content.decode()):
            assert other in STATIC_FILES.files, name


def test_no_script_of_ours_writes_html() -> None:
    for name, file in STATIC_FILES.files.items():
        if not name.startswith("vendor/"):
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", file.content.decode()
            )
