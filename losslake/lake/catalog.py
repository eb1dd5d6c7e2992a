"""The Iceberg catalog of a lake and the tables in it, as they are made.

Iceberg's own files, each on the disk for good before the catalog names it.
Iceberg's own files in a bucket, by the requests that everything else of a lake is read and written by.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import S3_ENDPOINT, FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Identifier

from losslake.lake.connecting import SECONDS_TO_WRITE, patiently
from losslake.lake.location import Location
from losslake.lake.store.bucket import SCHEME, Bucket, usual_endpoint
from losslake.lake.store.folder import on_disk
from losslake_schema.tables import NAMESPACE, PARTITIONED, STUDY_KEYS, TABLES

_TABLE_PROPERTIES = {
    # Only the metric tells data files apart; the ingest retries by itself, from the newest release.
    "write.metadata.metrics.default": "none",
    "write.metadata.metrics.column.metric": "full",
    "commit.retry.num-retries": "0",
    # Each commit writes the whole history of its table anew: a thousand releases would leave gigabytes of old ones.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def catalog(location: Location) -> SqlCatalog:
    """The catalog of the lake at a location."""
    file_io = SyncedFileIO if location.files_url.startswith("file://") else BucketFileIO
    files = {"py-io-impl": f"{file_io.__module__}.{file_io.__name__}"}
    endpoint = {"s3.endpoint": location.endpoint} if location.endpoint else {}
    uri = location.database_url

    def connected() -> SqlCatalog:
        return PatientCatalog(
            "losslake", uri=uri, warehouse=location.files_url, pool_pre_ping="true", **files, **endpoint
        )

    return patiently(connected, SECONDS_TO_WRITE)


class PatientCatalog(SqlCatalog):
    """Waits for a database that goes away for a while.

    A commit that came about although its connection was lost is tried again, and then refused as the second of two.
    """

    def load_table(self, identifier: str | Identifier) -> Table:
        return patiently(lambda: super(PatientCatalog, self).load_table(identifier), SECONDS_TO_WRITE)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        return patiently(
            lambda: super(PatientCatalog, self).commit_table(table, requirements, updates), SECONDS_TO_WRITE
        )


def make(catalog: SqlCatalog, warehouse: str) -> None:
    """Create whatever is not there yet, even after an attempt that was killed; only one process may at once.

    warehouse: URL below which the tables lie.
    """
    catalog.create_tables()
    catalog.create_namespace_if_not_exists(NAMESPACE)
    for name, arrow_schema in TABLES.items():
        schema = pyarrow_to_schema(arrow_schema)
        keys = STUDY_KEYS if name in PARTITIONED else ()
        fields = [
            PartitionField(schema.find_field(key).field_id, 1000 + position, IdentityTransform(), key)
            for position, key in enumerate(keys)
        ]
        if catalog.table_exists((NAMESPACE, name)):
            continue
        making = catalog.create_table_transaction(
            (NAMESPACE, name),
            schema,
            location=f"{warehouse}/{NAMESPACE}/{name}",
            partition_spec=PartitionSpec(*fields),
            properties=_TABLE_PROPERTIES,
        )
        # A first, empty snapshot: PyIceberg can branch only from a snapshot, and ingests commit to branches.
        making.update_snapshot().fast_append().commit()
        try:
            making.commit_transaction()
        except CommitFailedException:
            # It was made, and the answer was lost with the connection: the second try finds it there.
            if not catalog.table_exists((NAMESPACE, name)):
                raise


class SyncedFileIO(PyArrowFileIO):
    """What PyIceberg reads and writes local files by."""

    def new_output(self, location: str) -> PyArrowFile:
        output = super().new_output(location)
        return _SyncedFile(location, output._path, output._filesystem)


class _SyncedFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> OutputStream:
        path = Path(self._path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return _SyncedStream(io.FileIO(path, "w" if overwrite else "x"), path)


class _SyncedStream(io.BufferedWriter):
    def __init__(self, raw: io.FileIO, path: Path) -> None:
        super().__init__(raw)
        self._path = path

    def close(self) -> None:
        was_open = not self.closed
        super().close()
        if was_open:
            on_disk(self._path.parent, [self._path])


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
