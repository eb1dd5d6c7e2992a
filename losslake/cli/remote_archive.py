"""An archive on the web as a file that is read while it comes, without being stored.

The first time through, its bytes come in one request, go into the sha256 of the whole, and the sha256 of each chunk is
kept. Recent chunks are kept, too, since an ingest looks at the first files before it reads all of them. What is read
once more later is asked for again and has to have the same sha256: so every byte that anybody saw is a byte that the
sha256 of the whole vouches for. A zip, which is read from its end, and what a server can't give in parts, lie in a
temporary file without a name meanwhile.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections import OrderedDict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any, cast

import httpx

from losslake.client.client import Client, Interrupted, RemoteError, checked_url, plain_bytes, shown
from losslake_ingest.rules import SourceBroken

CHUNK = 1 << 20
KEPT_CHUNKS = 64
_ZIP = b"PK"


class RemoteArchive:
    """An archive or log by its URL, as an ingest's SourceFile.

    promised: the sha256 of the whole, if somebody vouches for it. Raises RemoteError when it can't be had at all; what
    fails later ends the file early, and `sha256` raises it as SourceBroken.
    """

    is_streamed = True

    def __init__(self, client: Client, url: str, promised: str | None = None) -> None:
        where = checked_url(url)
        self.name = shown(where)
        self.path = Path("/", where.host, *(part for part in where.path.split("/") if part not in ("", ".", "..")))
        self._promised = promised
        self._stream = _Stream(client, where)
        self._whole = hashlib.sha256()
        self._digests: list[bytes] = []
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._stored: IO[bytes] | None = None
        self._failure: str | None = None
        first = self._next_chunk()
        if first.startswith(_ZIP) or not self._stream.has_ranges:
            self._store(first)
        self.size = self._stream.size or 0

    def __enter__(self) -> RemoteArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        if self._stored is not None:
            self._stored.close()

    def open(self) -> IO[bytes]:
        return cast(IO[bytes], _Reader(self))

    def sha256(self) -> str:
        """Of all bytes; raises SourceBroken when they didn't come, or aren't those that were promised."""
        while self._failure is None and len(self._digests) * CHUNK < self.size:
            self.chunk(len(self._digests))
        if self._failure is not None:
            raise SourceBroken(f"{self._failure}; nothing of {self.name} was stored")
        found = self._whole.hexdigest()
        if self._promised not in (None, found):
            raise SourceBroken(
                f"{self.name}: its sha256 is {found}, not {self._promised}: nothing of it was stored, "
                "these are other bytes than were asked for"
            )
        return found

    def expected_sha256(self) -> str | None:
        """The one that was promised."""
        return self._promised

    def stamp(self) -> tuple[int, ...]:
        return ()

    def chunk(self, index: int) -> bytes:
        """The bytes from index x CHUNK on, at most CHUNK of them; none from the first failure on."""
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
        if index in self._kept:
            self._kept.move_to_end(index)
            return self._kept[index]
        if index < len(self._digests):
            data = self._stream.chunk(index)
            if hashlib.sha256(data).digest() != self._digests[index]:
                raise RemoteError(f"{self.name} changed while it was read: run the same command again")
            return self._keep(index, data)
        while len(self._digests) < index:
            self._next_chunk()
        return self._next_chunk()

    def _next_chunk(self) -> bytes:
        """The first chunk that never came before."""
        index = len(self._digests)
        data = self._stream.chunk(index)
        self._whole.update(data)
        self._digests.append(hashlib.sha256(data).digest())
        return self._keep(index, data)

    def _keep(self, index: int, data: bytes) -> bytes:
        self._kept[index] = data
        if len(self._kept) > KEPT_CHUNKS:
            self._kept.popitem(last=False)
        return data

    def _store(self, first: bytes) -> None:
        """Put everything into a temporary file."""
        try:
            stored = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
            stored.write(first)
            while self._stream.size is None or len(self._digests) * CHUNK < self._stream.size:
                stored.write(self._next_chunk())
        except OSError as error:
            raise RemoteError(
                f"{self.name} can't be kept in {tempfile.gettempdir()} ({error.strerror}): "
                "it is a zip, or its server gives no parts; set TMPDIR to where there is space"
            ) from None
        self._stored = stored
        self._kept.clear()


class _Reader(io.RawIOBase):
    """A place in an archive from which it is read on."""

    def __init__(self, archive: RemoteArchive) -> None:
        self._archive = archive
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._archive.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        """As many bytes as asked for, fewer only at the end."""
        parts = []
        left = size if size >= 0 else self._archive.size
        while left > 0:
            index, start = divmod(self._at, CHUNK)
            part = self._archive.chunk(index)[start : start + left]
            if not part:
                break
            parts.append(part)
            self._at += len(part)
            left -= len(part)
        return b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Stream:
    """The bytes of a URL, chunk by chunk: one request as long as the chunks are asked for in order.

    size, has_ranges: known once the first chunk has come; a size that the server doesn't say is known at the end.
    """

    def __init__(self, client: Client, url: httpx.URL) -> None:
        self._client = client
        self._url = url
        self._body: Generator[bytes] | None = None
        self._rest = b""
        self._at = 0
        self._validator: str | None = None
        self.size: int | None = None
        self.has_ranges = False

    def chunk(self, index: int) -> bytes:
        """All bytes of a chunk, through drops of the connection; raises RemoteError when patience is at its end."""
        if self._at != index * CHUNK:
            self.close()
            self._at = index * CHUNK
        data = bytearray()
        self._client.patience.keep_trying(lambda: self._fill(data))
        return bytes(data)

    def close(self) -> None:
        if self._body is not None:
            self._body.close()
        self._body, self._rest = None, b""

    def _fill(self, data: bytearray) -> None:
        before = len(data)
        if self._body is None:
            self._body = self._request(self._at)
        try:
            while len(data) < CHUNK and (more := self._rest or next(self._body, b"")):
                taken = CHUNK - len(data)
                data += more[:taken]
                self._rest = more[taken:]
                self._at += len(more[:taken])
        except Interrupted as failure:
            self.close()
            failure.has_progressed = len(data) > before
            raise
        if len(data) < CHUNK:
            self._end()

    def _end(self) -> None:
        """The body is at its end: is that the end of the file?"""
        self.close()
        if self.size is None:
            self.size = self._at
        elif self._at < self.size:
            raise Interrupted(f"{shown(self._url)} ended after {self._at:,} of {self.size:,} bytes")

    def _request(self, start: int) -> Generator[bytes]:
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if self._validator is not None:
                headers["If-Range"] = self._validator
        with self._client.answer("GET", self._url, headers) as response:
            body = plain_bytes(response)
            if response.status_code == httpx.codes.PARTIAL_CONTENT:
                if response.headers.get("content-range") != f"bytes {start}-{(self.size or 0) - 1}/{self.size}":
                    raise RemoteError(f"{shown(self._url)} answers with another range than was asked for")
            elif start and (self._facts(response) != (self.size, self._validator) or self._validator is None):
                raise RemoteError(f"{shown(self._url)} changed meanwhile, or can't give its rest: run the same again")
            else:
                self.size, self._validator = self._facts(response)
                self.has_ranges = response.headers.get("accept-ranges") == "bytes" and self.size is not None
                body = _without(start, body)
            yield from body

    def _facts(self, response: httpx.Response) -> tuple[int | None, str | None]:
        length = response.headers.get("content-length", "")
        etag = response.headers.get("etag", "")
        validator = etag if etag.startswith('"') else response.headers.get("last-modified")
        return int(length) if length.isdecimal() else None, validator


def _without(size: int, parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts without the first bytes, for a server that begins anew."""
    for part in parts:
        if size < len(part):
            yield part[size:]
        size = max(0, size - len(part))
