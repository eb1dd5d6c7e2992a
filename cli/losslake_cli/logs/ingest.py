"""`losslake ingest`, its report and the output of --dry-run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import EngineOption, LakeOption, echo, echo_some, find_lake, print_error
from losslake_cli.table import show_table
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted
from losslake_schema.statuses import COMPLETE

if TYPE_CHECKING:
    from losslake.lake.lake import Lake
    from losslake_ingest.contracts.report import Quarantined, SourceReport, Summary
    from losslake_ingest.pipeline.engine import Engine
    from losslake_ingest.pipeline.reading import Request
    from losslake_ingest.plan import IngestPlan
    from losslake_ingest.sources.member import SourceFile
    from losslake_schema.names import Trial
    from losslake_schema.release import Release


MOST_REASONS = 10
MOST_REMARKS = 20
MAX_GB = 20.0


def ingest(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...", help="Folders, tars (.bz2 .gz .xz .zst), zips, single logs or database URLs."
        ),
    ] = None,
    lake: LakeOption = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of an archive or log, read while it is downloaded.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="Expected sha256 of --url; if it differs, nothing is stored.")
    ] = None,
    max_gb: Annotated[
        float, typer.Option("--max-gb", metavar="GB", min=0, help="Maximum size of --url in gigabytes, as downloaded.")
    ] = MAX_GB,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Let redirects of --url lead to loopback and private addresses.")
    ] = False,
    collection: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the collection; overrides folder and mapping.")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE|NAME",
            help="Mapping: a file or a bundled one. Default: losslake.toml beside the logs.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option(metavar="NAME", help="Read only this format; repeatable. Default: detected from the files."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing, print what would be ingested.")] = False,
    notes: Annotated[str, typer.Option(metavar="TEXT", help="A note for the release.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
    engine: EngineOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 1 if anything is quarantined.")] = False,
    each: Annotated[
        bool, typer.Option("--each", help="Publish each PATH as a release of its own, and report each in one line.")
    ] = False,
) -> None:
    """Ingest training logs and publish a release.

    Creates the lake if it doesn't exist. 'losslake formats' lists the supported formats. Bad trials are quarantined
    with a reason and never block good ones. Ingesting the same bytes again changes nothing.
    """
    from losslake_ingest.pipeline.reading import Request

    request = Request(collection, mapping, tuple(format or ()))
    options = IngestOptions(dry_run, notes, quiet, strict, engine)
    if url is not None:
        ingest_url(paths or [], url, sha256, lake, request, options, max_gb=max_gb, allow_private=allow_private)
        return
    if sha256 is not None:
        raise LossLakeError("--sha256 applies to --url only: leave it out for local files")
    if not paths:
        raise LossLakeError("nothing to ingest: give a PATH or --url")
    if each and not dry_run:
        ingest_each(paths, lake, request, options)
    else:
        ingest_sources(paths, lake, request, options)


@dataclass(frozen=True)
class IngestOptions:
    """The options of running and reporting an ingest."""

    dry_run: bool = False
    notes: str = ""
    quiet: bool = False
    strict: bool = False
    engine: str | None = None


def ingest_url(
    paths: Sequence[str],
    url: str,
    sha256: str | None,
    lake: str | None,
    request: Request,
    options: IngestOptions,
    *,
    max_gb: float = MAX_GB,
    allow_private: bool = False,
    top: str | None = None,
) -> None:
    """Ingest the paths, then the archive at a URL; raise the errors of `ingest_sources`, and RemoteError.

    top: the name of the repository that the URL has at a commit, which becomes that of the archive's top folder.
    """
    from losslake.client.client import Client
    from losslake_cli.logs.remote_archive import RemoteArchive

    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise LossLakeError("--sha256 must be 64 hexadecimal digits, as printed by sha256sum")
    if sha256 is None and top is None:
        print_error("warning: the download is not verified: give --sha256 if its publisher states it")
    expected = sha256.lower() if sha256 is not None else None
    with (
        Client(to_private=allow_private) as client,
        RemoteArchive(client, url, expected, max_gb * 10**9, top) as archive,
    ):
        ingest_sources([*paths, archive], lake, request, options)
        if expected is None and top is None:
            echo(f"sha256       {archive.sha256()}: with --sha256, the same command gets the same bytes, or nothing")


def ingest_sources(
    places: Sequence[str | SourceFile], lake: str | None, request: Request, options: IngestOptions
) -> None:
    """Ingest the sources and print a report; exit with status 1 if a source was damaged."""
    check_sources(places, request)
    if options.dry_run:
        show_dry_run(lake, places, request)
        return
    summary = run_ingest(places, lake, request, options)
    report(summary)
    print_mapping_hint(places, summary)
    if summary.broken or (options.strict and summary.quarantined):
        raise typer.Exit(1)


def ingest_each(paths: Sequence[str], lake: str | None, request: Request, options: IngestOptions) -> None:
    """Ingest the sources one after the other, and print a line for each; exit with status 1 if one was damaged."""
    is_faulty = False
    for path in paths:
        try:
            check_sources([path], request)
            summary = run_ingest([path], lake, request, options)
        except LossLakeError as error:
            print_error(str(error))
            is_faulty = True
            continue
        for broken in summary.broken:
            print_error(broken)
        is_faulty |= bool(summary.broken or (options.strict and summary.quarantined))
        trials, studies = summary.trials_ingested, summary.studies_ingested
        if not summary.published:
            trials, studies = summary.trials_unchanged, summary.studies_unchanged
        outcome = f"release {summary.release}" if summary.published else "nothing new"
        counts = f"{counted(trials, 'trial')} in {counted(studies, 'study')}, {len(summary.quarantined):,} quarantined"
        echo(f"{Path(path).name}: {outcome}, {counts}, {summary.seconds:.1f} s")
    if is_faulty:
        raise typer.Exit(1)


def check_sources(places: Sequence[str | SourceFile], request: Request) -> None:
    """Raise the errors of sources, formats and mappings, before a lake is created."""
    from losslake_ingest.pipeline.reading import open_sources

    for source in open_sources(places, request):
        request.formats_for(request.mapping_for(source.path))


def run_ingest(
    places: Sequence[str | SourceFile], lake: str | None, request: Request, options: IngestOptions
) -> Summary:
    """Ingest the sources, creating the lake if it doesn't exist, and show progress."""
    from losslake.lake.lake import Lake
    from losslake_cli.progress import progress
    from losslake_ingest.run import ingest as run

    _check_for_logs(places, lake, request)
    opened = Lake.create(lake)
    with _engine(options.engine, opened) as engine, progress(options.quiet) as reporter:
        return run(opened, places, request, options.notes, reporter, engine, build=_build_if_used)


