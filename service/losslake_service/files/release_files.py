"""The files of a release by path: data files and documents. Nothing else is served below /data.

Also the DuckDB files that read this service over HTTP, one per release and address of the service.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from losslake.index.file_list import file_list
from losslake.index.serving import MOST_REMOTE_FILES, evict_oldest, remote_file
from losslake.index.shared import path_of
from losslake.lake.checksums import checksum_lines, sha256_of
from losslake.lake.croissant import CROISSANT_PATH, CROISSANT_VERSION, croissant, json_ld
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write
from losslake.lake.public_paths import public_paths
from losslake.lake.readme_and_licences import collections_of, documents
from losslake.questions.release.errors import UnknownName, near_numbers
from losslake_schema.errors import UnknownRelease
from losslake_schema.release import Release
from losslake_service.bounded_cache import BoundedCache
from losslake_service.entity_tags import AN_HOUR, Version
from losslake_service.files.ranges import ServedFile


class ReleaseDescription:
    """The collections and the short description of a release, in constant time for any number of studies."""

    def __init__(self, lake: Lake, release: Release) -> None:
        """Read the file list and the collections; raise LakeBroken."""
        self.release = release
        self.files = lake.files(release, partitioned=False)
        self.collections = collections_of(lake, self.files)

    def json_ld(self, base_url: str) -> str:
        """Return a short Croissant description for a page's script element, without the partitioned files.

        base_url: of the service that has the files.
        """
        return json_ld(croissant(self.release, self.files, self.collections, base_url, brief=True))


CHECKSUMS_PLACE = "SHA256SUMS"
PARQUET = "application/vnd.apache.parquet"
_CROISSANT = "application/ld+json"
MAX_CACHED_RELEASES = 8
_MEDIA_TYPES = {
    "README.md": "text/markdown; charset=utf-8",
    "CITATION.cff": "application/yaml",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A text file of a release."""

    content: bytes
    version: Version
    media_type: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder entry: a file with its size in bytes (None if unknown), or a folder, whose name ends in a slash."""

    name: str
    size: int | None

    @property
    def link(self) -> str:
        """The relative URL of the entry."""
        return f"./{quote(self.name, safe='/=')}"


class ReleaseFiles:
    """The files and documents of one release; shared by threads."""

    def __init__(self, lake: Lake, described: ReleaseDescription) -> None:
        """Read the file list; raise LakeBroken."""
        self.lake = lake
        self.release = release = described.release
        self.number = release.number
        self.modified = release.created_at.replace(microsecond=0)
        self.data_files = lake.files(release)
        self.collections = described.collections
        self.public_path = public_paths(self.data_files)
        self.files: Mapping[str, ServedFile] = {
            self.public_path[file.path]: ServedFile(
                file.path, file.bytes, Version(f'"{file.sha256}"', self.modified), PARQUET
            )
            for file in self.data_files
        }
        texts = documents(release, self.collections)
        sums = {self.public_path[file.path]: file.sha256 for file in self.data_files}
        sums |= {place: hashlib.sha256(text.encode()).hexdigest() for place, text in texts.items()}
        texts[CHECKSUMS_PLACE] = checksum_lines(sums)
        self._documents = {place: document(text, place, self.modified) for place, text in texts.items()}
        self._described: BoundedCache[ServedFile] = BoundedCache(MOST_REMOTE_FILES)
        self.folders = _folders({place: file.size for place, file in self.files.items()}, self._documents)

    def document(self, place: str) -> Document | None:
        """Return the document at a path, or None."""
        return self._documents.get(place)

    def croissant(self, base_url: str) -> ServedFile:
        """Return the Croissant description, built on first request; base_url: of this service, for URLs in it.

        It has megabytes for thousands of studies. The latest 16 files of all releases are cached.
        """
        address = hashlib.sha256(base_url.encode()).hexdigest()[:12]
        path = path_of(self.lake, self.release, f"{address}-v{CROISSANT_VERSION}.json", "remote")
        if not path.is_file():
            with atomic_write(path) as unfinished:
                text = croissant(self.release, self.data_files, self.collections, base_url)
                unfinished.write_text(text, "utf-8")
            evict_oldest(path.parent, "remote-*.json")
        return _built_file(self._described, path, _CROISSANT, self.modified)

    def table(self, base_url: str) -> pa.Table:
        """Return the columns of `losslake.index.file_list.FILES` and the url per data file; raise LakeBroken."""
        listing = file_list(self.lake, self.release)
        urls = [f"{base_url}/hive/{self.release.number}/{path}" for path in listing["path"].to_pylist()]
        return listing.append_column("url", pa.array(urls, pa.string()))


class ReleaseFilesCache:
    """The files of a lake's releases; the most recently used ones are cached."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._opened: BoundedCache[ReleaseFiles] = BoundedCache(MAX_CACHED_RELEASES)
        self._described: BoundedCache[ReleaseDescription] = BoundedCache(MAX_CACHED_RELEASES)

    def cached(self, number: int) -> ReleaseFiles | None:
        """Return the files of a release if they are cached; never wait."""
        return self._opened.peek(number)

    def open(self, number: int) -> ReleaseFiles:
        """Return the files of a release; raise UnknownName and LakeBroken."""
        return self._opened.get(number, lambda: ReleaseFiles(self.lake, self.described(number)))

    def described(self, number: int) -> ReleaseDescription:
        """Return the description of a release; raise UnknownName and LakeBroken."""
        return self._described.get(number, lambda: ReleaseDescription(self.lake, self._release(number)))

    def _release(self, number: int) -> Release:
        try:
            return self.lake.release(number)
        except UnknownRelease:
            raise self.unknown_release(str(number), number) from None

    def unknown_release(self, text: str, number: int = 0) -> UnknownName:
        """Return the error for an unknown release, with the nearest numbers."""
        near = near_numbers(number, (release.number for release in self.lake.releases()))
        return UnknownName("release", text, [str(other) for other in near], "the lake")


