"""`losslake export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from losslake.cli.console import LakeOption, ReleaseOption, say


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    lake: LakeOption = None,
    release: ReleaseOption = None,
    link: Annotated[bool, typer.Option("--link", help="Hard links, no copies: then never edit them.")] = False,
) -> None:
    """Write a release as a plain folder.

    It holds Hive-partitioned Parquet files for any tool, SHA256SUMS, and a README.md that says how to read them;
    CITATION.cff and LICENSES say how to cite and use them, croissant.json describes them to machines.
    """
    from losslake.cli.progress import counting
    from losslake.lake.export import export as write
    from losslake.lake.lake import Lake

    opened = Lake.open(lake)
    chosen = opened.release(release)
    with counting(f"release {chosen.number}") as heard:
        count = write(opened, chosen, folder.expanduser().absolute(), link, heard)
    say(f"release {chosen.number}: {count:,} files in {folder}; check them there with: sha256sum -c SHA256SUMS")
