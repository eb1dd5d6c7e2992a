"""The Iceberg catalog of a lake and the tables in it, as they are made."""

from __future__ import annotations

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Identifier

from losslake.lake.connecting import SECONDS_TO_WRITE, patiently
from losslake.lake.location import Location
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
    is_folder = location.files_url.startswith("file://")
    file_io = "iceberg_files.SyncedFileIO" if is_folder else "iceberg_objects.BucketFileIO"
    files = {"py-io-impl": f"losslake.lake.{file_io}"}
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