def _build_if_used(lake: Lake, base: Release, release: Release) -> None:
    from losslake.index.serving import build_if_used

    build_if_used(lake, base, release)


def _check_for_logs(places: Sequence[str | SourceFile], lake: str | None, request: Request) -> None:
    """Raise LossLakeError if a lake would be created for folders and files without a log of a known format."""
    from losslake_ingest.bundles.reading import reading_of
    from losslake_ingest.contracts.rules import SourceBroken
    from losslake_ingest.pipeline.gather import Stored
    from losslake_ingest.pipeline.reading import open_sources

    if not all(isinstance(place, str) for place in places):
        return
    if find_lake(lake) is not None:
        return
    nothing = Stored(None, [])
    readings = [reading_of(source, request, nothing) for source in open_sources(places, request)]
    reports = [reading.report() for reading in readings]
    # Of a large archive only the first files were looked at.
    if any(report.files or not report.is_whole for report in reports):
        return
    for reading in readings:
        try:
            next(iter(reading.items()), None)
        except SourceBroken as error:
            raise LossLakeError(f"{reading.source.name}: {error}") from None


@contextmanager
def _engine(url: str | None, lake: Lake) -> Iterator[Engine | None]:
    """Yield the Spark engine at `url`, or None."""
    if url is None:
        yield None
        return
    from losslake.spark.session import spark_session
    from losslake_ingest.pipeline.spark_engine import SparkEngine

    with spark_session(url) as spark:
        yield SparkEngine(spark, lake.location)


