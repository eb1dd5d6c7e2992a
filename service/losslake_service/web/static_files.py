"""The files that pages load, styles and scripts: all from here, under addresses that change with their bytes.

Browsers keep a file for ever under its own address, and ask again under an older one. Scripts of others:
`python -m losslake_service.web.static_files` writes them into static/vendor anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from losslake_service.files.conditions import PINNED, REVALIDATED, not_modified_response

PREFIX = "/static/"
_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class StaticFile:
    """A file's bytes and what they are."""

    content: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        """A strong entity tag."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


class StaticFiles:
    """All of them, by name; the names of scripts hold their folder: vendor/vega.js."""

    @cached_property
    def files(self) -> Mapping[str, StaticFile]:
        """By name."""
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
        """Of all files together: scripts name each other, so that they are kept or renewed as one."""
        digest = hashlib.sha256()
        for name, file in self.files.items():
            digest.update(f"{name}\0{len(file.content)}\0".encode() + file.content)
        return digest.hexdigest()[:12]

    def address(self, name: str) -> str:
        """Return where a page finds a file; raises KeyError for one that isn't there."""
        assert self.files[name]
        return f"{PREFIX}{self.digest}/{name}"


STATIC_FILES = StaticFiles()


async def static_file(request: Request, digest: str, name: str) -> Response:
    """Return a file by its name; one that a page of an older version of the program names is given as it is now."""
    file = STATIC_FILES.files.get(name)
    if file is None:
        raise HTTPException(404)
    is_current = digest == STATIC_FILES.digest
    headers = {"cache-control": PINNED if is_current else REVALIDATED, "etag": file.etag}
    known = not_modified_response(request.headers, headers)
    return known or Response(file.content, headers=headers, media_type=file.media_type)


VEGA = "vega.js"


def vega() -> bytes:
    """Return Vega, Vega-Lite and vega-embed as the renderer of SVG and PNG has them, so that page and picture agree."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.encode()


if __name__ == "__main__":
    (_FOLDER / "vendor" / VEGA).write_bytes(vega())
