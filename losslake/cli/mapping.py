"""The commands about log formats and their mappings: `losslake map` and `losslake formats`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from losslake.cli.console import TextFormat, say, write_csv


def map_logs(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The logs; without --init also a mapping file.")],
    init: Annotated[bool, typer.Option("--init", help="Write a starting mapping for the logs.")] = False,
    format: Annotated[  # noqa: A002
        list[str] | None, typer.Option(metavar="NAME", help="Read only this format; repeatable.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write. Default: losslake.toml beside the logs.", show_default=False
        ),
    ] = None,
) -> None:
    """Check the mapping of some logs, or write one to start from.

    A mapping says what logs leave open: collection, dataset, model, optimizer, batch size, metrics. 'losslake ingest
    --dry-run' shows what it makes of the logs.
    """
    from losslake_ingest.mapping.mapping import MAPPING_NAME, load_mapping
    from losslake_ingest.starting import start_mapping

    if init:
        written = start_mapping(path, tuple(format or ()), output)
        say(f"wrote {written}: complete it, then try 'losslake ingest {path} --map {written} --dry-run'")
        return
    place = Path(path)
    file = place / MAPPING_NAME if place.is_dir() else place if place.suffix == ".toml" else place.parent / MAPPING_NAME
    load_mapping(file)
    say(f"{file} can be used: 'losslake ingest PATH --map {file} --dry-run' shows what it makes of the logs")


COLUMNS = ("format", "reads", "needs")


def formats(
    format: Annotated[TextFormat, typer.Option(help="How to print.")] = TextFormat.table,  # noqa: A002
) -> None:
    """List the log formats that can be read.

    Each with its files and with what a mapping has to say.
    """
    from losslake_ingest.formats.format import formats as installed

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
