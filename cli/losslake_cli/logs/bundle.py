"""The command `losslake bundle`, which makes the bundles of published collections from their logs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import echo
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake_ingest.publication import Difference

MOST_SHOWN = 50


def bundle(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of collections: losslake.toml and SOURCE.toml.")
    ],
    logs: Annotated[Path, typer.Option(metavar="DIR", help="The folder that all logs are in.")],
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; say what the logs would change, and exit with 1 if they would."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Build the bundles of collections from their logs.

    The bundle of DIR is DIR/NAME.tar, where NAME is that of DIR; it is the same each time, byte for byte. 'losslake
    ingest' reads it.
    """
    from losslake_cli.progress import progress
    from losslake_ingest.publication import build, bundle_path, compare

    differs = False
    for folder in folders:
        target = bundle_path(folder)
        with tempfile.TemporaryDirectory(prefix="losslake-bundle-") as scratch, progress(quiet) as reporter:
            written = Path(scratch) / target.name if check else target.with_suffix(".new")
            try:
                summary = build(folder, logs, written, reporter)
                difference = compare(target, written)
                is_new = not target.exists()
                is_same = target.exists() and target.read_bytes() == written.read_bytes()
                differs |= not is_same
                size = written.stat().st_size
                if not check:
                    written.replace(target)
            finally:
                written.unlink(missing_ok=True)
        counts = f"{counted(summary.trials_ingested, 'trial')} in {counted(summary.studies_ingested, 'study')}"
        echo(f"{target.name}: {counts}, {size:,} bytes; quarantined {len(summary.quarantined):,}")
        if not is_new:
            show_difference(difference, is_same)
    if check and differs:
        raise typer.Exit(1)


def show_difference(difference: Difference, is_same: bool) -> None:
    """Print the studies that were added, changed, or are gone."""
    if is_same:
        echo("  the same bytes as before")
        return
    for what, studies in vars(difference).items():
        if studies:
            echo(f"  {what}: {counted(len(studies), 'study')}")
        for study in studies[:MOST_SHOWN]:
            echo(f"    {study}")
        if len(studies) > MOST_SHOWN:
            echo(f"    … and {len(studies) - MOST_SHOWN:,} more")
    if not any(vars(difference).values()):
        echo("  no study differs: paths, notes or metadata do")
