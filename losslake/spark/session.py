"""A Spark session for an engine that a user names."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOPBACK = "127.0.0.1"
_NO_JAVA = ("JAVA_HOME", "bin/java", "UnsupportedClassVersionError")


class NoEngine(LossLakeError):
    """Spark can't be started, or doesn't answer."""


@contextmanager
def spark_session(engine: str) -> Iterator[SparkSession]:
    """A session of the cluster at `engine`, stopped afterwards.

    engine: as Spark's master has it: spark://host:port, local[*], local-cluster[2,1,1024], yarn, k8s://… Further
    settings come from the usual spark-defaults.conf. Raises NoEngine in a sentence.
    """
    session = _started(engine)
    try:
        yield session
    finally:
        with suppress(Exception):  # its Java may be gone, which was told
            session.stop()


def _started(engine: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if engine.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    with warnings.catch_warnings(), TemporaryFile() as said:
        warnings.simplefilter("ignore")  # of pandas, which nothing here hands to Spark
        try:
            from py4j.protocol import Py4JError
            from pyspark.errors import PySparkException
            from pyspark.logger import PySparkLogger
        except ImportError:
            raise NoEngine("--engine needs PySpark: pip install 'losslake[spark]'") from None
        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True  # what it says of an error is raised, too
        try:
            with _standard_error_to(said):
                return _builder(engine).getOrCreate()
        except (PySparkException, Py4JError) as error:
            said.seek(0)
            heard = said.read().decode(errors="replace")
            reason = in_a_line(f"{heard}\n{error}")
            if any(sign in heard for sign in _NO_JAVA):
                raise NoEngine("Spark needs Java 17 or newer: install it, or name it with JAVA_HOME") from None
            raise NoEngine(f"Spark can't start on {engine}: {reason}") from None


def _builder(engine: str) -> SparkSession.Builder:
    from pyspark.sql import SparkSession

    quiet = resources.files("losslake.spark").joinpath("log4j2.properties")
    settings = {
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={quiet} -XX:+ExitOnOutOfMemoryError",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.rpc.message.maxSize": "1024",  # megabytes: a part of a study is one message
    }
    if engine.startswith("local"):
        settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    builder: SparkSession.Builder = SparkSession.builder.master(engine).appName("LossLake")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


@contextmanager
def _standard_error_to(file: IO[bytes]) -> Iterator[None]:
    """Let a Java that is started in here write there for good: it has no quiet mode, and tells what fails twice."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def reason_of(error: Exception) -> str:
    """Why Spark failed, in a line, even if nobody is left to ask."""
    try:
        return in_a_line(str(error))
    except Exception:  # noqa: BLE001 - an error of Java's asks Java for its text
        return "its Java ended, probably for lack of memory: give it more by spark.driver.memory"


def in_a_line(message: str) -> str:
    """What Spark complains of, without plans and stacks."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    named = [line for line in lines if "Exception: " in line or line.startswith("[")]
    return (named or lines or ["no reason given"])[0].partition("; line ")[0].lstrip(": ")
