"""`losslake verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake.cli.console import LakeOption, ReleaseOption, complain, counted, say


def verify(
    lake: LakeOption = None,
    release: ReleaseOption = None,
    every: Annotated[bool, typer.Option("--all", help="Every release, not only one.")] = False,
) -> None:
    """Check every file of a release again.

    Each data file is re-read against its size, digest and row count, and Iceberg's list of files against the release's.
    Exits with 1 if anything differs.
    """
    from losslake.cli.progress import counting
    from losslake.lake.lake import Lake
    from losslake.lake.verification import verify as check

    opened = Lake.open(lake)
    is_whole = True
    for number in [r.number for r in opened.releases()] if every else [opened.release(release).number]:
        with counting(f"release {number}") as heard:
            found = check(opened, opened.release(number), heard)
        is_whole &= not found.problems
        for problem in found.problems:
            complain(problem)
        verdict = "is whole" if not found.problems else f"has {counted(len(found.problems), 'problem')}"
        read = f"{counted(found.files, 'file')}, {found.bytes:,} bytes, {counted(found.rows, 'row')}"
        say(f"release {number} {verdict}: {read}")
    if not is_whole:
        raise typer.Exit(1)
