"""A release in a Spark session: the views and macros that DuckDB has, under the same names, over the same files.

The files are read as they are, not through the Iceberg catalog: they are those of the release, whatever was ingested
since, and need no more than Spark itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from losslake.index.serving import BASE_TABLES, MACROS, VIEWS
from losslake.lake.data_files import check_there, folder_of
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake.spark.translation import BASE, FILES, function_in_spark, view_in_spark
from losslake_schema.database import Release
from losslake_schema.tables import PARTITIONED, STUDY_KEYS, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS = {"string": "STRING", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}
_KEPT = tuple(name for name in BASE_TABLES if name != "trials")
_FIRST_TO_READ_SPLIT_BYTES = (4, 3)  # in batches; before, only row by row
# Spark reads every byte of a percent-encoded name as a character of its own.
_DECODED = "decode(encode({0}, 'ISO-8859-1'), 'UTF-8') AS {0}"


def register(spark: SparkSession, lake: Lake, release: Release) -> None:
    """Give a Spark session the views and table functions of a release, all temporary; those of another one go.

    Views: `losslake.index.serving.VIEWS`; functions: steps_to(metric, target) and result_at(metric, target), whose
    arguments are constants. The executors read the lake's files, so its folder has to be there for them, too. Raises
    LakeBroken when a data file is missing.
    """
    if tuple(map(int, spark.version.split(".")[:2])) < _FIRST_TO_READ_SPLIT_BYTES:
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    files = lake.files(release)
    for table in TABLES:
        paths = [file for file in files if file.table == table]
        _files_of(spark, lake, table, paths).createOrReplaceTempView(f"{table}{FILES}")
    for name in (*BASE_TABLES, "records"):
        if spark.catalog.tableExists(f"{BASE}{name}"):  # in memory, of another release
            spark.catalog.uncacheTable(f"{BASE}{name}")
        spark.sql(view_in_spark(f"{BASE}{name}"))
        if name in _KEPT:
            spark.sql(f"CACHE LAZY TABLE {BASE}{name}")
    for name in VIEWS:
        spark.sql(view_in_spark(name))
    for name in MACROS:
        spark.sql(function_in_spark(name))


def _files_of(spark: SparkSession, lake: Lake, table: str, files: Sequence[DataFile]) -> DataFrame:
    """The rows of some data files, with every column of their table."""
    columns = ", ".join(f"`{field.name}` {_kind(field.type)}" for field in TABLES[table])
    if not files:
        return spark.createDataFrame([], columns)
    check_there(lake.store, files)
    # The folder of a lake may be named like a pattern.
    reader = spark.read.schema(columns).option("__globPaths__", "false")
    paths = [_url(lake, file.path) for file in files]
    if table not in PARTITIONED:
        return reader.parquet(*paths)
    rows = reader.option("basePath", _url(lake, folder_of(table, None).as_posix())).parquet(*paths)
    foreign = [key for key in STUDY_KEYS if not all(str(getattr(file, key)).isascii() for file in files)]
    return rows.selectExpr(*((_DECODED if name in foreign else "`{0}`").format(name) for name in TABLES[table].names))


def _url(lake: Lake, path: str) -> str:
    """A file or folder of the lake as Hadoop names it."""
    url = lake.store.url_of(path)
    return f"s3a://{url.removeprefix('s3://')}" if url.startswith("s3://") else lake.store.name_of(path)


def _kind(kind: pa.DataType) -> str:
    """A type in Spark's words."""
    if pa.types.is_list(kind):
        return f"ARRAY<{_kind(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{_kind(kind.key_type)}, {_kind(kind.item_type)}>"
    return _KINDS[str(kind)]
