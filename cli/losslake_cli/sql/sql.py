"""`losslake sql`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.output.imports import without_pandas
from losslake_cli.console import (
    EngineOption,
    Format,
    LakeOption,
    ReleaseOption,
    ServiceOption,
    check_one_source,
    open_lake,
)
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake_cli.sql.session import Session


def sql(
    lake: LakeOption = None,
    url: ServiceOption = None,
    release: ReleaseOption = None,
    engine: EngineOption = None,
    command: Annotated[str | None, typer.Option("-c", "--command", metavar="SQL", help="Run this and exit.")] = None,
    format: Annotated[Format, typer.Option(help="Output format.")] = "table",  # noqa: A002
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result to a file.")] = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Maximum number of rows in a table.")] = 40,
) -> None:
    """Query a release of a lake or a service in SQL.

    Runs an interactive shell, one statement with -c, or a script from standard input.

    Tables: collections, workloads, studies, trials, measurements, records, metrics, goals, steps_to_target,
    steps_to_result. For any target: FROM steps_to('val/classification_error', 0.05) per trial, result_at(…) per study,
    best_setting_at(…) per study of repeated settings, pooled_result_at(…, workload := 'collection/dataset/model/*') per
    batch size of all workloads that match. In JSON, NaN and infinities are the strings "NaN", "Infinity" and
    "-Infinity"; tables round to six digits, the other formats are exact. The lake is read-only: COPY, EXPORT and ATTACH
    are disabled, --output writes results to a file.

    With --engine, a Spark cluster runs the statements on the lake's files, for queries that are too large for one
    machine. Statements are then in Spark's SQL.
    """
    if engine is None:
        without_pandas()
    from losslake_cli.sql.query_output import Output, run_script

    check_one_source(lake, url)
    if url is not None and engine is not None:
        raise LossLakeError("give either --engine or --url, not both: a service has its own engine")
    if url is not None:
        opened = _remote(url, release)
    else:
        opened = _local(lake, release) if engine is None else _on_spark(lake, release, engine)
    with opened as (session, folder):
        printed = Output("table", None, max_rows, folder)
        printed.redirect(format, output)
        if command is None and sys.stdin.isatty():
            from losslake_cli.sql.shell import run_shell

            run_shell(session, printed)
            return
        text = command if command is not None else sys.stdin.read()
        if not text.strip():
            raise LossLakeError("no statement: give one with -c, or a script on standard input")
        run_script(session, text, printed)


@contextmanager
def _local(lake: str | None, release: int | None) -> Iterator[tuple[Session, Path | None]]:
    from losslake.index.serving import open_release
    from losslake_cli.sql.session import LocalSession

    opened = open_lake(lake)
    chosen = opened.release(release)
    connection = open_release(opened, chosen)
    yield LocalSession(connection, f"release {chosen.number} of {opened}"), opened.folder


@contextmanager
def _on_spark(lake: str | None, release: int | None, engine: str) -> Iterator[tuple[Session, Path | None]]:
    from losslake.spark.session import spark_session

    opened = open_lake(lake)
    chosen = opened.release(release)
    with spark_session(engine) as spark:
        from losslake.spark import register
        from losslake_cli.sql.spark_session import SparkRelease

        register(spark, opened, chosen)
        yield SparkRelease(spark, f"release {chosen.number} of {opened} on {engine}"), opened.folder


@contextmanager
def _remote(url: str, release: int | None) -> Iterator[tuple[Session, Path | None]]:
    import duckdb

    from losslake.client.client import Client
    from losslake.client.service import Service
    from losslake_cli.sql.remote_session import SECONDS_TO_WAIT, RemoteSession

    with Client(read_timeout_s=SECONDS_TO_WAIT) as client, duckdb.connect() as parser:
        service = Service(client, url)
        yield RemoteSession(client, service, service.release(release).release, parser), None
