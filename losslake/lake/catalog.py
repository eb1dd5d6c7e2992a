"""The Iceberg catalog of a lake, the first versions of its tables, and the I/O of Iceberg's metadata files."""

from __future__ import annotations

import io
import uuid
from functools import cache

from pyiceberg.catalog.sql import IcebergNamespaceProperties, SqlCatalog, SqlCatalogBaseTable
from pyiceberg.io import S3_ENDPOINT, FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import Engine, insert, inspect

from losslake.lake.connecting import SECONDS_TO_WRITE, patient, with_retries
from losslake.lake.location import Location
from losslake.lake.store.backends import backend_of
from losslake.lake.store.store import MetadataFiles
from losslake_schema.migrating import create, has_tables, migrate
from losslake_schema.tables import ALL_TABLES, NAMESPACE, PARTITIONED, STUDY_KEYS

CATALOG = "losslake"
_TABLE_PROPERTIES = {
    # Data files differ in their metric only, so no other statistics help. Ingests do their own retries.
    "write.metadata.metrics.default": "none",
    "write.metadata.metrics.column.metric": "full",
    "commit.retry.num-retries": "0",
    # Each commit rewrites the whole history of its table: a thousand releases would leave gigabytes of old metadata.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def open_catalog(location: Location) -> SqlCatalog:
    """Open the catalog of the lake at a location."""
    options = {
        "uri": patient(location.database).render_as_string(hide_password=False),
        "warehouse": location.files_url,
        "pool_pre_ping": "true",
        "py-io-impl": f"{AtomicFileIO.__module__}.{AtomicFileIO.__name__}",
        **file_io(location).properties,
    }
    return with_retries(lambda: PatientCatalog(CATALOG, **options), SECONDS_TO_WRITE)


def file_io(location: Location) -> AtomicFileIO:
    """Return the I/O of the metadata files of the lake at a location."""
    return AtomicFileIO({S3_ENDPOINT: location.endpoint} if location.endpoint else {})


class PatientCatalog(SqlCatalog):
    """An SQL catalog that retries while its database is unavailable."""

    def load_table(self, identifier: str | Identifier) -> Table:
        """Load a table, with retries."""
        return with_retries(lambda: super(PatientCatalog, self).load_table(identifier), SECONDS_TO_WRITE)


def create_database(engine: Engine) -> None:
    """Create the tables of a lake's database and Iceberg's catalog, or upgrade them; not safe to run concurrently."""
    namespace = insert(IcebergNamespaceProperties).values(
        catalog_name=CATALOG, namespace=NAMESPACE, property_key="exists", property_value="true"
    )

    def work() -> None:
        with engine.connect() as connection:
            exists = has_tables(connection)
        if exists:
            migrate(engine)
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")  # otherwise each table is a transaction
            if not exists:
                create(connection)
            if not inspect(connection).has_table(IcebergNamespaceProperties.__tablename__):
                SqlCatalogBaseTable.metadata.create_all(connection)
                connection.execute(namespace)

    # If the answer of a commit was lost, the tables exist.
    with_retries(work, SECONDS_TO_WRITE)


def new_metadata(name: str, location: str) -> TableMetadata:
    """Return the metadata of a new table without snapshots. location: URL of its folder."""
    table = {"location": location, "table_uuid": uuid.uuid4(), "properties": dict(_TABLE_PROPERTIES)}
    return _metadata_of(name).model_copy(update=table)


@cache
def _metadata_of(name: str) -> TableMetadata:
    """Return the metadata of a table by its name, with its columns and partitions."""
    schema = pyarrow_to_schema(ALL_TABLES[name])
    fields = [
        PartitionField(schema.find_field(key).field_id, 1000 + position, IdentityTransform(), key)
        for position, key in enumerate(STUDY_KEYS if name in PARTITIONED else ())
    ]
    return new_table_metadata(schema, PartitionSpec(*fields), UNSORTED_SORT_ORDER, name)


class AtomicFileIO(FileIO):
    """PyIceberg's file I/O: files are read and written whole, by the backend of their URL.

    written: the URLs of the files that were written, which are durable once they are synced.
    """

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self.written: list[str] = []

    def new_input(self, location: str) -> _File:
        """Return a file to read."""
        return _File(location, *self._resolve(location))

    def new_output(self, location: str) -> _File:
        """Return a file to write."""
        self.written.append(location)
        return _File(location, *self._resolve(location))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        files, path = self._resolve(location if isinstance(location, str) else location.location)
        files.delete([path])

    def _resolve(self, location: str) -> tuple[MetadataFiles, str]:
        return backend_of(location).metadata_files(location, self.properties.get(S3_ENDPOINT))


class _File(InputFile, OutputFile):
    """A file that is read and written whole."""

    def __init__(self, location: str, files: MetadataFiles, path: str) -> None:
        super().__init__(location)
        self._files = files
        self._path = path

    def __len__(self) -> int:
        size = self._files.size(self._path)
        if size is None:
            raise FileNotFoundError(f"{self.location} does not exist")
        return size

    def exists(self) -> bool:
        """Return True if the file exists."""
        return self._files.size(self._path) is not None

    def open(self, seekable: bool = True) -> InputStream:
        """Read the file and return its bytes as a stream."""
        return io.BytesIO(self._files.read(self._path))

    def to_input_file(self) -> InputFile:
        """Return the file itself, which can be read as well."""
        return self

    def create(self, overwrite: bool = False) -> OutputStream:
        """Return a stream to write the file to."""
        if not overwrite and self.exists():
            raise FileExistsError(f"{self.location} already exists")
        return _Upload(self._files, self._path)


class _Upload(io.BytesIO):
    """A buffer that is written to the file when it is closed."""

    def __init__(self, files: MetadataFiles, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path

    def close(self) -> None:
        """Write the file."""
        if not self.closed:
            self._files.put(self._path, self.getvalue())
        super().close()
