"""Concurrent download of files: resumed after interruptions, verified, and moved into place when complete."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import httpx

from losslake.client.client import Client, RemoteError, TransientError, redact, unencoded_bytes
from losslake.lake.checksums import sha256_of

_DIGEST_TRIES = 3
ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch: its URL, size in bytes, sha256 and local path."""

    url: httpx.URL
    size: int
    sha256: str
    target: Path


def fetch_all(
    client: Client, files: Sequence[RemoteFile], unfinished: Path, jobs: int, progress: ProgressCallback
) -> None:
    """Fetch the files that don't exist yet, several at once.

    unfinished: folder of partial files, which are resumed. progress: called with the number of new bytes and files.
    Raises RemoteError for the first file that can't be fetched or written.
    """
    with ThreadPoolExecutor(jobs, "fetch") as pool:
        try:
            running = [pool.submit(_Fetch(client, file, unfinished, progress).run) for file in files]
            done, _ = wait(running, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            client.stop()
            pool.shutdown(cancel_futures=True)
            raise


class ProgressTotal:
    """Sums up the progress of several threads and reports the totals."""

    def __init__(self, progress: ProgressCallback) -> None:
        self._progress = progress
        self._bytes = self._files = 0
        self._lock = threading.Lock()

    def __call__(self, size: int, files: int) -> None:
        """Add bytes and files to the total, and report it."""
        with self._lock:
            self._bytes += size
            self._files += files
            self._progress(self._bytes, self._files)


class _Part:
    """A partial file and the sha256 of its content."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+b")
        self._file.seek(0)
        self._digest = hashlib.file_digest(self._file, "sha256")
        self.size = self._file.seek(0, 2)

    def __enter__(self) -> _Part:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, data: bytes) -> None:
        """Append bytes."""
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)

    def restart(self) -> None:
        """Delete the content."""
        self.size = self._file.truncate(0)
        self._digest = hashlib.sha256()

    def sha256(self) -> str:
        """Return the sha256 of the content."""
        self._file.flush()
        return self._digest.hexdigest()


class _Fetch:
    """The download of one file."""

    def __init__(self, client: Client, file: RemoteFile, unfinished: Path, progress: ProgressCallback) -> None:
        self._client = client
        self._wanted = file
        key = hashlib.sha256(f"{file.url.path} {file.sha256}".encode()).hexdigest()
        self._path = unfinished / f"{key}.part"
        self._progress = progress
        self._reported = 0
        self._etag: str | None = None
        self._mismatches = 0

    def run(self) -> None:
        """Fetch the file unless it exists."""
        file = self._wanted
        self._client.retries.check()
        try:
            if not _is_complete(file):
                file.target.parent.mkdir(parents=True, exist_ok=True)
                self._client.retries.run(self._attempt)
                self._path.replace(file.target)
            self._report(file.size)
            self._progress(0, 1)
        except OSError as error:
            message = f"can't write {file.target} ({error.strerror}): fix this and run the same command again"
            raise RemoteError(f"{message}, it resumes the download") from None

    def _attempt(self) -> None:
        """Fetch the rest of the file. The partial file stays, also if the process is killed."""
        file = self._wanted
        with _Part(self._path) as part:
            if part.size > file.size:
                part.restart()
            before = part.size
            try:
                if part.size < file.size:
                    self._resume(part)
            except TransientError as failure:
                failure.has_progressed = part.size > before
                raise
            if part.sha256() == file.sha256:
                return
            part.restart()
        self._mismatches += 1
        message = f"{redact(file.url)}: its sha256 differs from the one in the list of files"
        if self._mismatches == _DIGEST_TRIES:
            raise RemoteError(f"{message}, {self._mismatches} times: contact the operator of the service")
        raise TransientError(message)

    def _resume(self, part: _Part) -> None:
        file = self._wanted
        headers = {"Accept-Encoding": "identity"}
        if part.size:
            headers["Range"] = f"bytes={part.size}-"
            if self._etag is not None:
                headers["If-Range"] = self._etag
        with self._client.stream("GET", file.url, headers) as response:
            chunks = unencoded_bytes(response)
            etag = response.headers.get("etag", "")
            self._etag = etag if etag.startswith('"') else None
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                part.restart()
            elif response.headers.get("content-range") != f"bytes {part.size}-{file.size - 1}/{file.size}":
                raise RemoteError(f"{redact(file.url)} returns another range than requested")
            for chunk in chunks:
                if part.size + len(chunk) > file.size:
                    raise RemoteError(f"{redact(file.url)} is longer than the {file.size:,} bytes in the list of files")
                part.add(chunk)
                self._report(part.size)
                self._client.retries.check()
        if part.size < file.size:
            raise TransientError(f"{redact(file.url)} ended after {part.size:,} of {file.size:,} bytes")

    def _report(self, size: int) -> None:
        self._progress(size - self._reported, 0)
        self._reported = size


def _is_complete(file: RemoteFile) -> bool:
    """Return True if the file already exists, from an earlier run or release."""
    target = file.target
    return target.is_file() and target.stat().st_size == file.size and sha256_of(target) == file.sha256
