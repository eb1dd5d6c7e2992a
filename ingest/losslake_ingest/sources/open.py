"""Opening of sources by path or URL: a folder, a tar in any compression, a zip, a single log, or a database."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from losslake_ingest.contracts.rules import Rule, SourceBroken, UnknownSource
from losslake_ingest.sources.compression import PARALLEL, Decompressed, decompress, kind_of
from losslake_ingest.sources.database import DatabaseSource, is_database_url
from losslake_ingest.sources.member import (
    LARGEST_FILE,
    LocalFile,
    Member,
    Refused,
    Source,
    SourceFile,
    Wanted,
    most_unpacked,
    normalize_path,
    path_trick,
    too_large,
)
from losslake_ingest.sources.tar import BLOCK, is_tar, read_tar

Place = Path | str | SourceFile
BUNDLE_MANIFEST = "bundle.json"  # the first file of a bundle

# Of 46 bytes or more for each file, which takes about 600 in memory.
_LARGEST_DIRECTORY = 1 << 25
_PIECE = _PADDING_READ = 1 << 20
_LOCAL_HEADER = 30  # bytes before an entry's data, without its name and extra fields
_DIRECTORY_SIZE = 5  # its place in what zipfile returns of the end record
_LONGEST_PADDING = 1 << 26


def open_source(place: Place) -> Source:
    """Open the source at a path or URL, or in a file. Raises UnknownSource if nothing there can be read."""
    if not isinstance(place, (str, Path)):
        return _source_in(place)
    if is_database_url(str(place)):
        return DatabaseSource(str(place))
    if "://" in str(place):
        message = f"a {str(place).partition('://')[0]}:// URL can't be read here, only postgresql:// URLs"
        raise UnknownSource(f"{message}: give a folder, an archive or a log, or use --url for a file on the web")
    path = Path(place)
    try:
        if path.is_dir():
            return FolderSource(path)
        if not path.exists():
            raise UnknownSource(f"{path} doesn't exist: give a folder or an archive")
        if not path.is_file():
            raise UnknownSource(f"{path} is neither a folder nor a file: give a folder or an archive")
        return _source_in(LocalFile(path))
    except OSError as error:
        raise UnknownSource(f"can't read {path}: {error.strerror}") from None


def _source_in(file: SourceFile) -> Source:
    with file.open() as opened:
        start = opened.read(BLOCK)
    kind = kind_of(start)
    if kind == "zip":
        return ZipSource(file)
    is_log = kind == "plain" and file.path.suffix != ".tar" and not is_tar(start)
    source = FileSource(file) if is_log else TarSource(file, kind)
    source.is_bundle = kind == "plain" and not is_log and start.startswith(f"{BUNDLE_MANIFEST}\0".encode())
    return source


class _OneFile(Source):
    """Base class of sources that are a single file."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self.path = file.path
        self.name = file.name
        self.total_bytes = file.size
        self.is_streamed = file.is_streamed
        self._read = 0
        self._stamp = file.stamp()

    def position(self) -> int:
        """Return the number of bytes read so far."""
        return self._read

    def sha256(self) -> str | None:
        """Return the SHA-256 of the file."""
        return self._file.sha256()

    def expected_sha256(self) -> str | None:
        """Return the expected SHA-256 of the file."""
        return self._file.expected_sha256()

    def is_unchanged(self) -> bool:
        """Return True if the file's stamp is the same as when it was opened."""
        try:
            return self._file.stamp() == self._stamp
        except OSError:
            return False


