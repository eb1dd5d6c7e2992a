"""Taking a release over from another lake: the same number, time, notes and content, in files that lie here now."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy.exc import IntegrityError

from losslake.lake import iceberg
from losslake.lake.data_files import Written
from losslake.lake.lake import Lake
from losslake.lake.publishing import FileChanges, ReleaseFacts, commit_release, store
from losslake.lake.store.store import DataFile
from losslake_schema.database import LedgerEntry, Release
from losslake_schema.errors import LossLakeError
from losslake_schema.tables import TABLES, file_schema


def adopt(
    lake: Lake, facts: ReleaseFacts, files: Sequence[DataFile], studies: pa.Table, ledger: Sequence[LedgerEntry]
) -> Release:
    """Publish a release of exactly these files, which lie in the lake already, as the newest one.

    studies: the table `studies` of the release, from which its counts come. Raises LossLakeError when another release
    is published meanwhile.
    """
    base = lake.newest_release()
    before = {file.path: file for file in lake.files(base)} if base is not None else {}
    here = {file.path for file in files}
    changes = FileChanges([file for file in files if file.path in before])
    for table in TABLES:
        changes.removed[table] = [file for file in before.values() if file.table == table and file.path not in here]
        new = [file for file in files if file.table == table and file.path not in before]
        changes.added[table] = [
            Written.of(file, pq.read_metadata(lake.store.open(file.path, file.bytes))) for file in new
        ]
    branch = f"adopt-{uuid.uuid4().hex}"
    release = commit_release(lake, base, branch, changes, facts, studies)
    try:
        store(lake, release, ledger)
    except IntegrityError:
        iceberg.drop_branch(lake, sorted(changes.added), branch)
        raise LossLakeError(f"another release was published in {lake} meanwhile: run the same again") from None
    published = lake.release_ever(facts.number) or release
    iceberg.settle(lake, published, branch)
    return published


def why_not_a_data_file(lake: Lake, file: DataFile) -> str | None:
    """Why a file can't be the data file that it is said to be; None if it can."""
    try:
        metadata = pq.read_metadata(lake.store.open(file.path, file.bytes))
        found = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        return f"is no Parquet file ({str(error).splitlines()[0]})"
    if metadata.num_rows != file.rows:
        return f"has {metadata.num_rows:,} rows, not {file.rows:,}"
    expected = file_schema(file.table)
    if [field.name for field in found] != expected.names:
        return f"has other columns than {file.table}: this may be the layout of a newer LossLake"
    for here, field in zip(found, expected, strict=True):
        if not _plain(here.type).equals(_plain(field.type)):
            return f"has a column {here.name} of type {here.type}, not {_plain(field.type)}"
    return None


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without what Parquet may leave out: dictionaries, and the names within maps and lists."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_type)
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind
