"""A bucket by the S3 protocol: requests for whole objects, ranges and lists.

Requests that fail are tried again, with ever longer pauses, for half a minute; none takes longer than that either.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import obstore
import pyarrow as pa
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from losslake.lake.store.store import StoredFile
from losslake_schema.errors import StoreFailed

if TYPE_CHECKING:
    from obstore.store import S3Config

SCHEME = "s3://"
_REGION = "us-east-1"
_CHUNK = 8 << 20
_OBJECTS_AT_ONCE = 1000  # as many as the protocol tells in one answer
_PAUSES = (0.1, 0.2, 0.4, 0.8)  # seconds
_Found = TypeVar("_Found")
_Bytes = TypeVar("_Bytes", bound=Sized)
SECONDS_TO_TRY = 30
_SECONDS_OF_A_REQUEST = 30


class Bucket:
    """The objects below a prefix of a bucket, by the rest of their keys; to be shared by threads.

    Credentials come from the usual AWS variables. Whatever reads raises FileNotFoundError for an object that isn't
    there; everything raises OSError when the store fails to the last try.
    """

    def __init__(self, url: str, endpoint: str | None) -> None:
        """url: s3://bucket/prefix. endpoint: of a store that isn't Amazon's; default: as AWS's own variables say."""
        self.url = url.rstrip("/")
        bucket, _, prefix = self.url.removeprefix(SCHEME).partition("/")
        self._remote = _remote(bucket, prefix, endpoint or usual_endpoint())
        self.fetched_bytes = 0
        self._counting = threading.Lock()

    def put(self, path: str, data: pa.Buffer | bytes | Path) -> None:
        """Store an object; data: its bytes, or a file of this machine."""
        content = data if isinstance(data, Path) else bytes(data)
        self._tried(path, lambda: obstore.put(self._remote, path, content))

    def read(self, path: str) -> pa.Buffer:
        """The bytes of an object."""
        return pa.py_buffer(self._counted(self._tried(path, lambda: obstore.get(self._remote, path).bytes())))

    def range(self, path: str, start: int, stop: int) -> bytes:
        """Some of the bytes of an object."""
        data = bytes(self._tried(path, lambda: obstore.get_range(self._remote, path, start=start, end=stop)))
        if len(data) != stop - start:
            raise OSError(f"{self.url}/{path} was altered: it ends before byte {stop}")
        return self._counted(data)

    def signed_url(self, path: str, seconds: int, method: Literal["GET", "HEAD"] = "GET") -> str:
        """A URL by which anybody may read an object for so long; with credentials from a server, that is asked."""
        return obstore.sign(self._remote, method, path, timedelta(seconds=seconds))

    def copy_to(self, path: str, target: Path, size: int | None = None) -> None:
        """Write an object to a new file of this machine; size: in bytes, if known.

        By parts, so that a slow connection has half a minute for each, and a failure costs one.
        """
        if size is None:
            size = self.size(path)
            if size is None:
                raise FileNotFoundError(f"{self.url}/{path} is not there")
        with target.open("xb") as file:
            for start in range(0, size, _CHUNK):
                file.write(self.range(path, start, min(start + _CHUNK, size)))

    def size(self, path: str) -> int | None:
        """The size of an object in bytes; None for one that isn't there."""
        try:
            return int(self._tried(path, lambda: obstore.head(self._remote, path))["size"])
        except FileNotFoundError:
            return None

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects; those that aren't there are passed over."""
        if paths:
            self._tried(paths[0], lambda: obstore.delete(self._remote, list(paths)))

    def listed(self, prefix: str) -> Iterator[StoredFile]:
        """Every object whose path begins with these folders."""
        folder, last = prefix.rstrip("/"), ""
        while page := self._tried(folder, partial(self._listed_after, folder, last)):
            yield from page
            last = page[-1].path

    def _listed_after(self, folder: str, last: str) -> list[StoredFile]:
        """The objects of one request whose paths come behind the last one."""
        pages = obstore.list(self._remote, folder or None, offset=last or None, chunk_size=_OBJECTS_AT_ONCE)
        return [StoredFile(facts["path"], facts["size"], facts["last_modified"]) for facts in next(pages, [])]

    def _counted(self, data: _Bytes) -> _Bytes:
        with self._counting:
            self.fetched_bytes += len(data)
        return data

    def _tried(self, path: str, request: Callable[[], _Found]) -> _Found:
        """What a request gives, made again if it fails soon: the client itself doesn't where an answer is cut off.

        The store's failures come as StoreFailed or another OSError, in a line.
        """
        what = f"{self.url}/{path}"
        ends = time.monotonic() + SECONDS_TO_TRY / 3
        for seconds in (*_PAUSES, None):
            try:
                return request()
            except FileNotFoundError:
                raise FileNotFoundError(f"{what} is not there") from None
            except (PermissionDeniedError, UnauthenticatedError):
                raise PermissionError(f"{what}: the store refuses these credentials; see AWS_ACCESS_KEY_ID") from None
            except (BaseError, ValueError) as error:
                if seconds is None or time.monotonic() > ends:
                    raise StoreFailed(f"{what}: the store failed ({_in_short(error)})") from None
                time.sleep(seconds)
        raise AssertionError


def usual_endpoint() -> str | None:
    """The endpoint that AWS's own variables say; None: Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def _remote(bucket: str, prefix: str, endpoint: str | None) -> S3Store:
    config: S3Config = {"region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _REGION}
    if endpoint:
        config["endpoint"] = endpoint
    is_plain_http = endpoint is not None and endpoint.startswith("http://")
    seconds = timedelta(seconds=SECONDS_TO_TRY)
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=config,
        client_options={"allow_http": is_plain_http, "timeout": timedelta(seconds=_SECONDS_OF_A_REQUEST)},
        retry_config={"max_retries": 10, "retry_timeout": seconds, "backoff": {"max_backoff": timedelta(seconds=5)}},
    )


def _in_short(error: Exception) -> str:
    text = " ".join(str(error).partition("Debug source")[0].split())
    return text if len(text) <= 200 else f"{text[:200]}…"
