"""The Iceberg catalog of a lake and the tables in it, as they are made."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from schema.iceberg_files import SyncedFileIO
from schema.tables import NAMESPACE, PARTITIONED, STUDY_KEYS, TABLES

_TABLE_PROPERTIES = {
    # Only the metric tells data files apart; the ingest retries by itself, from the newest release.
    "write.metadata.metrics.default": "none",
    "write.metadata.metrics.column.metric": "full",
    "commit.retry.num-retries": "0",
}


def catalog(database_url: str, warehouse: Path) -> SqlCatalog:
    files = {"py-io-impl": f"{SyncedFileIO.__module__}.{SyncedFileIO.__qualname__}"}
    return SqlCatalog("losslake", uri=database_url, warehouse=f"file://{warehouse}", **files)


def make(catalog: SqlCatalog, warehouse: Path) -> None:
    """Create whatever is not there yet, even after an attempt that was killed; only one process may at once."""
    catalog.create_tables()
    catalog.create_namespace_if_not_exists(NAMESPACE)
    for name, arrow_schema in TABLES.items():
        schema = pyarrow_to_schema(arrow_schema)
        keys = STUDY_KEYS if name in PARTITIONED else ()
        fields = [
            PartitionField(schema.find_field(key).field_id, 1000 + position, IdentityTransform(), key)
            for position, key in enumerate(keys)
        ]
        table = catalog.create_table_if_not_exists(
            (NAMESPACE, name),
            schema,
            location=f"file://{warehouse / NAMESPACE / name}",
            partition_spec=PartitionSpec(*fields),
            properties=_TABLE_PROPERTIES,
        )
        if not table.metadata.snapshots:
            # A first, empty snapshot: PyIceberg can branch only from a snapshot, and ingests commit to branches.
            with table.transaction() as transaction:
                transaction.update_snapshot().fast_append().commit()
