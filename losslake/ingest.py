"""`losslake ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.console import LakeOption, complain, counted, say

if TYPE_CHECKING:
    from ingest.report import Summary

MOST_REASONS = 10


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders, tars (.bz2 .gz .xz .zst) or zips.")],
    lake: LakeOption = None,
    collection: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the collection, instead of the top folder's.", show_default=False),
    ] = None,
    notes: Annotated[str, typer.Option(metavar="TEXT", help="A note for the release.", show_default=False)] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also when something was quarantined.")] = False,
) -> None:
    """Take in training logs and publish a release.

    Makes the lake if there is none. Bad trials are quarantined with a reason and never block the good ones. The same
    bytes again change nothing.
    """
    from ingest.errors import UnknownSource
    from ingest.report import Silence
    from ingest.run import ingest as run
    from losslake.progress import progress
    from schema.lake import Lake

    for path in paths:
        if not path.exists():  # said before a lake is made in vain
            raise UnknownSource(f"there is nothing at {path}: give a folder or an archive")
    opened = Lake.create(lake)
    with progress() as heard:
        summary = run(opened, paths, collection, notes, Silence() if quiet else heard)
    _report(summary)
    if summary.broken or (strict and summary.quarantined):
        raise typer.Exit(1)


def _report(summary: Summary) -> None:
    say(f"ingested     {counted(summary.trials_ingested, 'trial')} in {counted(summary.studies_ingested, 'study')}")
    say(f"             {counted(summary.evaluations, 'evaluation')}, {counted(summary.measurements, 'measurement')}")
    if summary.nonfinite:
        say(f"             {summary.nonfinite:,} of them NaN or infinite: kept, they never reach a target")
    say(f"unchanged    {counted(summary.trials_unchanged, 'trial')} in {counted(summary.studies_unchanged, 'study')}")
    say(f"quarantined  {len(summary.quarantined):,}")
    for reason in summary.quarantined[:MOST_REASONS]:
        say(f"  {reason}")
    if len(summary.quarantined) > MOST_REASONS:
        more = len(summary.quarantined) - MOST_REASONS
        say(f"  … and {more:,} more: losslake ledger --outcome quarantined")
    for broken in summary.broken:
        complain(f"{broken}; what was whole before is stored")
    what = "published" if summary.published else "nothing new, still at"
    release = "no release" if summary.release is None else f"release {summary.release}"
    say(f"{what} {release} in {summary.seconds:.1f} s")
