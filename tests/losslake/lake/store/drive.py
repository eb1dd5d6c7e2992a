"""A backend that the product doesn't know: drive:///folder, a folder of this machine under another scheme."""

from __future__ import annotations

from pathlib import Path

from losslake.lake.store import folder
from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.store import MetadataFiles

SCHEME = "drive://"


def normalize_url(url: str) -> str:
    return url


def open_store(url: str, endpoint: str | None, cache: BlockCache) -> Drive:
    return Drive(Path(url.removeprefix(SCHEME)))


def metadata_files(url: str, endpoint: str | None) -> tuple[MetadataFiles, str]:
    return folder.metadata_files(url.removeprefix(SCHEME), endpoint)


class Drive(FolderStore):
    """A folder whose files are local, but whose URLs are not file://."""

    @property
    def url(self) -> str:
        return f"{SCHEME}{self.folder}"

    def url_of(self, path: str) -> str:
        return f"{self.url}/{path}"