def document(text: str, place: str, modified: datetime) -> Document:
    """Return the text as a document."""
    content = text.encode()
    version = Version(f'"{hashlib.sha256(content).hexdigest()}"', modified)
    return Document(content, version, _MEDIA_TYPES.get(place, "text/plain; charset=utf-8"))


def _folders(sizes: Mapping[str, int], texts: Mapping[str, Document]) -> Mapping[str, Sequence[Entry]]:
    """Return the entries by folder, subfolders first; a folder's path ends in a slash, the root is empty."""
    all_sizes: dict[str, int | None] = {**sizes, **{place: len(text.content) for place, text in texts.items()}}
    all_sizes[CROISSANT_PATH] = None
    folders: dict[str, set[Entry]] = defaultdict(set)
    for place, size in all_sizes.items():
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
    """The DuckDB files for remote use, built on first request, one at a time; shared by threads."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._served: BoundedCache[ServedFile] = BoundedCache(MOST_REMOTE_FILES)
        self._building = threading.Lock()

    def served(self, release: Release, base_url: str) -> ServedFile:
        """Return the file of a release for clients that reach this service at base_url; raise LakeBroken."""
        with self._building:
            path = remote_file(self._lake, release, f"{base_url}/hive/{release.number}")
            return _built_file(self._served, path, DUCKDB)


def _built_file(
    known: BoundedCache[ServedFile], path: Path, media_type: str, modified: datetime | None = None
) -> ServedFile:
    """Return a file that was built here, with its checksum. modified: by default, the time when it was built."""
    status = path.stat()

    def describe_file() -> ServedFile:
        built_at = datetime.fromtimestamp(int(status.st_mtime), UTC)
        version = Version(f'"{sha256_of(path)}"', modified or built_at)
        return ServedFile(str(path), status.st_size, version, media_type, AN_HOUR)

    # Another process may have rebuilt it, with other bytes.
    return known.get((path, status.st_mtime_ns, status.st_size), describe_file)
