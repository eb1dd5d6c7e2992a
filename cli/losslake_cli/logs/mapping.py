"""The commands about log formats and their mappings: `losslake map` and `losslake formats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from losslake_cli.console import TextFormat, echo
from losslake_cli.table import print_rows


def map_logs(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The logs, or a mapping file to check.")],
    init: Annotated[bool, typer.Option("--init", help="Write a draft mapping for the logs.")] = False,
    format: Annotated[  # noqa: A002
        list[str] | None, typer.Option(metavar="NAME", help="Read only this format; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. Default: losslake.toml beside the logs.")
    ] = None,
) -> None:
    """Check the mapping of some logs, or draft one.

    A mapping states what the logs don't: collection, dataset, model, optimizer, batch size, metrics. 'losslake ingest
    --dry-run' shows the result for the logs.
    """
    from losslake_ingest.mapping.mapping import MAPPING_NAME, load_mapping
    from losslake_ingest.pipeline.mapping_draft import draft_mapping

    if init:
        written = draft_mapping(path, tuple(format or ()), output)
        echo(f"wrote {written}: complete it, then run 'losslake ingest {path} --map {written} --dry-run'")
        return
    place = Path(path)
    file = place / MAPPING_NAME if place.is_dir() else place if place.suffix == ".toml" else place.parent / MAPPING_NAME
    load_mapping(file)
    echo(f"{file} is valid: 'losslake ingest PATH --map {file} --dry-run' shows the result for the logs")


COLUMNS = ("format", "reads", "needs")


def formats(
    format: Annotated[TextFormat, typer.Option(help="Output format.")] = "table",  # noqa: A002
) -> None:
    """List the supported log formats.

    For each format, the files it reads and what a mapping must state.
    """
    from losslake_ingest.formats.format import formats as installed

    rows = [(one.name, one.reads, one.needs) for one in installed().values()]
    if format != "table":
        print_rows(COLUMNS, rows, format)
        return
    for name, reads, needs in rows:
        echo(name)
        echo(f"  reads  {reads}")
        echo(f"  needs  {needs}")
