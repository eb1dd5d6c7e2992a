"""Conversion on a Spark cluster: executors convert the parts of a source and store their data files.

Only the driver commits, and only parts that an executor converted completely. If an executor is lost, its task runs
again on another one with new file names; the files of the lost one are in no release.
"""

from __future__ import annotations

import gc
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sqlalchemy import URL

from losslake.lake.lake import store_of
from losslake.lake.location import Location
from losslake.spark.session import error_reason
from losslake_ingest.pipeline.engine import Converted, Outcome, Task, batches, outcome_of
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SHARE_OF_A_BATCH = 1 / 4  # of the heap of the driver's Java, which holds copies of this batch and the previous one
_PACKAGES = ("losslake_ingest", "losslake_schema", "losslake")
_RAISED = re.compile(r"^\w+(\.\w+)*Error: .+$", re.MULTILINE)  # the last line of a traceback of an executor


class SparkEngine:
    """The executors of a Spark session. They write to the lake themselves, so its store must be reachable for them.

    LossLake's code is sent to them; its dependencies must be installed there.
    """

    def __init__(self, spark: SparkSession, location: Location) -> None:
        self._context = spark.sparkContext
        self._batch_bytes = int(_java_bytes(self._context) * _SHARE_OF_A_BATCH)
        # Only the driver uses the database, so executors don't get its URL and password.
        self._location = replace(location, catalog=URL.create("sqlite"))
        _send_code(self._context)

    def convert(self, tasks: Iterable[Task], reads_on_all_cores: bool) -> Iterator[Converted]:
        """Convert in Spark jobs of one batch each, while the next batch is read; see `engine.Engine`."""
        with ThreadPoolExecutor(1, "spark") as pool:
            previous: list[Task] = []
            running = pool.submit(self._outcomes, previous)
            for batch in batches(tasks, self._batch_bytes):
                following = pool.submit(self._outcomes, batch)
                yield from zip((task.part for task in previous), running.result(), strict=True)
                previous, running = batch, following
            yield from zip((task.part for task in previous), running.result(), strict=True)

    def _outcomes(self, tasks: Sequence[Task]) -> list[Outcome]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not tasks:
            return []
        try:
            return self._context.parallelize(tasks, len(tasks)).map(partial(_outcome, self._location)).collect()
        except (PySparkException, Py4JError, ConnectionError) as error:
            reason = error_reason(error)
            raised = _RAISED.search(str(error)) if "Job aborted" in reason else None
            reason = raised[0] if raised else reason
            raise LossLakeError(f"the executors could not convert what was read: {reason}") from None
        finally:
            # The Python objects of a job are in reference cycles: until they are collected, Java keeps the job's data.
            gc.collect()


def _java_bytes(context: SparkContext) -> int:
    """Return the maximum heap of the driver's Java process, in bytes."""
    return int(context._jvm.java.lang.Runtime.getRuntime().maxMemory())  # type: ignore[union-attr]


@cache
def _send_code(context: SparkContext) -> TemporaryDirectory[str]:
    """Send LossLake's code to the executors, once. New executors fetch it from the folder, so it is kept."""
    temporary = TemporaryDirectory()
    path = str(Path(temporary.name, "losslake-code.zip"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as code:
        for package in _PACKAGES:
            folder = Path(str(import_module(package).__file__)).parent
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    code.write(file, Path(package, file.relative_to(folder)))
    context.addPyFile(path)
    return temporary


def _outcome(location: Location, task: Task) -> Outcome:
    return outcome_of(_store(location), task)


_store = cache(store_of)  # one for each process of an executor
