from __future__ import annotations

import gzip
import posixpath
import re
from collections.abc import Callable

import pytest
import zstandard
from fastapi.testclient import TestClient

from losslake_service.web.static_files import STATIC_FILES


def test_versioned_static_file_is_immutable(client: TestClient) -> None:
    response = client.get(STATIC_FILES.address("style.css"))
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in response.headers["cache-control"]
    assert client.get(response.url, headers={"if-none-match": response.headers["etag"]}).status_code == 304


@pytest.mark.parametrize(("coding", "decompressed"), [("gzip", gzip.decompress), ("zstd", zstandard.decompress)])
def test_large_script_is_served_compressed(
    client: TestClient, coding: str, decompressed: Callable[[bytes], bytes]
) -> None:
    file = STATIC_FILES.files["vendor/codemirror.js"]
    with client.stream("GET", STATIC_FILES.address("vendor/codemirror.js"), headers={"accept-encoding": coding}) as got:
        body = b"".join(got.iter_raw())
    assert decompressed(body) == file.content
    assert len(body) < len(file.content) / 2.9
    assert got.headers["content-encoding"] == coding
    assert got.headers["vary"] == "Accept-Encoding"
    known = {"if-none-match": got.headers["etag"], "accept-encoding": coding}
    again = client.get(STATIC_FILES.address("vendor/codemirror.js"), headers=known)
    assert again.status_code == 304
    assert again.headers["etag"] == got.headers["etag"] != file.etag


def test_outdated_version_returns_the_current_file_with_no_cache(client: TestClient) -> None:
    response = client.get("/static/000000000000/page.js")
    assert response.content == STATIC_FILES.files["page.js"].content
    assert response.headers["cache-control"] == "public, no-cache"


@pytest.mark.parametrize("name", ["nothing.js", "../templates/base.html", "..%2Fpaths.py", "vendor/", ""])
def test_unknown_static_path_returns_404(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{STATIC_FILES.digest}/{name}").status_code == 404


def test_every_import_of_a_script_exists() -> None:
    for name, file in STATIC_FILES.files.items():
        if name.startswith("vendor/") or not name.endswith((".js", ".css")):
            continue
        for other in re.findall(r"""(?:from|import\()\s*"(\.[^"]+)\"""", file.content.decode()):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(name), other)) in STATIC_FILES.files, name


def test_every_font_exists_with_source_and_licence(client: TestClient) -> None:
    files = STATIC_FILES.files
    named = re.findall(r'url\("([^"]+)"\)', files["style.css"].content.decode())
    assert sorted(named) == sorted(name for name in files if name.endswith(".woff2"))
    source = files["fonts/SOURCE.txt"].content.decode()
    for name in named:
        assert name.removeprefix("fonts/") in source
        response = client.get(STATIC_FILES.address(name))
        assert response.headers["content-type"] == "font/woff2"
        assert "content-encoding" not in response.headers  # as it is compressed already
        assert response.content.startswith(b"wOF2")
    assert client.get(STATIC_FILES.address("style.css")).headers["content-encoding"] in ("gzip", "zstd")
    for licence in re.findall(r"LICENSE-\w+\.txt", source):
        assert b"SIL OPEN FONT LICENSE Version 1.1" in files[f"fonts/{licence}"].content


def test_scripts_never_write_html() -> None:
    for name, file in STATIC_FILES.files.items():
        if not name.startswith("vendor/") and name.endswith((".js", ".svg")):
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", file.content.decode()
            )
