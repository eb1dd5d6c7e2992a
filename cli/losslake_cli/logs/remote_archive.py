"""An archive on the web as a file that is read while it is downloaded, without being stored.

On the first pass, one request reads all bytes; they are hashed as a whole and per chunk. Recent chunks are cached,
since an ingest inspects the first files before it reads all. Other chunks are requested again if they are needed again,
and must have the same sha256; so the sha256 of the whole covers every byte that was read. A zip, which is read from its
end, and a file from a server without range requests are stored in an unnamed temporary file.
"""

from __future__ import annotations

import hashlib
import io
import math
import tempfile
from collections import OrderedDict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

import httpx

from losslake.client.client import Client, RemoteError, TransientError, parse_url, redact, unencoded_bytes
from losslake_ingest.contracts.rules import SourceBroken

CHUNK = 1 << 20
CACHED_CHUNKS = 64


class RemoteArchive:
    """An archive or log at a URL, as a SourceFile of an ingest.

    expected: the sha256 of the whole, if known. max_bytes: of the whole. top: see SourceFile. Raises RemoteError if the
    first request fails, or the size is known to be larger. A later failure ends the file early, and `sha256` raises it
    as SourceBroken.
    """

    is_streamed = True

    def __init__(
        self,
        client: Client,
        url: str,
        expected: str | None = None,
        max_bytes: float = math.inf,
        top: str | None = None,
    ) -> None:
        parsed = parse_url(url)
        self.name = redact(parsed)
        self.path = Path("/", parsed.host, *(part for part in parsed.path.split("/") if part not in ("", ".", "..")))
        self._expected = expected
        self.top = top
        self._stream = _Stream(client, parsed, max_bytes)
        self._whole = hashlib.sha256()
        self._digests: list[bytes] = []
        self._cached: OrderedDict[int, bytes] = OrderedDict()
        self._stored: IO[bytes] | None = None
        self._failure: str | None = None
        first = self._next_chunk()
        if first.startswith(b"PK") or not self._stream.has_ranges:
            self._store(first)
        self.size = self._stream.size or 0

    def __enter__(self) -> RemoteArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        if self._stored is not None:
            self._stored.close()

    def open(self) -> IO[bytes]:
        """Return the archive as a file, at its start."""
        return io.BufferedReader(_Reader(self), CHUNK)

    def sha256(self) -> str:
        """Return the sha256 of all bytes; raise SourceBroken if reading failed, or if it is not the expected one."""
        while self._failure is None and len(self._digests) * CHUNK < self.size:
            self.chunk(len(self._digests))
        if self._failure is not None:
            raise SourceBroken(f"{self._failure}; nothing of {self.name} was stored")
        sha256 = self._whole.hexdigest()
        if self._expected not in (None, sha256):
            raise SourceBroken(
                f"{self.name}: its sha256 is {sha256}, not {self._expected}: nothing of it was stored, "
                "check URL and checksum"
            )
        return sha256

    def expected_sha256(self) -> str | None:
        """Return the expected sha256, if known."""
        return self._expected

    def stamp(self) -> tuple[int, ...]:
        """Return an empty tuple: changes of a remote file can't be detected by a stamp."""
        return ()

    def chunk(self, index: int) -> bytes:
        """Return up to CHUNK bytes from index x CHUNK on, or none after a failure."""
        if self._failure is not None or index * CHUNK >= self.size:
            return b""
        try:
            return self._chunk(index)
        except (RemoteError, OSError) as error:
            self._failure = str(error)
            return b""

    def _chunk(self, index: int) -> bytes:
        if self._stored is not None:
            self._stored.seek(index * CHUNK)
            return self._stored.read(CHUNK)
        if index in self._cached:
            self._cached.move_to_end(index)
            return self._cached[index]
        if index < len(self._digests):
            data = self._stream.chunk(index)
            if hashlib.sha256(data).digest() != self._digests[index]:
                raise RemoteError(f"{self.name} changed during the download: run the same command again")
            return self._cache(index, data)
        while len(self._digests) < index:
            self._next_chunk()
        return self._next_chunk()

    def _next_chunk(self) -> bytes:
        """Read the next new chunk."""
        index = len(self._digests)
        data = self._stream.chunk(index)
        self._whole.update(data)
        self._digests.append(hashlib.sha256(data).digest())
        return self._cache(index, data)

    def _cache(self, index: int, data: bytes) -> bytes:
        self._cached[index] = data
        if len(self._cached) > CACHED_CHUNKS:
            self._cached.popitem(last=False)
        return data

    def _store(self, first: bytes) -> None:
        """Store everything in a temporary file."""
        try:
            stored = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
            stored.write(first)
            while self._stream.size is None or len(self._digests) * CHUNK < self._stream.size:
                stored.write(self._next_chunk())
        except OSError as error:
            raise RemoteError(
                f"{self.name} can't be stored in {tempfile.gettempdir()} ({error.strerror}); a zip, or a file from a "
                "server without range requests, needs space there: set TMPDIR to another folder"
            ) from None
        self._stored = stored
        self._cached.clear()


