"""Iceberg's own files in a bucket, by the requests that everything else of a lake is read and written by."""

from __future__ import annotations

import io
from functools import lru_cache

from pyiceberg.io import S3_ENDPOINT, FileIO, InputFile, InputStream, OutputFile, OutputStream

from losslake.lake.store.bucket import SCHEME, Bucket, usual_endpoint


class BucketFileIO(FileIO):
    """What PyIceberg reads and writes a bucket's files by."""

    def new_input(self, location: str) -> _Object:
        return _Object(location, *self._place(location))

    def new_output(self, location: str) -> _Object:
        return _Object(location, *self._place(location))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        bucket, path = self._place(location if isinstance(location, str) else location.location)
        bucket.delete([path])

    def _place(self, location: str) -> tuple[Bucket, str]:
        name, _, path = location.removeprefix(SCHEME).partition("/")
        return _bucket(f"{SCHEME}{name}", self.properties.get(S3_ENDPOINT) or usual_endpoint()), path


@lru_cache(16)
def _bucket(url: str, endpoint: str | None) -> Bucket:
    return Bucket(url, endpoint)


class _Object(InputFile, OutputFile):
    """An object, which is read and written whole."""

    def __init__(self, location: str, bucket: Bucket, path: str) -> None:
        super().__init__(location)
        self._bucket = bucket
        self._path = path

    def __len__(self) -> int:
        size = self._bucket.size(self._path)
        if size is None:
            raise FileNotFoundError(f"{self.location} is not there")
        return size

    def exists(self) -> bool:
        return self._bucket.size(self._path) is not None

    def open(self, seekable: bool = True) -> InputStream:
        return io.BytesIO(bytes(self._bucket.read(self._path)))

    def to_input_file(self) -> InputFile:
        return self

    def create(self, overwrite: bool = False) -> OutputStream:
        if not overwrite and self.exists():
            raise FileExistsError(f"{self.location} is there already")
        return _Upload(self._bucket, self._path)


class _Upload(io.BytesIO):
    """Bytes that become the object when they are closed."""

    def __init__(self, bucket: Bucket, path: str) -> None:
        super().__init__()
        self._bucket = bucket
        self._path = path

    def close(self) -> None:
        if not self.closed:
            self._bucket.put(self._path, self.getvalue())
        super().close()
