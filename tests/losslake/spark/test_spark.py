"""Spark gives the views and macros of a release as DuckDB does: the same columns, and the same rows to the last bit."""

from __future__ import annotations

import json
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from losslake.index.serving import open_release
from losslake.index.view_texts import VIEWS
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from tests.bundled import ARCHIVE, bundled_lake
from tests.cli.conftest import Run
from tests.losslake.spark.hostile import MINIMIZED, hostile_lake
from tests.scheduled_lake import METRIC, scheduled_lake
from tests.servers.processes import SECONDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.slow
MOST_KEPT_BYTES = 16_000_000


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from losslake.spark.session import spark_session

    with spark_session("local[1]") as session:
        yield session


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return hostile_lake(tmp_path_factory.mktemp("hostile"))


def disagreements(spark: SparkSession, lake: Lake, answers: Sequence[str]) -> list[str]:
    from losslake.spark import register
    from tests.losslake.spark.agreement import disagreement

    release = lake.release()
    register(spark, lake, release)
    connection = open_release(lake, release)
    return [found for answer in answers if (found := disagreement(connection, spark, answer))]


def test_spark_and_duckdb_agree_on_hostile_data_in_every_view_and_macro(spark: SparkSession, hostile: Lake) -> None:
    from tests.losslake.spark.agreement import EVERYTHING

    assert not disagreements(spark, hostile, EVERYTHING)


def test_spark_and_duckdb_agree_on_bundled_studies(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On some of them, for time's sake: `make fuzz` compares everything."""
    answers = [f"{name} WHERE batch_size >= 512" for name in ("steps_to_result", f"result_at('{MINIMIZED}', 0.1)")]
    assert not disagreements(spark, bundled_lake(tmp_path_factory), answers)


def test_spark_and_duckdb_agree_on_batch_sizes_that_change(spark: SparkSession, tmp_path: Path) -> None:
    macros = [f"{name}('{METRIC}', 1.0)" for name in ("steps_to", "result_at")]
    amounts = [f"amounts_to('{METRIC}', 1.0, measure => '{name}')" for name in ("examples", "epochs", "seconds")]
    assert not disagreements(spark, scheduled_lake(tmp_path), [*VIEWS, *macros, *amounts])


def test_a_target_beyond_the_range_of_its_metric_is_refused(spark: SparkSession, hostile: Lake) -> None:
    from losslake.spark import register

    register(spark, hostile, hostile.release())
    with pytest.raises(Exception, match=re.escape(f"{MINIMIZED} lies between 0 and 1: did you mean 0.25?")):
        spark.sql(f"SELECT * FROM steps_to('{MINIMIZED}', 25)").collect()


def test_a_condition_on_a_study_reads_only_its_files(spark: SparkSession, hostile: Lake) -> None:
    from losslake.spark import register

    register(spark, hostile, hostile.release())
    explained = spark.sql("EXPLAIN SELECT * FROM records WHERE collection = 'timed' AND batch_size = 2").collect()[0][0]
    filters = explained.partition("PartitionFilters: [")[2].partition("PushedFilters")[0]
    assert "collection" in filters
    assert "batch_size" in filters


def test_a_missing_data_file_is_named(spark: SparkSession, hostile: Lake, tmp_path: Path) -> None:
    from losslake.spark import register

    lake = Lake.open(shutil.copytree(hostile.folder, tmp_path / "lake"))
    lost = lake.folder / next(file.path for file in lake.files(lake.release()) if file.table == "records")
    lost.unlink()
    with pytest.raises(LakeBroken, match=lost.name):
        register(spark, lake, lake.release())


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("INSERT INTO x SELECT 1", "INSERT is disabled, the lake is read-only: use --output for results"),
        ("WITH a AS (SELECT 1) INSERT INTO x SELECT 1", "WITH is disabled"),
        ("SELECT 1; CREATE TABLE x AS SELECT 1", "CREATE is disabled"),
        ("SELECT nothing FROM VALUES (1) AS t(a)", "`nothing` cannot be resolved"),
        ("SELECT 'open", "invalid SQL"),
    ],
)
def test_an_unsupported_statement_is_refused_in_one_line(spark: SparkSession, statement: str, complaint: str) -> None:
    from losslake_cli.sql.spark_session import SparkRelease

    def run_queries() -> None:
        for query in SparkRelease(spark, "").queries(statement):
            with query.rows():
                pass

    with pytest.raises(LossLakeError, match=re.escape(complaint)) as refused:
        run_queries()
    assert "\n" not in str(refused.value)


def test_an_error_shows_the_line_of_the_statement_with_a_caret(spark: SparkSession) -> None:
    from losslake_cli.sql.spark_session import SparkRelease

    (query,) = SparkRelease(spark, "").queries("SELECT 1,\n  nothing FROM range(3)")
    with pytest.raises(LossLakeError, match="nothing") as refused, query.rows():
        pass
    assert refused.value.__notes__ == ["LINE 2:   nothing FROM range(3)", "          ^"]


