"""`losslake sql`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from losslake.console import LakeOption, ReleaseOption
from losslake.print_formats import Format
from schema.errors import LossLakeError


def sql(
    lake: LakeOption = None,
    release: ReleaseOption = None,
    command: Annotated[
        str | None, typer.Option("-c", "--command", metavar="SQL", help="Run this and leave.", show_default=False)
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print results.")] = Format.table,  # noqa: A002
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result there, not to the screen.", show_default=False)
    ] = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows that a table on the screen shows.")] = 40,
) -> None:
    """Ask a release in SQL.

    In an interactive shell, by one statement with -c, or by a script from standard input.

    Tables: collections, workloads, studies, trials, measurements, records, metrics, goals, steps_to_target,
    steps_to_result. For any target: FROM steps_to('val/classification_error', 0.05) by trial, result_at(…) by study.
    In JSON, NaN and infinities are the strings "NaN", "Infinity" and "-Infinity"; tables round to six digits, the other
    formats are exact. The lake is only read: COPY, EXPORT and ATTACH are off, --output writes results to a file.
    """
    from losslake.output import Output
    from losslake.shell import run_script, run_shell
    from schema.lake import Lake
    from schema.serving import open_release

    opened = Lake.open(lake)
    chosen = opened.release(release)
    connection = open_release(opened, chosen)
    printed = Output(Format.table, None, max_rows, opened.folder)
    printed.send(format, output)
    if command is None and sys.stdin.isatty():
        run_shell(connection, printed, f"release {chosen.number} of {opened.folder}")
        return
    text = command if command is not None else sys.stdin.read()
    if not text.strip():
        raise LossLakeError("there is no statement: give one with -c, or a script on standard input")
    run_script(connection, text, printed)
