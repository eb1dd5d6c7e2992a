"""`losslake ingest`, with its report and what --dry-run prints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import EngineOption, LakeOption, complain, counted, say, show_table
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.lake.lake import Lake
    from losslake_ingest.engine import Engine
    from losslake_ingest.reading import Request
    from losslake_ingest.rehearsal import Rehearsal
    from losslake_ingest.report import Quarantined, SourceReport, Summary
    from losslake_ingest.sources.member import SourceFile


MOST_REASONS = 10
MOST_REMARKS = 20


def ingest(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...",
            help="Folders, tars (.bz2 .gz .xz .zst), zips, single logs, database URLs.",
            show_default=False,
        ),
    ] = None,
    lake: LakeOption = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="An archive or log on the web, read while it comes.", show_default=False),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option(
            metavar="HEX", help="What the sha256 of --url has to be; else nothing is stored.", show_default=False
        ),
    ] = None,
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
    engine: EngineOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also when something was quarantined.")] = False,
) -> None:
    """Take in training logs and publish a release.

    Makes the lake if there is none. 'losslake formats' lists what can be read. Bad trials are quarantined with a reason
    and never block the good ones. The same bytes again change nothing.
    """
    from losslake_ingest.reading import Request

    request = Request(collection, mapping, tuple(format or ()))
    if url is not None:
        ingest_url(paths or [], url, sha256, lake, request, Manner(dry_run, notes, quiet, strict, engine))
        return
    if sha256 is not None:
        raise LossLakeError("--sha256 is for --url: what lies on a disk is read as it is")
    if not paths:
        raise LossLakeError("nothing is offered: give a PATH, or --url")
    ingest_places(paths, lake, request, Manner(dry_run, notes, quiet, strict, engine))


@dataclass(frozen=True)
class Manner:
    """How an ingest is run and reported."""

    dry_run: bool = False
    notes: str = ""
    quiet: bool = False
    strict: bool = False
    engine: str | None = None


def ingest_url(
    paths: Sequence[str], url: str, sha256: str | None, lake: str | None, request: Request, manner: Manner
) -> None:
    """Ingest an archive from the web after what is at the paths; raises what `ingest_places` does, and RemoteError."""
    from losslake.cli.remote_archive import RemoteArchive
    from losslake.client.client import Client

    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise LossLakeError("--sha256 takes the 64 hexadecimal digits that sha256sum prints")
    if sha256 is None:
        complain("warning: nothing vouches for the bytes that come: give --sha256 if their publisher names it")
    promised = sha256.lower() if sha256 is not None else None
    with Client() as client, RemoteArchive(client, url, promised) as archive:
        ingest_places([*paths, archive], lake, request, manner)


def ingest_places(places: Sequence[str | SourceFile], lake: str | None, request: Request, manner: Manner) -> None:
    """Ingest what is at the places and print what became of it; Exit with 1 when something of it was broken."""
    from losslake.cli.progress import progress
    from losslake.lake.lake import Lake
    from losslake_ingest.report import Silence
    from losslake_ingest.run import ingest as run
    from losslake_ingest.sources.open import open_source

    for place in places:  # said before a lake is made in vain
        source = open_source(place)
        request.formats_for(request.mapping_for(source.path))
    if manner.dry_run:
        show_dry_run(lake, places, request)
        return
    opened = Lake.create(lake)
    with _engine(manner.engine, opened) as engine, progress() as heard:
        summary = run(opened, places, request, manner.notes, Silence() if manner.quiet else heard, engine)
    report(summary)
    hint_at_mapping(places, summary)
    if summary.broken or (manner.strict and summary.quarantined):
        raise typer.Exit(1)


@contextmanager
def _engine(url: str | None, lake: Lake) -> Iterator[Engine | None]:
    """The cluster that converts, if there is to be one."""
    if url is None:
        yield None
        return
    from losslake.spark.session import spark_session
    from losslake_ingest.spark.engine import SparkEngine

    with spark_session(url) as spark:
        yield SparkEngine(spark, lake.location)


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


def hint_at_mapping(places: Sequence[str | SourceFile], summary: Summary) -> None:
    """Where runs lack facts: how to get a mapping, or to see what the one there lacks."""
    from losslake_ingest.rules import Rule

    if any(reason.rule in (Rule.MISSING_FACT, Rule.STEP_UNKNOWN) for reason in summary.quarantined):
        if any(source.mapping for source in summary.sources):
            say("hint         the same command with --dry-run shows every line that the mapping lacks")
        elif isinstance(places[0], str):
            say(f"hint         'losslake map --init {places[0]}' writes a mapping to start from")


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


MOST_STUDIES = 50
MOST_LACKS = 40


def show_dry_run(lake: str | None, places: Sequence[str | SourceFile], request: Request) -> None:
    """Print the studies that an ingest would store, the first rows, and what is missing with the line that adds it."""
    from losslake.lake.lake import Lake
    from losslake_ingest.rehearsal import rehearse
    from losslake_schema.errors import LakeNotFound

    try:
        opened = Lake.open(lake)
    except LakeNotFound:
        opened = None
    found = rehearse(opened, places, request)
    for source in found.sources:
        say_source(source)
    _show_studies(found)
    _show_first_rows(found)
    _show_collections_and_goals(found)
    say_remarks(found.sources)
    say(f"quarantined  {len(found.quarantined):,}")
    say_quarantined(found.quarantined)
    _show_lacks(found)
    for broken in found.broken:
        complain(f"{broken}; what was whole before would be stored")
    trials = sum(plan.trials for plan in found.studies.values())
    say(f"nothing was stored: would ingest {counted(trials, 'trial')} in {counted(len(found.studies), 'study')}")


def _show_studies(found: Rehearsal) -> None:
    columns = ("study", "unit", "trials", "complete", "evaluations", "metrics")
    plans = sorted(found.studies.items())
    rows = [
        (str(study), p.batch_unit, p.trials, p.statuses["COMPLETE"], p.evaluations, ", ".join(sorted(p.metrics)))
        for study, p in plans[:MOST_STUDIES]
    ]
    if rows:
        show_table(columns, rows)
    if len(plans) > MOST_STUDIES:
        say(f"… and {counted(len(plans) - MOST_STUDIES, 'more study')}")


def _show_first_rows(found: Rehearsal) -> None:
    for study, plan in sorted(found.studies.items())[:1]:
        if plan.first_rows:
            metrics = list(plan.first_rows[0][2])
            say(f"first rows of {study}")
            show_table(
                ("trial_id", "step", *metrics), [(t, s, *(v[m] for m in metrics)) for t, s, v in plan.first_rows]
            )


def _show_collections_and_goals(found: Rehearsal) -> None:
    for facts in found.collections.values():
        licence = facts.licence or 'not stated: add licence = "…" under [collection]'
        say(f"collection   {facts.collection}: licence {licence}")
    goals = list(found.goals)
    for goal in goals[:MOST_STUDIES]:
        say(f"goal         {goal.workload}: {goal.metric} {goal.target:g} ({goal.source})")


def _show_lacks(found: Rehearsal) -> None:
    lacks = found.missing.most_common()
    if lacks:
        say("missing in the mapping (losslake.toml beside the logs, or --map FILE)")
    for lack, runs in lacks[:MOST_LACKS]:
        say(f"  {counted(runs, 'run')}: {lack.what}")
        say(f"      {lack.add}")
    if len(lacks) > MOST_LACKS:
        say(f"  … and {len(lacks) - MOST_LACKS:,} more")
