"""What a release offers for download, by place: data files, and documents beside them. Nothing else can be reached."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from losslake.index.file_list import file_list
from losslake.lake.croissant import CROISSANT_PLACE, croissant
from losslake.lake.documents import documents
from losslake.lake.lake import Lake
from losslake.lake.manifest import checksum_lines, places
from losslake.questions.errors import UnknownName, near_numbers
from losslake_schema.database import Release
from losslake_schema.errors import UnknownRelease
from losslake_service.files.conditions import Version
from losslake_service.files.delivery import LakeFile
from losslake_service.files.described_release import DescribedRelease
from losslake_service.kept import Kept

CHECKSUMS_PLACE = "SHA256SUMS"
PARQUET = "application/vnd.apache.parquet"
MOST_KEPT = 8
_MEDIA_TYPES = {
    "README.md": "text/markdown; charset=utf-8",
    "CITATION.cff": "application/yaml",
    CROISSANT_PLACE: "application/ld+json",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A text that comes along with a release."""

    content: bytes
    version: Version
    media_type: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a listing: a file of so many bytes (None: not known yet), or a folder, whose name ends in a slash."""

    name: str
    size: int | None


class ReleaseFiles:
    """The files and documents of one release; shared by threads."""

    def __init__(self, lake: Lake, described: DescribedRelease) -> None:
        """Raises LakeBroken when the release's file list can't be read."""
        self.lake = lake
        self.release = release = described.release
        self.number = release.number
        self.modified = release.created_at.replace(microsecond=0)
        self.data_files = lake.files(release)
        self.collections = described.collections
        self.place_of = places(self.data_files)
        self.files: Mapping[str, LakeFile] = {
            self.place_of[file.path]: LakeFile(
                file.path, file.bytes, Version(f'"{file.sha256}"', self.modified), PARQUET
            )
            for file in self.data_files
        }
        texts = documents(release, self.collections)
        sums = {self.place_of[file.path]: file.sha256 for file in self.data_files}
        sums |= {place: hashlib.sha256(text.encode()).hexdigest() for place, text in texts.items()}
        texts[CHECKSUMS_PLACE] = checksum_lines(sums)
        self._documents = {place: document(text, place, self.modified) for place, text in texts.items()}
        self.folders = _folders({place: file.size for place, file in self.files.items()}, self._documents)

    def document(self, place: str, base_url: str) -> Document | None:
        """The document at a place; base_url: of this service, for the one that names files by URL."""
        if place == CROISSANT_PLACE:
            text = croissant(self.release, self.data_files, self.collections, base_url)
            return document(text, place, self.modified)
        return self._documents.get(place)

    def table(self, base_url: str) -> pa.Table:
        """A row per data file: the columns of `losslake.index.file_list.FILES`, and its url; raises LakeBroken."""
        listed = file_list(self.lake, self.release)
        urls = [f"{base_url}/hive/{self.release.number}/{path}" for path in listed["path"].to_pylist()]
        return listed.append_column("url", pa.array(urls, pa.string()))


class BulkReleases:
    """The files of the releases of a lake, the last used ones kept."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._opened: Kept[ReleaseFiles] = Kept(MOST_KEPT)
        self._described: Kept[DescribedRelease] = Kept(MOST_KEPT)

    def kept(self, number: int) -> ReleaseFiles | None:
        """The files of a release if it was used lately; never waits."""
        return self._opened.recall(number)

    def open(self, number: int) -> ReleaseFiles:
        """The files of a release; raises UnknownName and LakeBroken."""
        return self._opened.get(number, lambda: ReleaseFiles(self.lake, self.described(number)))

    def described(self, number: int) -> DescribedRelease:
        """What a release says of itself; raises UnknownName and LakeBroken."""
        return self._described.get(number, lambda: DescribedRelease(self.lake, self._release(number)))

    def _release(self, number: int) -> Release:
        try:
            return self.lake.release(number)
        except UnknownRelease:
            raise self.unknown(str(number), number) from None

    def unknown(self, text: str, number: int = 0) -> UnknownName:
        """That there is no such release, with the numbers that are nearest."""
        known = near_numbers(number, (release.number for release in self.lake.releases()))
        return UnknownName("release", text, [str(other) for other in known], "the lake")


def document(text: str, place: str, modified: datetime) -> Document:
    """A document of this text."""
    content = text.encode()
    version = Version(f'"{hashlib.sha256(content).hexdigest()}"', modified)
    return Document(content, version, _MEDIA_TYPES.get(place, "text/plain; charset=utf-8"))


def _folders(sizes: Mapping[str, int], texts: Mapping[str, Document]) -> Mapping[str, Sequence[Entry]]:
    """The entries of each folder, folders first; a folder's place ends in a slash, that of the release is empty."""
    every: dict[str, int | None] = {**sizes, **{place: len(text.content) for place, text in texts.items()}}
    every[CROISSANT_PLACE] = None
    found: dict[str, dict[str, Entry]] = {"": {}}
    for place, size in every.items():
        folder, _, name = place.rpartition("/")
        _entries(found, f"{folder}/" if folder else "")[name] = Entry(name, size)
    return {
        folder: tuple(sorted(entries.values(), key=lambda entry: (not entry.name.endswith("/"), entry.name)))
        for folder, entries in found.items()
    }


def _entries(found: dict[str, dict[str, Entry]], folder: str) -> dict[str, Entry]:
    """The entries of a folder, which is made with those above it if it isn't there."""
    entries = found.get(folder)
    if entries is None:
        entries = found[folder] = {}
        above, _, name = folder[:-1].rpartition("/")
        _entries(found, f"{above}/" if above else "")[f"{name}/"] = Entry(f"{name}/", None)
    return entries
