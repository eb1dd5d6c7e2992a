"""Fetching many files at once: resumed where they were left, checked as they come, in place only when whole."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import httpx

from losslake.client.client import Client, Interrupted, RemoteError, plain_bytes, shown
from losslake.lake.manifest import sha256_of

_TRIES_FOR_THE_BYTES = 3
Heard = Callable[[int, int], None]


@dataclass(frozen=True)
class Wanted:
    """A file to fetch: where from, how large and with what sha256, and where to."""

    url: httpx.URL
    size: int
    sha256: str
    target: Path


def fetch_all(client: Client, wanted: Sequence[Wanted], unfinished: Path, jobs: int, heard: Heard) -> None:
    """Fetch what is not there yet, several files at once.

    unfinished: the folder for what is not whole yet; a file in it is gone on with. heard: bytes and files that are
    newly there. Raises RemoteError at the first file that can't be had, or that can't be written.
    """
    with ThreadPoolExecutor(jobs, "fetch") as pool:
        try:
            running = [pool.submit(_Fetch(client, one, unfinished, heard).run) for one in wanted]
            done, _ = wait(running, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            client.stop()
            pool.shutdown(cancel_futures=True)
            raise


class Tally:
    """Adds up what several threads hear, and hands on the totals."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._bytes = self._files = 0
        self._lock = threading.Lock()

    def __call__(self, size: int, files: int) -> None:
        with self._lock:
            self._bytes += size
            self._files += files
            self._heard(self._bytes, self._files)


class _Part:
    """A file that is not whole yet, and the sha256 of what is there."""

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
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)

    def begin_anew(self) -> None:
        self.size = self._file.truncate(0)
        self._digest = hashlib.sha256()

    def sha256(self) -> str:
        self._file.flush()
        return self._digest.hexdigest()


class _Fetch:
    """One file on its way."""

    def __init__(self, client: Client, wanted: Wanted, unfinished: Path, heard: Heard) -> None:
        self._client = client
        self._wanted = wanted
        key = hashlib.sha256(f"{wanted.url.path} {wanted.sha256}".encode()).hexdigest()
        self._path = unfinished / f"{key}.part"
        self._heard = heard
        self._told = 0
        self._etag: str | None = None
        self._wrong = 0

    def run(self) -> None:
        wanted = self._wanted
        self._client.patience.check()
        try:
            if not _is_there(wanted):
                wanted.target.parent.mkdir(parents=True, exist_ok=True)
                self._client.patience.keep_trying(self._attempt)
                self._path.replace(wanted.target)
            self._tell(wanted.size)
            self._heard(0, 1)
        except OSError as error:
            raise RemoteError(
                f"can't write {wanted.target} ({error.strerror}): set this right and run the same command again, "
                "what came so far is kept"
            ) from None

    def _attempt(self) -> None:
        """Get the rest of the file; what has come stays in the part, also when this is killed."""
        wanted = self._wanted
        with _Part(self._path) as part:
            if part.size > wanted.size:
                part.begin_anew()
            before = part.size
            try:
                if part.size < wanted.size:
                    self._get_the_rest(part)
            except Interrupted as failure:
                failure.has_progressed = part.size > before
                raise
            if part.sha256() == wanted.sha256:
                return
            part.begin_anew()
        self._wrong += 1
        message = f"{shown(wanted.url)}: its bytes are not those of the list (sha256 differs)"
        if self._wrong == _TRIES_FOR_THE_BYTES:
            raise RemoteError(f"{message}, {self._wrong} times: ask the service's operator")
        raise Interrupted(message)

    def _get_the_rest(self, part: _Part) -> None:
        wanted = self._wanted
        headers = {"Accept-Encoding": "identity"}
        if part.size:
            headers["Range"] = f"bytes={part.size}-"
            if self._etag is not None:
                headers["If-Range"] = self._etag
        with self._client.answer("GET", wanted.url, headers) as response:
            chunks = plain_bytes(response)
            etag = response.headers.get("etag", "")
            self._etag = etag if etag.startswith('"') else None
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                part.begin_anew()
            elif response.headers.get("content-range") != f"bytes {part.size}-{wanted.size - 1}/{wanted.size}":
                raise RemoteError(f"{shown(wanted.url)} answers with another range than was asked for")
            for chunk in chunks:
                if part.size + len(chunk) > wanted.size:
                    raise RemoteError(f"{shown(wanted.url)} is longer than the {wanted.size:,} bytes of the list")
                part.add(chunk)
                self._tell(part.size)
                self._client.patience.check()
        if part.size < wanted.size:
            raise Interrupted(f"{shown(wanted.url)} ended after {part.size:,} of {wanted.size:,} bytes")

    def _tell(self, size: int) -> None:
        self._heard(size - self._told, 0)
        self._told = size


def _is_there(wanted: Wanted) -> bool:
    """Whether the file is in its place already, from an earlier run or release."""
    target = wanted.target
    return target.is_file() and target.stat().st_size == wanted.size and sha256_of(target) == wanted.sha256
