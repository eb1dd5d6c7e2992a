"""What a release offers for download, by place: data files, and documents beside them. Nothing else can be reached.

Beside it, the DuckDB files that read this service over HTTP, one per release and address of the service.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

import pyarrow as pa

from losslake.index.file_list import file_list
from losslake.index.serving import MOST_KEPT, remote_file
from losslake.lake.croissant import CROISSANT_PLACE, croissant, json_ld
from losslake.lake.documents import collections_of, documents
from losslake.lake.lake import Lake
from losslake.lake.manifest import checksum_lines, places, sha256_of
from losslake.questions.errors import UnknownName, near_numbers
from losslake_schema.database import Release
from losslake_schema.errors import UnknownRelease
from losslake_service.files.conditions import ServedFile, Version
from losslake_service.kept import Kept


class DescribedRelease:
    """The collections of a release and its short description; at once there, however many studies it has."""

    def __init__(self, lake: Lake, release: Release) -> None:
        """Raises LakeBroken when the release's file list or its collections can't be read."""
        self.release = release
        self.files = lake.files(release, of_studies=False)
        self.collections = collections_of(lake, self.files)

    def json_ld(self, base_url: str) -> str:
        """A short Croissant description, without the files of partitions, to stand in a page's script element.

        base_url: of the service that gives the files.
        """
        return json_ld(croissant(self.release, self.files, self.collections, base_url, brief=True))


CHECKSUMS_PLACE = "SHA256SUMS"
PARQUET = "application/vnd.apache.parquet"
MOST_RELEASES_KEPT = 8
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

    @property
    def link(self) -> str:
        return f"./{quote(self.name, safe='/=')}"


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
        self.files: Mapping[str, ServedFile] = {
            self.place_of[file.path]: ServedFile(
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
        self._opened: Kept[ReleaseFiles] = Kept(MOST_RELEASES_KEPT)
        self._described: Kept[DescribedRelease] = Kept(MOST_RELEASES_KEPT)

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
    """Return the entries of each folder, folders first; a folder's place ends in a slash, the release's is empty."""
    every: dict[str, int | None] = {**sizes, **{place: len(text.content) for place, text in texts.items()}}
    every[CROISSANT_PLACE] = None
    folders: dict[str, set[Entry]] = defaultdict(set)
    for place, size in every.items():
        *above, name = place.split("/")
        entry = Entry(name, size)
        while entry not in (entries := folders["".join(f"{part}/" for part in above)]):
            entries.add(entry)
            if above:
                entry = Entry(f"{above.pop()}/", None)
    return {
        folder: tuple(sorted(entries, key=lambda entry: (not entry.name.endswith("/"), entry.name)))
        for folder, entries in folders.items()
    }


DUCKDB = "application/vnd.duckdb.file"


class RemoteDatabases:
    """Gives the files, built when first asked for, one at a time; shared by threads."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._kept: Kept[ServedFile] = Kept(MOST_KEPT)
        self._building = threading.Lock()

    def served(self, release: Release, base_url: str) -> ServedFile:
        """Return the file of a release for clients that reach this service at base_url; raises LakeBroken."""
        with self._building:
            path = remote_file(self._lake, release, f"{base_url}/hive/{release.number}")
            status = path.stat()

            def described() -> ServedFile:
                version = Version(f'"{sha256_of(path)}"', datetime.fromtimestamp(int(status.st_mtime), UTC))
                return ServedFile(str(path), status.st_size, version, DUCKDB, "public, max-age=3600")

            # Another process may have built it anew, with other bytes.
            return self._kept.get((path, status.st_mtime_ns, status.st_size), described)