def report(summary: Summary) -> None:
    """Print the outcome of an ingest."""
    for source in summary.sources:
        print_source(source)
    echo(f"ingested     {counted(summary.trials_ingested, 'trial')} in {counted(summary.studies_ingested, 'study')}")
    echo(f"             {counted(summary.evaluations, 'evaluation')}, {counted(summary.measurements, 'measurement')}")
    if summary.nonfinite:
        echo(f"             {summary.nonfinite:,} of them NaN or infinite: stored, but they never reach a target")
    echo(f"unchanged    {counted(summary.trials_unchanged, 'trial')} in {counted(summary.studies_unchanged, 'study')}")
    print_moved(summary.moved)
    echo(f"quarantined  {len(summary.quarantined):,}")
    print_quarantined(summary.quarantined)
    print_remarks(summary.sources)
    stored = "; the complete trials before that are stored" if summary.trials_ingested else ""
    for broken in summary.broken:
        print_error(f"{broken}{stored}")
    outcome = "published" if summary.published else "nothing new, still at"
    release = "no release" if summary.release is None else f"release {summary.release}"
    echo(f"{outcome} {release} in {summary.seconds:.1f} s")


def print_moved(moved: Mapping[Trial, Trial]) -> None:
    """Print from where to where trials moved, by study."""
    studies = Counter((old.study, new.study) for old, new in moved.items())
    lines = [
        f"moved        {counted(count, 'trial')} from {old} to {new}; earlier releases keep them"
        for (old, new), count in studies.most_common()
    ]
    echo_some(lines, "more studies: losslake ledger --outcome moved", MOST_REASONS)


def print_mapping_hint(places: Sequence[str | SourceFile], summary: Summary) -> None:
    """Print how to draft or complete a mapping if runs of logs lack fields: no mapping helps a bundle."""
    from losslake_ingest.bundles.reading import QUARANTINED_BEFORE
    from losslake_ingest.contracts.rules import Rule

    lacking = [reason for reason in summary.quarantined if reason.rule in (Rule.MISSING_FACT, Rule.STEP_UNKNOWN)]
    bundles = {source.source for source in summary.sources if "bundle" in source.files}
    places = [place for place in places if not (isinstance(place, str) and str(Path(place)) in bundles)]
    if places and any(reason.message != QUARANTINED_BEFORE for reason in lacking):
        if any(source.mapping for source in summary.sources):
            echo("hint         the same command with --dry-run shows every line that the mapping needs")
        elif isinstance(places[0], str):
            echo(f"hint         'losslake map --init {places[0]}' drafts a mapping")


def print_quarantined(quarantined: Sequence[Quarantined], *, is_dry_run: bool = False) -> None:
    """Print the reasons for quarantine, grouped. After a dry run there is no ledger with all of them."""
    groups: dict[tuple[str, str], list[Quarantined]] = {}
    for reason in quarantined:
        groups.setdefault((reason.rule, reason.message), []).append(reason)
    for same in list(groups.values())[:MOST_REASONS]:
        echo(f"  {same[0]}")
        if len(same) > 1:
            echo(f"    and {len(same) - 1:,} more for the same reason, up to {same[-1].path}")
    if len(groups) > MOST_REASONS:
        rules = Counter(reason.rule for same in list(groups.values())[MOST_REASONS:] for reason in same)
        more = ", ".join(f"{count:,} x {rule}" for rule, count in rules.most_common())
        where = "" if is_dry_run else ": losslake ledger --outcome quarantined"
        echo(f"  … and {len(groups) - MOST_REASONS:,} more reasons ({more}){where}")


def print_source(source: SourceReport) -> None:
    """Print one line about the formats of a source and one about its mapping."""
    at_least = "" if source.is_whole else "at least "
    counts = [f"{name} ({at_least}{counted(files, 'file')})" if files else name for name, files in source.files.items()]
    others = f"; {counted(source.other_files, 'other file')}" if source.other_files else ""
    excluded = f"; {counted(source.excluded_files, 'file')} excluded by the mapping" if source.excluded_files else ""
    echo(f"read         {source.source}: {', '.join(counts) or 'no log in a known format'}{others}{excluded}")
    if source.mapping is not None:
        echo(f"mapping      {source.mapping}")


