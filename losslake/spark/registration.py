"""Registration of a release in a Spark session: DuckDB's views and macros, under the same names, over the same files.

The files are read directly, not through the Iceberg catalog: so they are those of the release, and Spark needs no
further packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from losslake.index.serving import BASE_TABLES, MADE_TABLES, open_release
from losslake.index.view_texts import MACROS, VIEWS
from losslake.lake.data_files import check_files_exist, folder_of
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake.spark.translation import BASE, FILES, function_in_spark, view_in_spark
from losslake_schema.release import Release
from losslake_schema.tables import ALL_TABLES, PARTITIONED, STUDY_KEYS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPE_NAMES = {"string": "STRING", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}
# Spark takes no parameter of a function below a window, which these need.
FUNCTIONS = tuple(name for name in MACROS if name not in ("pooled_result_at", "best_setting_at"))
_CACHED = tuple(name for name in BASE_TABLES if name not in ("studies", "trials"))
_FIRST_WITH_SPLIT_BYTES = (4, 3)  # earlier versions can't read split bytes in batches, only row by row
_LISTING = "spark.sql.sources.parallelPartitionDiscovery"
# Spark decodes every byte of a percent-encoded name as a separate character.
_DECODED = "decode(encode({0}, 'ISO-8859-1'), 'UTF-8') AS {0}"


def register(spark: SparkSession, lake: Lake, release: Release) -> None:
    """Register the views and table functions of a release as temporary ones; they replace those of another release.

    Views: `losslake.index.view_texts.VIEWS`. Functions: FUNCTIONS, with constant arguments. The executors must have
    access to the lake's files. Raises LakeBroken if a data file is missing.
    """
    if tuple(map(int, spark.version.split(".")[:2])) < _FIRST_WITH_SPLIT_BYTES:
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    files = lake.files(release)
    with _few_tasks(spark, lake):
        for table in ALL_TABLES:
            paths = [file for file in files if file.table == table]
            _read_files(spark, lake, table, paths).createOrReplaceTempView(f"{table}{FILES}")
    with open_release(lake, release) as connection:
        made = {name: connection.sql(f"FROM base.{name}").to_arrow_table() for name in MADE_TABLES}
    for name, rows in made.items():
        spark.createDataFrame(rows).createOrReplaceTempView(f"{BASE}{name}")
    for name in (*(name for name in BASE_TABLES if name not in made), "records"):
        if spark.catalog.tableExists(f"{BASE}{name}"):  # cached for another release
            spark.catalog.uncacheTable(f"{BASE}{name}")
        spark.sql(view_in_spark(f"{BASE}{name}"))
        if name in _CACHED:
            spark.sql(f"CACHE LAZY TABLE {BASE}{name}")
    for name in VIEWS:
        spark.sql(view_in_spark(name))
    for name in FUNCTIONS:
        spark.sql(function_in_spark(name))


@contextmanager
def _few_tasks(spark: SparkSession, lake: Lake) -> Iterator[None]:
    """Let Spark look up many files in few tasks, or in the driver if they are local: by default, each is a task."""
    name, value = ("threshold", 1 << 30) if lake.store.local_folder is not None else ("parallelism", 32)
    before = spark.conf.get(f"{_LISTING}.{name}") or ""  # never: it has a default
    spark.conf.set(f"{_LISTING}.{name}", value)
    try:
        yield
    finally:
        spark.conf.set(f"{_LISTING}.{name}", before)


def _read_files(spark: SparkSession, lake: Lake, table: str, files: Sequence[DataFile]) -> DataFrame:
    """Return the rows of data files, with all columns of their table."""
    columns = ", ".join(f"`{field.name}` {_type_name(field.type)}" for field in ALL_TABLES[table])
    if not files:
        return spark.createDataFrame([], columns)
    check_files_exist(lake.store, files)
    # The path of a lake may contain characters of patterns.
    reader = spark.read.schema(columns).option("__globPaths__", "false")
    paths = [lake.store.hadoop_url(file.path) for file in files]
    if table not in PARTITIONED:
        return reader.parquet(*paths)
    rows = reader.option("basePath", lake.store.hadoop_url(folder_of(table, None).as_posix())).parquet(*paths)
    non_ascii = [key for key in STUDY_KEYS if not all(str(getattr(file, key)).isascii() for file in files)]
    names = ALL_TABLES[table].names
    return rows.selectExpr(*((_DECODED if name in non_ascii else "`{0}`").format(name) for name in names))


def _type_name(kind: pa.DataType) -> str:
    """Return the name of a type in Spark's SQL."""
    if pa.types.is_list(kind):
        return f"ARRAY<{_type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{_type_name(kind.key_type)}, {_type_name(kind.item_type)}>"
    return _TYPE_NAMES[str(kind)]
