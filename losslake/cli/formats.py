"""`losslake formats`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from losslake.cli.console import say, write_csv
from losslake.cli.print_formats import TextFormat

COLUMNS = ("format", "reads", "needs")


def formats(
    format: Annotated[TextFormat, typer.Option(help="How to print.")] = TextFormat.table,  # noqa: A002
) -> None:
    """List the log formats that can be read.

    Each with its files and with what a mapping has to say.
    """
    from losslake_ingest.formats.registry import formats as installed

    rows = [(one.name, one.reads, one.needs) for one in installed().values()]
    if format is TextFormat.json:
        typer.echo(json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows], indent=2))
    elif format is TextFormat.csv:
        write_csv(sys.stdout, COLUMNS, rows)
    else:
        for name, reads, needs in rows:
            say(name)
            say(f"  reads  {reads}")
            say(f"  needs  {needs}")