def print_remarks(sources: Sequence[SourceReport]) -> None:
    """Print the remarks of the readers, most frequent first."""
    remarks = sum((Counter(dict(source.remarks)) for source in sources), Counter())
    if remarks:
        echo("remarks")
    lines = [f"  {count:,} x {sentence}" for sentence, count in remarks.most_common()]
    echo_some(lines, "more remarks", MOST_REMARKS)
    print_ignored_columns(sources)


def print_ignored_columns(sources: Sequence[SourceReport]) -> None:
    """Print the columns that were ignored because the mapping does not name them."""
    columns = sum((Counter(dict(source.left_out)) for source in sources), Counter())
    if columns:
        names = [f"{name} ({counted(runs, 'run')})" for name, runs in columns.most_common(MOST_REMARKS)]
        more = f" and {len(columns) - MOST_REMARKS:,} more" if len(columns) > MOST_REMARKS else ""
        them = "it" if len(columns) == 1 else "them"
        echo(f"ignored      {', '.join(names)}{more}: no line under [metrics] in the mapping names {them}")


MOST_STUDIES = 50
MOST_MISSING = 40


def show_dry_run(lake: str | None, places: Sequence[str | SourceFile], request: Request) -> None:
    """Print the studies that an ingest would store, the first rows, and what is missing with the line that adds it."""
    from losslake_ingest.plan import plan_ingest

    ingest_plan = plan_ingest(find_lake(lake), places, request)
    for source in ingest_plan.sources:
        print_source(source)
    _show_studies(ingest_plan)
    _show_first_rows(ingest_plan)
    _show_collections_and_goals(ingest_plan)
    print_remarks(ingest_plan.sources)
    print_moved(ingest_plan.moved)
    echo(f"quarantined  {len(ingest_plan.quarantined):,}")
    print_quarantined(ingest_plan.quarantined, is_dry_run=True)
    _show_missing_fields(ingest_plan)
    for broken in ingest_plan.broken:
        print_error(broken)
    trials = sum(plan.trials for plan in ingest_plan.studies.values())
    echo(f"nothing was stored: would ingest {counted(trials, 'trial')} in {counted(len(ingest_plan.studies), 'study')}")
    if ingest_plan.broken:
        raise typer.Exit(1)


def _show_studies(ingest_plan: IngestPlan) -> None:
    columns = ("study", "unit", "trials", "complete", "evaluations", "metrics")
    plans = sorted(ingest_plan.studies.items())
    rows = [
        (str(study), p.batch_unit, p.trials, p.statuses[COMPLETE], p.evaluations, ", ".join(sorted(p.metrics)))
        for study, p in plans[:MOST_STUDIES]
    ]
    if rows:
        show_table(columns, rows)
    if len(plans) > MOST_STUDIES:
        echo(f"… and {counted(len(plans) - MOST_STUDIES, 'more study')}")


def _show_first_rows(ingest_plan: IngestPlan) -> None:
    study = min(ingest_plan.studies, default=None)
    if study is not None and (rows := ingest_plan.studies[study].first_rows):
        metrics = list(rows[0][2])
        echo(f"first rows of {study}")
        cells = [(trial_id, step, *(values[each] for each in metrics)) for trial_id, step, values in rows]
        show_table(("trial_id", "step", *metrics), cells)


def _show_collections_and_goals(ingest_plan: IngestPlan) -> None:
    for collection in ingest_plan.collections.values():
        licence = collection.licence or 'not stated: add licence = "…" under [collection]'
        echo(f"collection   {collection.collection}: licence {licence}")
    for goal in list(ingest_plan.goals)[:MOST_STUDIES]:
        echo(f"goal         {goal.workload}: {goal.metric} {goal.target:g} ({goal.source})")
    for metric, direction in sorted(ingest_plan.directions):
        echo(f"direction    {metric}: {direction}, as the mapping says")


def _show_missing_fields(ingest_plan: IngestPlan) -> None:
    missing = ingest_plan.missing.most_common()
    if missing:
        echo("missing in the mapping (losslake.toml beside the logs, or --map FILE)")
    for field, runs in missing[:MOST_MISSING]:
        echo(f"  {counted(runs, 'run')}: {field.what}")
        for line in field.add.splitlines():
            echo(f"      {line}")
    if len(missing) > MOST_MISSING:
        echo(f"  … and {len(missing) - MOST_MISSING:,} more")
