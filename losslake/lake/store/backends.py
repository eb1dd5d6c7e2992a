"""The backends of lakes, by the scheme of a warehouse's URL: a new one is a module beside this one, and a line here."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.store import MetadataFiles, Store

# The module of each scheme, imported when a lake is there: a folder needs no client for buckets, which takes 0.1 s.
BACKENDS = {
    "file": "losslake.lake.store.folder",
    "s3": "losslake.lake.store.s3",
}


class Backend(Protocol):
    """The functions that the module of a backend has."""

    def normalize_url(self, url: str) -> str:
        """Return the URL of a warehouse, which has no trailing slash; raise ValueError if it is not valid."""

    def open_store(self, url: str, endpoint: str | None, cache: BlockCache) -> Store:
        """Return the store at a normalized URL. endpoint: as in a lake.toml. cache: for what is fetched."""

    def metadata_files(self, url: str, endpoint: str | None) -> tuple[MetadataFiles, str]:
        """Return access to one of Iceberg's files, by its URL anywhere, and the path of the file there."""


def backend_of(url: str) -> Backend:
    """Return the backend of a URL, or of a path without a scheme; raise ValueError for an unknown scheme."""
    scheme = url.partition("://")[0] if "://" in url else "file"
    if scheme not in BACKENDS:
        schemes = " or ".join(f"{each}://" for each in BACKENDS if each != "file")
        raise ValueError(f"a warehouse must be a folder or a URL that begins with {schemes}, not {scheme}://")
    return cast("Backend", importlib.import_module(BACKENDS[scheme]))
