"""`losslake ingest`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.console import LakeOption, complain, counted, say

if TYPE_CHECKING:
    from ingest.report import Quarantined, SourceReport, Summary

MOST_REASONS = 10
MOST_REMARKS = 20


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Folders, tars (.bz2 .gz .xz .zst), zips, single logs, database URLs."),
    ],
    lake: LakeOption = None,
    collection: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the collection, whatever folder or mapping say.", show_default=False
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE|NAME",
            help="The mapping. Default: losslake.toml beside the logs.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option(metavar="NAME", help="Read only this format; repeatable. Default: told by the files."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing: print what would be ingested.")] = False,
    notes: Annotated[str, typer.Option(metavar="TEXT", help="A note for the release.", show_default=False)] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also when something was quarantined.")] = False,
) -> None:
    """Take in training logs and publish a release.

    Makes the lake if there is none. 'losslake formats' lists what can be read. Bad trials are quarantined with a reason
    and never block the good ones. The same bytes again change nothing.
    """
    from ingest.report import Silence
    from ingest.request import Request
    from ingest.run import ingest as run
    from ingest.sources.open import open_source
    from losslake.progress import progress
    from schema.lake import Lake

    request = Request(collection, mapping, tuple(format or ()))
    for path in paths:  # said before a lake is made in vain
        source = open_source(path)
        request.formats_for(request.mapping_for(source.path))
    if dry_run:
        from losslake.dry_run import show_dry_run

        show_dry_run(lake, paths, request)
        return
    opened = Lake.create(lake)
    with progress() as heard:
        summary = run(opened, paths, request, notes, Silence() if quiet else heard)
    report(summary)
    hint_at_mapping(paths, summary)
    if summary.broken or (strict and summary.quarantined):
        raise typer.Exit(1)


def report(summary: Summary) -> None:
    """Print what became of everything that was offered."""
    for source in summary.sources:
        say_source(source)
    say(f"ingested     {counted(summary.trials_ingested, 'trial')} in {counted(summary.studies_ingested, 'study')}")
    say(f"             {counted(summary.evaluations, 'evaluation')}, {counted(summary.measurements, 'measurement')}")
    if summary.nonfinite:
        say(f"             {summary.nonfinite:,} of them NaN or infinite: kept, they never reach a target")
    say(f"unchanged    {counted(summary.trials_unchanged, 'trial')} in {counted(summary.studies_unchanged, 'study')}")
    say(f"quarantined  {len(summary.quarantined):,}")
    say_quarantined(summary.quarantined)
    say_remarks(summary.sources)
    for broken in summary.broken:
        complain(f"{broken}; what was whole before is stored")
    what = "published" if summary.published else "nothing new, still at"
    release = "no release" if summary.release is None else f"release {summary.release}"
    say(f"{what} {release} in {summary.seconds:.1f} s")


def hint_at_mapping(paths: Sequence[str], summary: Summary) -> None:
    """Where runs lack facts: how to get a mapping, or to see what the one there lacks."""
    from ingest.rules import Rule

    if any(reason.rule in (Rule.MISSING_FACT, Rule.STEP_UNKNOWN) for reason in summary.quarantined):
        if any(source.mapping for source in summary.sources):
            say("hint         the same command with --dry-run shows every line that the mapping lacks")
        else:
            say(f"hint         'losslake map --init {paths[0]}' writes a mapping to start from")


def say_quarantined(quarantined: Sequence[Quarantined]) -> None:
    """The reasons, those for the same thing together."""
    together: dict[tuple[str, str], list[Quarantined]] = {}
    for reason in quarantined:
        together.setdefault((reason.rule, reason.message), []).append(reason)
    for same in list(together.values())[:MOST_REASONS]:
        say(f"  {same[0]}")
        if len(same) > 1:
            say(f"    and {len(same) - 1:,} more for the same reason, up to {same[-1].path}")
    if len(together) > MOST_REASONS:
        say(f"  … and {len(together) - MOST_REASONS:,} more reasons: losslake ledger --outcome quarantined")


def say_source(source: SourceReport) -> None:
    """One line about the formats that a source is in, and one about its mapping."""
    at_least = "" if source.is_whole else "at least "
    counts = [f"{name} ({at_least}{counted(files, 'file')})" if files else name for name, files in source.files.items()]
    others = f"; {counted(source.other_files, 'other file')}" if source.other_files else ""
    excluded = f"; {counted(source.excluded_files, 'file')} left out by the mapping" if source.excluded_files else ""
    say(f"read         {source.source}: {', '.join(counts) or 'no log of a known format'}{others}{excluded}")
    if source.mapping is not None:
        say(f"mapping      {source.mapping}")


def say_remarks(sources: Sequence[SourceReport]) -> None:
    """What the readers had to decide, the most frequent first."""
    counts: Counter[str] = Counter()
    for source in sources:
        counts.update(dict(source.remarks))
    found = counts.most_common()
    if found:
        say("noted")
    for sentence, count in found[:MOST_REMARKS]:
        say(f"  {count:,} x {sentence}")
    if len(found) > MOST_REMARKS:
        say(f"  … and {len(found) - MOST_REMARKS:,} more kinds")
    say_left_out(sources)


def say_left_out(sources: Sequence[SourceReport]) -> None:
    """The columns that were not taken in, because nothing says what they are."""
    counts: Counter[str] = Counter()
    for source in sources:
        counts.update(dict(source.left_out))
    if counts:
        names = [f"{name} ({counted(runs, 'run')})" for name, runs in counts.most_common(MOST_REMARKS)]
        more = f" and {len(counts) - MOST_REMARKS:,} more" if len(counts) > MOST_REMARKS else ""
        say(f"left out     {', '.join(names)}{more}: no line of [metrics] in the mapping says what they are")