class _Reader(io.RawIOBase):
    """A file object with its own position in the archive."""

    def __init__(self, archive: RemoteArchive) -> None:
        self._archive = archive
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._archive.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read a part of one chunk into a buffer and return the number of bytes, 0 at the end."""
        index, start = divmod(self._at, CHUNK)
        part = self._archive.chunk(index)[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


class _Stream:
    """The bytes of a URL in chunks: a single request, as long as chunks are read in order.

    size, has_ranges: known after the first chunk; if the server does not state the size, it is known at the end.
    """

    def __init__(self, client: Client, url: httpx.URL, max_bytes: float) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._url = url
        self._body: Generator[bytes] | None = None
        self._rest = b""
        self._at = 0
        self._validator: str | None = None
        self.size: int | None = None
        self.has_ranges = False

    def chunk(self, index: int) -> bytes:
        """Return all bytes of a chunk, across lost connections; raise RemoteError at the retry limits."""
        if self._at != index * CHUNK:
            self.close()
            self._at = index * CHUNK
        data = bytearray()
        self._client.retries.run(lambda: self._fill(data))
        return bytes(data)

    def close(self) -> None:
        """Close the connection."""
        if self._body is not None:
            self._body.close()
        self._body, self._rest = None, b""

    def _fill(self, data: bytearray) -> None:
        before = len(data)
        if self._body is None:
            self._body = self._request(self._at)
        try:
            while len(data) < CHUNK and (more := self._rest or next(self._body, b"")):
                size = CHUNK - len(data)
                data += more[:size]
                self._rest = more[size:]
                self._at += len(more[:size])
                self._check_size(self._at)
        except TransientError as failure:
            self.close()
            failure.has_progressed = len(data) > before
            raise
        if len(data) < CHUNK:
            self._end()

    def _end(self) -> None:
        """Handle the end of the body; raise TransientError if the file continues."""
        self.close()
        if self.size is None:
            self.size = self._at
        elif self._at < self.size:
            raise TransientError(f"{redact(self._url)} ended after {self._at:,} of {self.size:,} bytes")

    def _request(self, start: int) -> Generator[bytes]:
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if self._validator is not None:
                headers["If-Range"] = self._validator
        with self._client.stream("GET", self._url, headers) as response:
            body = unencoded_bytes(response)
            if response.status_code == httpx.codes.PARTIAL_CONTENT:
                if response.headers.get("content-range") != f"bytes {start}-{(self.size or 0) - 1}/{self.size}":
                    raise RemoteError(f"{redact(self._url)} returns another range than requested")
            elif start and (
                self._size_and_validator(response) != (self.size, self._validator) or self._validator is None
            ):
                raise RemoteError(f"{redact(self._url)} changed, or can't be resumed: run the same command again")
            else:
                self.size, self._validator = self._size_and_validator(response)
                self.has_ranges = response.headers.get("accept-ranges") == "bytes" and self.size is not None
                self._check_size(self.size or 0)
                body = _without(start, body)
            yield from body

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            limit = f"the limit --max-gb is {self._max_bytes / 1e9:g}"
            raise RemoteError(f"{redact(self._url)} has {size:,} bytes or more, and {limit}: give a larger one")

    def _size_and_validator(self, response: httpx.Response) -> tuple[int | None, str | None]:
        length = response.headers.get("content-length", "")
        etag = response.headers.get("etag", "")
        validator = etag if etag.startswith('"') else response.headers.get("last-modified")
        return int(length) if length.isdecimal() else None, validator


def _without(size: int, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts without the first bytes, for a server that restarts from the beginning."""
    for part in parts:
        if size < len(part):
            yield part[size:]
        size = max(0, size - len(part))
