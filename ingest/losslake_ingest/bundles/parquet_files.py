"""Reading of the Parquet files of a bundle, which a stranger may have written, in bounded memory.

Parquet compresses texts that repeat to almost nothing, so texts are read as dictionaries and measured before use.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.publishing import schema_problem
from losslake_ingest.bundles.layout import GROUP, OPTIONAL, SCHEMAS
from losslake_ingest.contracts.rules import SourceBroken

BATCH = 1 << 16
LARGEST_TABLE = 2**28  # bytes, decompressed
MOST_ROWS = {"measurements": 2**28}
MOST_SMALL_ROWS = 2**20
LONGEST_TEXT = 1 << 14
LARGEST_TEXTS = 2**28
_SCHEMAS = SCHEMAS | OPTIONAL


class BundleTable:
    """A Parquet file of a bundle. Raises SourceBroken unless it has the rows that are stated, and its table's columns.

    Arrow raises errors of many kinds for damaged files: `damage` has them.
    """

    damage = (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, KeyError)

    def __init__(self, name: str, data: bytes, rows: int, schema: pa.Schema | None = None) -> None:
        """Open the file of a table. schema: of a file with other columns than the table."""
        self.name = name
        self._schema = _SCHEMAS[name] if schema is None else schema
        try:
            metadata = pq.read_metadata(pa.BufferReader(data))
            texts = [column.path for column in metadata.schema if column.physical_type == "BYTE_ARRAY"]
            self._file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
            problem = schema_problem(metadata, rows, self._schema, name)
        except self.damage as error:
            raise self.broken(f"is not a Parquet file ({_first_line(error)})") from None
        if problem:
            raise self.broken(problem)
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        chunks = [group.column(index) for group in groups for index in range(metadata.num_columns)]
        if rows > MOST_ROWS.get(name, MOST_SMALL_ROWS) or any(group.num_rows > GROUP for group in groups):
            raise self.broken(f"has {rows:,} rows, or too many in one row group")
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        n_cells = max((chunk.num_values for chunk in chunks), default=0)
        if largest > LARGEST_TABLE or n_cells > 16 * GROUP:
            raise self.broken(f"has columns of {largest:,} bytes and {n_cells:,} cells when it is decompressed")
        self._rows = rows

    def broken(self, problem: str) -> SourceBroken:
        """Return the error for a fault of this file."""
        return SourceBroken(f"{self.name} of the bundle {problem}: get or build the bundle again")

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, with texts as dictionaries."""
        n_rows = 0
        batches = self._file.iter_batches(BATCH, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)
            except self.damage as error:
                raise self.broken(f"can't be read ({_first_line(error)})") from None
            if batch is None:
                break
            n_rows += batch.num_rows
            if n_rows > self._rows:
                break
            yield batch
        if n_rows != self._rows:
            raise self.broken(f"doesn't have the {self._rows:,} rows that it states")

    def read(self) -> pa.Table:
        """Return all rows of a small table in its schema."""
        batches = list(self.batches())
        size = sum(_text_bytes(self, column) for batch in batches for column in batch.columns)
        if size > LARGEST_TEXTS:
            raise self.broken(f"has {size:,} bytes of text")
        schema = self._schema
        try:
            return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
        except self.damage as error:
            raise self.broken(f"can't be read ({_first_line(error)})") from None


def _text_bytes(table: BundleTable, column: pa.Array) -> int:
    """Return the bytes of the texts in a column, each counted as often as it occurs."""
    if pa.types.is_map(column.type):
        return _text_bytes(table, column.keys) + _text_bytes(table, column.items)
    if pa.types.is_list(column.type):
        return _text_bytes(table, column.flatten())
    if not pa.types.is_dictionary(column.type) or not len(column.dictionary):
        return 0
    lengths = pc.binary_length(column.dictionary)
    longest = pc.max(lengths).as_py()
    if longest > LONGEST_TEXT:
        raise table.broken(f"has a text of {longest:,} bytes")
    return pc.sum(lengths.take(column.indices)).as_py() or 0


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
