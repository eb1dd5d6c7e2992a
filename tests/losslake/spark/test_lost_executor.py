"""An executor that is killed in the middle of an ingest changes nothing in the release."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.bundled import ARCHIVE, bundled_lake
from tests.servers.processes import wait_until

SECONDS_TO_WAIT = 120


def executors() -> set[int]:
    """The process ids of the executors that this process started."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        try:
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                found.add(process.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def stores(lake: Lake) -> bool:
    return any((lake.folder / "warehouse" / "losslake" / "measurements").rglob("*.parquet"))


@pytest.mark.slow
def test_an_ingest_with_a_killed_worker_gives_the_release_of_a_local_ingest(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from losslake.spark.session import spark_session
    from losslake_ingest.pipeline.spark_engine import SparkEngine

    lake = Lake.create(tmp_path / "lake")
    with spark_session("local-cluster[2,1,1024]") as spark, ThreadPoolExecutor(1) as pool:
        engine = SparkEngine(spark, lake.location)
        wait_until(lambda: len(executors()) == 2, "both executors run", SECONDS_TO_WAIT)
        before = executors()
        running = pool.submit(ingest, lake, [ARCHIVE], engine=engine)
        wait_until(lambda: stores(lake) or running.done(), "the ingest stores files", SECONDS_TO_WAIT)
        psutil.Process(min(before)).kill()
        running.result(SECONDS_TO_WAIT)
        wait_until(lambda: len(executors() - before) == 1, "another executor takes its place", SECONDS_TO_WAIT)
    local = bundled_lake(tmp_path_factory)
    assert lake.release().content_digest == local.release().content_digest
    released = {lake.folder / file.path for file in lake.files(lake.release())}
    stored = set((lake.folder / "warehouse").rglob("data/**/*.parquet"))
    assert released <= stored
    assert len(released) == len(local.files(local.release()))