def test_the_folder_for_stored_tables_is_a_temporary_one(spark: SparkSession) -> None:
    rows = {row["info_name"]: row["info_value"] for row in spark.sql("DESCRIBE DATABASE default").collect()}
    assert Path(urlsplit(rows["Location"]).path).is_relative_to(tempfile.gettempdir())


def test_a_result_without_columns_is_no_table(spark: SparkSession) -> None:
    from losslake_cli.sql.spark_session import SparkRelease

    (query,) = SparkRelease(spark, "").queries("SELECT * EXCEPT (a) FROM VALUES (1) AS t(a)")
    with query.rows() as rows, query.arrow() as arrow:
        assert (rows, arrow) == (None, None)


def test_ctrl_c_before_a_statement_starts_stops_its_jobs(spark: SparkSession) -> None:
    from losslake_cli.sql.spark_session import SparkRelease

    session = SparkRelease(spark, "")
    (query,) = session.queries("SELECT count(*) FROM range(1000000) a CROSS JOIN range(10000000) b WHERE a.id > b.id")

    def work(stop: Event) -> None:
        signal.raise_signal(signal.SIGINT)
        assert stop.wait(SECONDS)
        with query.rows() as rows:
            assert rows is not None
            pytest.fail(f"the statement was not stopped: {list(rows.batches)}")

    with pytest.raises(KeyboardInterrupt):
        session.run_interruptible(work)


def test_an_ingest_on_spark_gives_the_release_of_a_local_ingest(
    spark: SparkSession, hostile: Lake, tmp_path: Path
) -> None:
    from losslake_ingest.pipeline.spark_engine import SparkEngine

    lake = Lake.create(tmp_path / "lake")
    logs = hostile.folder.parent
    ingest(lake, [logs / "before"], engine=SparkEngine(spark, lake.location))
    summary = ingest(lake, [logs / "after", logs / "timed"], engine=SparkEngine(spark, lake.location))
    assert lake.release().content_digest == hostile.release().content_digest
    assert lake.release(1).content_digest == hostile.release(1).content_digest
    assert summary.studies_unchanged == 3


def test_java_releases_the_memory_of_converted_parts(spark: SparkSession, tmp_path: Path) -> None:
    from losslake_ingest.pipeline.spark_engine import SparkEngine

    runtime: Any = spark.sparkContext._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]

    def used_bytes() -> int:
        runtime.gc()
        return int(runtime.totalMemory() - runtime.freeMemory())

    lake = Lake.create(tmp_path / "lake")
    engine = SparkEngine(spark, lake.location)
    before = used_bytes()
    ingest(lake, [ARCHIVE], engine=engine)
    assert used_bytes() - before < MOST_KEPT_BYTES


@pytest.mark.fuzz
@pytest.mark.parametrize("which", ["bundled", "synthetic"])
def test_spark_and_duckdb_agree_on_every_row_of_large_lakes(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, which: str
) -> None:
    """The largest piece by piece, so that they fit into memory."""
    from bench.archive import write_archive
    from bench.plan import Scale
    from tests.losslake.spark.agreement import EVERYTHING

    lake = bundled_lake(tmp_path_factory)
    if which == "synthetic":
        folder = tmp_path_factory.mktemp("synthetic")
        write_archive(folder / "archive.tar.bz2", Scale(size=0.05))
        lake = Lake.create(folder / "lake")
        ingest(lake, [folder / "archive.tar.bz2"])
    pairs = "SELECT DISTINCT batch_size, unnest(metrics) FROM studies ORDER BY ALL"
    found = open_release(lake, lake.release()).execute(pairs).fetchall()
    large = ("measurements", "records")
    others = [name for name in EVERYTHING if name not in large]
    parts = [f"{name} WHERE batch_size = {size} AND metric = '{metric}'" for name in large for size, metric in found]
    assert not disagreements(spark, lake, [*others, *parts])


def test_the_command_line_prints_the_results_of_spark(hostile: Lake, losslake: Run) -> None:
    """The last, since it ends the session."""
    trial = "SELECT trial_id, parameters, 1.5D AS x FROM trials WHERE batch_size = 8 AND trial_id = 2"
    asked = f"{trial}; SELECT double('nan') AS a"
    ended = losslake("sql", "--lake", hostile.folder, "--engine", "local[1]", "--format", "json", "-c", asked)
    first, second = ended.stdout.split("\n]\n")[:2]
    assert json.loads(f"{first}]") == [{"trial_id": 2, "parameters": {"learning_rate": 0.2, "momentum": 0.9}, "x": 1.5}]
    assert json.loads(f"{second}]") == [{"a": "NaN"}]