class TarSource(_OneFile):
    """A tar file, plain or compressed with bzip2, gzip, xz or zstandard."""

    _stream: Decompressed | None = None

    def __init__(self, file: SourceFile, kind: str) -> None:
        super().__init__(file)
        self._kind = kind
        self.uses_all_cores = not file.is_streamed and kind in PARALLEL
        self._top = file.top

    def position(self) -> int:
        """Return the number of bytes read so far."""
        return self._stream.position() if self._stream else 0

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield the wanted files; see `Source`."""
        with decompress(self._file, self._kind) as stream:
            self._stream = stream
            for member in read_tar(stream.read, lambda path: wanted(self._named(path)), first):
                yield member._replace(path=self._named(member.path))
            self._read_to_end(stream)

    def _named(self, path: str) -> str:
        """Return the path with the top folder's name that was asked for."""
        return f"{self._top}/{path.partition('/')[2]}" if self._top is not None and "/" in path else path

    def _read_to_end(self, stream: Decompressed) -> None:
        """Read to the end of the compressed stream, so that its checksum is verified; padding is limited."""
        for _ in range(_LONGEST_PADDING // _PADDING_READ):
            if not stream.read(_PADDING_READ):
                return


class ZipSource(_OneFile):
    """A zip file, read in the order of its directory."""

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield the wanted files; see `Source`."""
        with self._file.open() as opened:
            try:
                end = zipfile._EndRecData(opened)  # type: ignore[attr-defined]
                if end and end[_DIRECTORY_SIZE] > _LARGEST_DIRECTORY:
                    size = f"{end[_DIRECTORY_SIZE]:,} bytes; at most {_LARGEST_DIRECTORY:,} are read"
                    raise SourceBroken(f"the zip's directory has {size}: split the archive")
                archive = zipfile.ZipFile(opened)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
                raise SourceBroken(f"the zip has no readable directory ({error}): it is cut short or damaged") from None
            _check_entries(archive, self._file.size)
            for entry in archive.infolist():
                self._read += entry.compress_size
                trick = path_trick(entry.filename)
                if trick:
                    yield trick
                elif (entry.external_attr >> 28) == 0xA:
                    yield Refused(entry.filename, Rule.NOT_A_FILE, "the entry is a symbolic link: pack the file itself")
                elif not entry.is_dir() and wanted(normalize_path(entry.filename)):
                    yield self._member(archive, entry, first)

    def _member(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, first: int | None) -> Member | Refused:
        """Read the file of an entry, decompressing at most LARGEST_FILE bytes whatever its header claims."""
        path = normalize_path(entry.filename)
        if first is None and entry.file_size > LARGEST_FILE:
            return too_large(path, entry.file_size)
        try:
            with archive.open(entry) as file:
                data = _at_most(file, LARGEST_FILE) if first is None else file.read(first)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            return Refused(path, Rule.DAMAGED_FILE, f"can't be unpacked ({error}): pack the archive again")
        return Member(path, data) if data is not None else too_large(path, entry.file_size)


def _check_entries(archive: zipfile.ZipFile, archive_bytes: int) -> None:
    """Raise SourceBroken if entries share bytes, or unpack to too much, before anything is unpacked.

    Source of entries that share bytes: D. Fifield, "A better zip bomb", WOOT 2019.
    """
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    ends = [entry.header_offset + _LOCAL_HEADER + entry.compress_size for entry in entries]
    starts = [entry.header_offset for entry in entries[1:]] + [archive.start_dir]
    for entry, end, following in zip(entries, ends, starts, strict=False):
        if end > following:
            raise SourceBroken(f"the entry {entry.filename} of the zip overlaps the next one: pack the archive again")
    claimed = sum(entry.file_size for entry in entries)
    most = most_unpacked(archive_bytes)
    if claimed > most:
        raise SourceBroken(f"the zip unpacks to {claimed:,} bytes; at most {most:,} are read: split the archive")


class FolderSource(Source):
    """A folder, walked in order of names; links are not followed. Those to what the same folder holds are skipped.

    within: its path in the folder that was offered; empty if it is that folder. parts: folders in it that are sources
    of their own.
    """

    def __init__(self, path: Path, within: str = "", parts: Collection[Path] = ()) -> None:
        self.path = path
        self.name = str(path)
        self.within = within
        self.parts = parts
        self._read = 0

    def position(self) -> int:
        """Return the number of bytes read so far."""
        return self._read

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield the wanted files; see `Source`."""
        yield from self._walk(self.path, "", wanted, first)

    def _walk(self, folder: Path, prefix: str, wanted: Wanted, first: int | None) -> Iterator[Member | Refused]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield Refused(prefix.rstrip("/"), Rule.DAMAGED_FILE, f"can't be read: {error.strerror}")
            return
        for entry in entries:
            path = prefix + entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            if entry.is_symlink():
                if (wanted(path) or entry.is_dir()) and not _is_second_name(Path(entry.path)):
                    yield Refused(path, Rule.NOT_A_FILE, "a symbolic link is not followed: put the file itself there")
            elif entry.is_dir(follow_symlinks=False) and Path(entry.path) in self.parts:
                continue
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(Path(entry.path), f"{path}/", wanted, first)
            elif entry.is_file(follow_symlinks=False) and wanted(path):
                member = _file_member(LocalFile(Path(entry.path)), path, first)
                self._read += len(member.data) if isinstance(member, Member) else 0
                yield member


def _is_second_name(link: Path) -> bool:
    """Return True for a link to what is in its folder, or below it, and so is read by its own name."""
    target = Path(os.path.realpath(link))
    return target.exists() and os.path.realpath(link.parent) in map(str, target.parents)


class FileSource(_OneFile):
    """A single file that isn't an archive."""

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield the wanted files; see `Source`."""
        if wanted(self.path.name):
            yield _file_member(self._file, self.path.name, first)
        self._read = self.total_bytes or 0


def _file_member(file: SourceFile, path: str, first: int | None) -> Member | Refused:
    try:
        with file.open() as opened:
            data = _at_most(opened, LARGEST_FILE) if first is None else opened.read(first)
        if data is None:
            return too_large(path, file.size)
    except OSError as error:
        return Refused(path, Rule.DAMAGED_FILE, f"can't be read: {error.strerror}")
    return Member(path, data)


def _at_most(file: IO[bytes], limit: int) -> bytes | None:
    """Read a whole file in pieces, never holding it twice; return None if it has more than `limit` bytes."""
    data = io.BytesIO()
    while data.tell() <= limit and (piece := file.read(_PIECE)):
        data.write(piece)
    return data.getvalue() if data.tell() <= limit else None
