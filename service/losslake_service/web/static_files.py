"""The static files of pages, styles and scripts, at addresses that change with their content.

Browsers cache a current address forever, and revalidate an older one. `python -m losslake_service.web.static_files`
updates the third-party scripts in static/vendor.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import zstandard
from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from losslake_service.entity_tags import PINNED, REVALIDATED, digest_tag, not_modified_response, with_suffix
from losslake_service.operation.compression import preferred_coding

PREFIX = "/static/"
_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
# Bytes from which a file is compressed once and kept; what is smaller is compressed on its way.
_WORTH_KEEPING = 65_536


@dataclass(frozen=True)
class StaticFile:
    """The content of a file, and its media type."""

    content: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        """The strong entity tag."""
        return digest_tag(hashlib.sha256(self.content).hexdigest())

    @cached_property
    def gzip(self) -> bytes:
        """The content in gzip, as small as it gets."""
        return gzip.compress(self.content, mtime=0)

    @cached_property
    def zstd(self) -> bytes:
        """The content in zstd, as small as it gets in a second."""
        return zstandard.compress(self.content, level=19)


class StaticFiles:
    """All static files, by name relative to their folder, such as vendor/vega.js."""

    @cached_property
    def files(self) -> Mapping[str, StaticFile]:
        """The files by name."""
        media_types = {
            path.relative_to(_FOLDER).as_posix(): _MEDIA_TYPES.get(path.suffix) for path in _FOLDER.rglob("*")
        }
        return {
            name: StaticFile((_FOLDER / name).read_bytes(), media_type)
            for name, media_type in sorted(media_types.items())
            if media_type is not None
        }

    @cached_property
    def digest(self) -> str:
        """The digest of all files together, since scripts import each other and must be updated together."""
        digest = hashlib.sha256()
        for name, file in self.files.items():
            digest.update(f"{name}\0{len(file.content)}\0".encode() + file.content)
        return digest.hexdigest()[:12]

    def address(self, name: str) -> str:
        """Return the address of a file; raises KeyError if it doesn't exist."""
        assert self.files[name]
        return f"{PREFIX}{self.digest}/{name}"


STATIC_FILES = StaticFiles()


async def static_file(request: Request) -> Response:
    """Return a file by its name. The digest of an older version gets the current file."""
    file = STATIC_FILES.files.get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    headers = {
        "cache-control": PINNED if request.path_params["digest"] == STATIC_FILES.digest else REVALIDATED,
        "etag": file.etag,
    }
    not_modified = not_modified_response(request.headers, headers)
    if not_modified is not None:
        return not_modified
    coding = preferred_coding(request.headers.get("accept-encoding", "").encode())
    gets_smaller = len(file.content) >= _WORTH_KEEPING and file.media_type.startswith("text/")
    if coding is None or request.method == "HEAD" or not gets_smaller:
        return Response(file.content, headers=headers, media_type=file.media_type)
    body = await run_in_threadpool(getattr, file, coding)
    headers |= {"content-encoding": coding, "etag": with_suffix(file.etag.encode(), coding).decode()}
    return Response(body, headers={**headers, "vary": "Accept-Encoding"}, media_type=file.media_type)


VEGA = "vega.js"


def vega() -> bytes:
    """Return the bundle of Vega, Vega-Lite and vega-embed in the versions of the renderer of SVG and PNG."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.encode()


if __name__ == "__main__":
    (_FOLDER / "vendor" / VEGA).write_bytes(vega())
