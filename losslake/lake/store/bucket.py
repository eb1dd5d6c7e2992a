"""A client for buckets: requests for whole objects, ranges and lists.

Failed requests are retried with increasing pauses for half a minute; a single request has the same limit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import obstore
import pyarrow as pa
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from losslake.lake.store.store import Method, StoredFile
from losslake_schema.errors import StoreFailed

if TYPE_CHECKING:
    from obstore.store import AzureStore, ClientConfig, GCSStore, RetryConfig, S3Store

_CHUNK = 8 << 20
_PAGE_SIZE = 1000  # the most objects in one response of the protocol
_PAUSES = (0.1, 0.2, 0.4, 0.8)  # seconds
_Result = TypeVar("_Result")
_Bytes = TypeVar("_Bytes", bound=Sized)
SECONDS_TO_TRY = 30
_SECONDS_OF_A_REQUEST = 30


class Bucket:
    """The objects below a prefix of a bucket, by their keys without the prefix. Thread-safe.

    Methods that read raise FileNotFoundError for a missing object; all methods raise OSError if the store fails after
    all retries. What is put is durable.
    """

    def __init__(self, url: str, remote: S3Store | GCSStore | AzureStore, credentials: str) -> None:
        """url: of the prefix. remote: the client for it. credentials: where they come from, for messages."""
        self.url = url.rstrip("/")
        self._remote = remote
        self._credentials = credentials
        self.fetched_bytes = 0
        self._lock = threading.Lock()

    def put(self, path: str, data: pa.Buffer | bytes | Path) -> None:
        """Store an object. data: its bytes, or a local file."""
        content = data if isinstance(data, Path) else bytes(data)
        self._retry(path, lambda: obstore.put(self._remote, path, content))

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of an object."""
        return pa.py_buffer(self._count(self._retry(path, lambda: obstore.get(self._remote, path).bytes())))

    def range(self, path: str, start: int, stop: int) -> bytes:
        """Return the bytes of an object from start up to stop."""
        data = bytes(self._retry(path, lambda: obstore.get_range(self._remote, path, start=start, end=stop)))
        if len(data) != stop - start:
            raise OSError(f"{self.url}/{path} was altered: it ends before byte {stop}")
        return self._count(data)

    def signed_url(self, path: str, seconds: int, method: Method = "GET") -> str:
        """Return a URL that allows anyone to read an object for a time; may request credentials from a server."""
        return obstore.sign(self._remote, method, path, timedelta(seconds=seconds))

    def copy_to(self, path: str, target: Path, size: int | None = None) -> None:
        """Write an object to a new local file. size: in bytes, if known.

        It is read in parts: the time limit applies to each, and a failure repeats only one.
        """
        if size is None:
            size = self.size(path)
            if size is None:
                raise FileNotFoundError(f"{self.url}/{path} does not exist")
        with target.open("xb") as file:
            for start in range(0, size, _CHUNK):
                file.write(self.range(path, start, min(start + _CHUNK, size)))

    def size(self, path: str) -> int | None:
        """Return the size of an object in bytes, or None if it doesn't exist."""
        try:
            return int(self._retry(path, lambda: obstore.head(self._remote, path))["size"])
        except FileNotFoundError:
            return None

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects; missing ones are ignored."""
        if paths:
            self._retry(paths[0], lambda: obstore.delete(self._remote, list(paths)))

    def list_files(self, prefix: str) -> Iterator[StoredFile]:
        """Yield every object below the folder `prefix`."""
        folder, last = prefix.rstrip("/"), ""
        while page := self._retry(folder, partial(self._page_after, folder, last)):
            yield from page
            last = page[-1].path

    def _page_after(self, folder: str, last: str) -> list[StoredFile]:
        """Return one page of the objects whose paths sort after `last`."""
        pages = obstore.list(self._remote, folder or None, offset=last or None, chunk_size=_PAGE_SIZE)
        return [StoredFile(each["path"], each["size"], each["last_modified"]) for each in next(pages, [])]

    def _count(self, data: _Bytes) -> _Bytes:
        with self._lock:
            self.fetched_bytes += len(data)
        return data

    def _retry(self, path: str, request: Callable[[], _Result]) -> _Result:
        """Return the result of a request; retry early failures, such as cut-off responses, which obstore does not.

        Raises StoreFailed or another OSError, with a message of one line.
        """
        name = f"{self.url}/{path}"
        deadline = time.monotonic() + SECONDS_TO_TRY / 3
        for seconds in (*_PAUSES, None):
            try:
                return request()
            except FileNotFoundError:
                raise FileNotFoundError(f"{name} does not exist") from None
            except (PermissionDeniedError, UnauthenticatedError):
                raise PermissionError(f"{name}: the store rejects the credentials: check {self._credentials}") from None
            except (BaseError, ValueError) as error:
                if seconds is None or time.monotonic() > deadline:
                    raise StoreFailed(f"{name}: the store failed ({_summary(error)})") from None
                time.sleep(seconds)
        raise AssertionError


def client_options(endpoint: str | None) -> ClientConfig:
    """Return the options of a client for a bucket. endpoint: its URL, None for the provider's own."""
    is_plain_http = endpoint is not None and endpoint.startswith("http://")
    return {"allow_http": is_plain_http, "timeout": timedelta(seconds=_SECONDS_OF_A_REQUEST)}


def retry_options() -> RetryConfig:
    """Return how long a client retries a failed request."""
    seconds = timedelta(seconds=SECONDS_TO_TRY)
    return {"max_retries": 10, "retry_timeout": seconds, "backoff": {"max_backoff": timedelta(seconds=5)}}


def _summary(error: Exception) -> str:
    text = " ".join(str(error).partition("Debug source")[0].split())
    return text if len(text) <= 200 else f"{text[:200]}…"
