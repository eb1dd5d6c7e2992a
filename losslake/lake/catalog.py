"""The Iceberg catalog of a lake, its tables as they are made, and how Iceberg's own files are read and written."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import S3_ENDPOINT, FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Identifier

from losslake.lake.connecting import SECONDS_TO_WRITE, patiently
from losslake.lake.location import Location
from losslake.lake.machine import on_disk
from losslake.lake.store.bucket import SCHEME, Bucket, usual_endpoint
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
    files = {"py-io-impl": f"{WholeFileIO.__module__}.{WholeFileIO.__name__}"}
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


class WholeFileIO(FileIO):
    """What PyIceberg reads and writes files by: whole, and each for good before the catalog names it.

    The files of a folder are on the disk then; those of a bucket are had by the requests that everything else of a lake
    is read and written by.
    """

    def new_input(self, location: str) -> _File:
        return _File(location, *self._place(location))

    def new_output(self, location: str) -> _File:
        return _File(location, *self._place(location))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        files, path = self._place(location if isinstance(location, str) else location.location)
        files.delete([path])

    def _place(self, location: str) -> tuple[Bucket | _Disk, str]:
        if not location.startswith(SCHEME):
            return _Disk(), location.removeprefix("file://")
        name, _, path = location.removeprefix(SCHEME).partition("/")
        return _bucket(f"{SCHEME}{name}", self.properties.get(S3_ENDPOINT) or usual_endpoint()), path


@lru_cache(16)
def _bucket(url: str, endpoint: str | None) -> Bucket:
    return Bucket(url, endpoint)


class _Disk:
    """The files of this machine, by the methods of a Bucket."""

    def size(self, path: str) -> int | None:
        try:
            return Path(path).stat().st_size
        except FileNotFoundError:
            return None

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def put(self, path: str, data: bytes) -> None:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        on_disk(file.parent, [file])

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            Path(path).unlink(missing_ok=True)


class _File(InputFile, OutputFile):
    """A file, which is read and written whole."""

    def __init__(self, location: str, files: Bucket | _Disk, path: str) -> None:
        super().__init__(location)
        self._files = files
        self._path = path

    def __len__(self) -> int:
        size = self._files.size(self._path)
        if size is None:
            raise FileNotFoundError(f"{self.location} is not there")
        return size

    def exists(self) -> bool:
        return self._files.size(self._path) is not None

    def open(self, seekable: bool = True) -> InputStream:
        return io.BytesIO(self._files.read(self._path))

    def to_input_file(self) -> InputFile:
        return self

    def create(self, overwrite: bool = False) -> OutputStream:
        if not overwrite and self.exists():
            raise FileExistsError(f"{self.location} is there already")
        return _Upload(self._files, self._path)


class _Upload(io.BytesIO):
    """Bytes that become the file when they are closed."""

    def __init__(self, files: Bucket | _Disk, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path

    def close(self) -> None:
        if not self.closed:
            self._files.put(self._path, self.getvalue())
        super().close()
