"""A bucket by the S3 protocol: requests for whole objects, ranges and lists.

Requests that fail are tried again, with ever longer pauses, for at most a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pyarrow as pa
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from schema.store.store import StoredFile

if TYPE_CHECKING:
    from obstore.store import S3Config

SCHEME = "s3://"
_REGION = "us-east-1"
_CHUNK = 8 << 20
_SECONDS_TO_TRY = 60
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
        self._remote = _remote(bucket, prefix, endpoint or _endpoint())

    def put(self, path: str, data: pa.Buffer | bytes | Path) -> None:
        """Store an object; data: its bytes, or a file of this machine."""
        with self._failures(path):
            obstore.put(self._remote, path, data if isinstance(data, Path) else bytes(data))

    def read(self, path: str) -> pa.Buffer:
        """The bytes of an object."""
        with self._failures(path):
            return pa.py_buffer(obstore.get(self._remote, path).bytes())

    def range(self, path: str, start: int, stop: int) -> bytes:
        """Some of the bytes of an object."""
        with self._failures(path):
            return bytes(obstore.get_range(self._remote, path, start=start, end=stop))

    def copy_to(self, path: str, target: Path) -> None:
        """Write an object to a new file of this machine."""
        with self._failures(path), target.open("xb") as file:
            for chunk in obstore.get(self._remote, path).stream(_CHUNK):
                file.write(chunk)

    def size(self, path: str) -> int | None:
        """The size of an object in bytes; None for one that isn't there."""
        try:
            with self._failures(path):
                return int(obstore.head(self._remote, path)["size"])
        except FileNotFoundError:
            return None

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects; those that aren't there are passed over."""
        if paths:
            with self._failures(paths[0]):
                obstore.delete(self._remote, list(paths))

    def listed(self, prefix: str) -> Iterator[StoredFile]:
        """Every object whose path begins with these folders."""
        with self._failures(prefix):
            for some in obstore.list(self._remote, prefix.rstrip("/") or None):
                for facts in some:
                    yield StoredFile(facts["path"], facts["size"], facts["last_modified"])

    @contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        """The store's failures as OSError, in a line."""
        what = f"{self.url}/{path}"
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(f"{what} is not there") from None
        except (PermissionDeniedError, UnauthenticatedError):
            raise PermissionError(f"{what}: the store refuses these credentials; see AWS_ACCESS_KEY_ID") from None
        except (BaseError, ValueError) as error:
            raise OSError(f"{what}: the store failed ({_in_short(error)})") from None


def _endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def _remote(bucket: str, prefix: str, endpoint: str | None) -> S3Store:
    config: S3Config = {"region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _REGION}
    if endpoint:
        config["endpoint"] = endpoint
    is_plain_http = endpoint is not None and endpoint.startswith("http://")
    seconds = timedelta(seconds=_SECONDS_TO_TRY)
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=config,
        client_options={"allow_http": is_plain_http, "timeout": timedelta(seconds=_SECONDS_OF_A_REQUEST)},
        retry_config={"max_retries": 10, "retry_timeout": seconds, "backoff": {"max_backoff": timedelta(seconds=5)}},
    )


def _in_short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"{text[:200]}…"
