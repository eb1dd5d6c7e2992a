"""Spark sessions, local or on a cluster."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING

from losslake.extras import how_to_install
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACE = re.compile(r"line (\d+),? pos (\d+)")
_LOOPBACK = "127.0.0.1"
_NO_JAVA = ("JAVA_HOME", "bin/java", "UnsupportedClassVersionError")


class NoEngine(LossLakeError):
    """An error that Spark can't be started or does not respond."""


@contextmanager
def spark_session(engine: str) -> Iterator[SparkSession]:
    """Yield a session on the cluster at `engine`, and stop it afterwards.

    engine: a master URL of Spark: spark://host:port, local[*], local-cluster[2,1,1024], yarn, k8s://… Other settings
    are read from spark-defaults.conf. Raises NoEngine.
    """
    # Spark makes a folder for tables that are stored, though none is: by default in the current one.
    with TemporaryDirectory(prefix="losslake-spark-") as warehouse:
        session = _start(engine, warehouse)
        try:
            yield session
        finally:
            with suppress(Exception):  # its Java process may be gone, which was reported
                session.stop()


def _start(engine: str, warehouse: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if engine.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    with warnings.catch_warnings(), TemporaryFile() as log:
        warnings.simplefilter("ignore")  # about pandas, which is not used with Spark here
        try:
            from py4j.protocol import Py4JError
            from pyspark.errors import PySparkException
            from pyspark.logger import PySparkLogger
        except ImportError:
            raise NoEngine(how_to_install("--engine", "spark")) from None
        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True  # it repeats errors that are raised
        try:
            with _standard_error_to(log):
                return _builder(engine, warehouse).getOrCreate()
        except (PySparkException, Py4JError) as error:
            log.seek(0)
            output = log.read().decode(errors="replace")
            reason = first_error_line(f"{output}\n{error}")
            if any(sign in output for sign in _NO_JAVA):
                raise NoEngine("Spark needs Java 17 or newer: install it, or set JAVA_HOME") from None
            raise NoEngine(f"Spark can't start on {engine}: {reason}") from None


def _builder(engine: str, warehouse: str) -> SparkSession.Builder:
    from pyspark.sql import SparkSession

    quiet = resources.files("losslake.spark").joinpath("log4j2.properties")
    settings = {
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={quiet} -XX:+ExitOnOutOfMemoryError",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": Path(warehouse).as_uri(),
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
    """Redirect the standard error of a Java process started inside to a file: it prints errors that are raised too."""
    sys.stderr.flush()
    original = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(original, 2)
        os.close(original)


def error_reason(error: Exception) -> str:
    """Return why Spark failed, in one line, even if its Java process has ended."""
    try:
        return first_error_line(str(error))
    except Exception:  # noqa: BLE001 - errors of Java ask the Java process for their text
        return "its Java process ended, probably out of memory: increase spark.driver.memory"


def error_place(error: Exception) -> tuple[int, int] | None:
    """Return line and column of a mistake in a statement, counted from 1, if Spark says where it is."""
    try:
        match = _PLACE.search(str(error))
    except Exception:  # noqa: BLE001 - as above
        return None
    # Spark counts columns from 0.
    return (int(match[1]), int(match[2]) + 1) if match else None


def first_error_line(message: str) -> str:
    """Return the error in a message of Spark, without plans and stack traces."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    named = [line for line in lines if "Exception: " in line or line.startswith("[")]
    return (named or lines or ["no reason given"])[0].partition("; line ")[0].lstrip(": ")
