"""A Spark cluster converts: a part of a source goes to an executor, which stores its data files and describes them.

Only the driver commits, and only what an executor described to the end. A task whose executor is lost runs again on
another, under fresh file names: what the lost one stored is in no release.
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
from losslake.lake.store.store import Store
from losslake.spark.session import reason_of
from losslake_ingest.engine import Converted, Outcome, Task, batches, outcome_of
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SHARE_OF_A_BATCH = 1 / 16  # of the memory of the driver's Java, which holds some copies of it, and of the one before
_PACKAGES = ("losslake_ingest", "losslake_schema", "losslake")
_RAISED = re.compile(r"^\w+(\.\w+)*Error: .+$", re.MULTILINE)  # the last line of a traceback of an executor


class SparkEngine:
    """The executors of a Spark session; they store files in the lake themselves, so it has to be there for them, too.

    They run the code of this process, which is sent to them; what it needs has to be installed there.
    """

    def __init__(self, spark: SparkSession, location: Location) -> None:
        self._context = spark.sparkContext
        self._batch_bytes = int(_java_bytes(self._context) * _SHARE_OF_A_BATCH)
        # The database is for the driver only, and so is its password.
        self._location = replace(location, database=URL.create("sqlite"))
        _send_code(self._context)

    def converted(self, tasks: Iterable[Task], in_turns: bool) -> Iterator[Converted]:
        """As `losslake_ingest.engine.Engine` says: a job a batch, while the next batch is read."""
        with ThreadPoolExecutor(1, "spark") as pool:
            before: list[Task] = []
            running = pool.submit(self._outcomes, before)
            for some in batches(tasks, self._batch_bytes):
                following = pool.submit(self._outcomes, some)
                yield from zip((task.part for task in before), running.result(), strict=True)
                before, running = some, following
            yield from zip((task.part for task in before), running.result(), strict=True)

    def _outcomes(self, tasks: Sequence[Task]) -> list[Outcome]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not tasks:
            return []
        try:
            return self._context.parallelize(tasks, len(tasks)).map(partial(_outcome, self._location)).collect()
        except (PySparkException, Py4JError, ConnectionError) as error:
            reason = reason_of(error)
            raised = _RAISED.search(str(error)) if "Job aborted" in reason else None
            reason = raised[0] if raised else reason
            raise LossLakeError(f"the executors could not convert what was read: {reason}") from None
        finally:
            # Python's end of what was sent refers to itself: until it is collected, Java keeps all of it.
            gc.collect()


def _java_bytes(context: SparkContext) -> int:
    """The most memory that the driver's Java may take."""
    return int(context._jvm.java.lang.Runtime.getRuntime().maxMemory())  # type: ignore[union-attr]


@cache
def _send_code(context: SparkContext) -> TemporaryDirectory[str]:
    """Give executors our code, once; they fetch it from the folder whenever a new one starts, so it stays."""
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


@cache
def _store(location: Location) -> Store:
    return store_of(location)
