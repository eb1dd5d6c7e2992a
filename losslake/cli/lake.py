"""The commands about a lake itself: `losslake init`, `verify`, `export`, `releases` and `ledger`."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import LakeOption, ReleaseOption, TextFormat, complain, counted, say, show_table, write_csv

if TYPE_CHECKING:
    from losslake_schema.database import Release


def init(lake: LakeOption = None) -> None:
    """Make an empty lake, or bring one up to date.

    'losslake ingest' also makes a lake if there is none.
    """
    from losslake.lake.lake import Lake

    made = Lake.migrate(lake)
    say(f"the lake is in {made}")
    say(f"next: losslake ingest PATH --lake {made.typed}")


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


def releases(
    lake: LakeOption = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that were unlisted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, digests in full.")] = False,
) -> None:
    """List the releases, newest first."""
    from losslake.lake.lake import Lake

    found = Lake.open(lake).releases(unlisted=every)
    if as_json:
        names = ("number", "notes", "content_digest", "n_studies", "n_trials", "n_evaluations", "n_measurements")
        rows = [
            {n: getattr(r, n) for n in names} | {"created_at": r.created_at.isoformat()} | _unlisted(r) for r in found
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    if not found:
        say("no release yet: ingest something first")
        return
    columns = ("release", "created (UTC)", "studies", "trials", "evaluations", "measurements", "digest", "notes")
    show_table(
        columns,
        [
            (
                r.number,
                f"{r.created_at:%Y-%m-%d %H:%M:%S}",
                r.n_studies,
                r.n_trials,
                r.n_evaluations,
                r.n_measurements,
                r.content_digest[:12],
                f"(unlisted {r.unlisted_at:%Y-%m-%d}) {r.notes}".strip() if r.unlisted_at else r.notes,
            )
            for r in found
        ],
    )


def _unlisted(release: Release) -> dict[str, str]:
    return {"unlisted_at": release.unlisted_at.isoformat()} if release.unlisted_at else {}


class Outcome(StrEnum):
    ingested = "ingested"
    unchanged = "unchanged"
    quarantined = "quarantined"


COLUMNS = ("offered_at", "outcome", "source", "path", "line", "rule", "reason", "study", "release", "sha256", "format")
_IN_TABLE = COLUMNS[:9]


def ledger(
    lake: LakeOption = None,
    outcome: Annotated[Outcome | None, typer.Option(help="Only these.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 100,
    format: Annotated[TextFormat, typer.Option(help="How to print.")] = TextFormat.table,  # noqa: A002
) -> None:
    """List what was ever offered and its fate.

    That is every source, its studies, and each quarantined file with the reason.
    """
    from losslake.lake.lake import Lake

    found = Lake.open(lake).ledger(outcome.value if outcome else None, limit)
    rows = [[e.offered_at.isoformat(timespec="seconds"), *(getattr(e, name) for name in COLUMNS[1:])] for e in found]
    if format is TextFormat.json:
        typer.echo(json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows], indent=2))
    elif format is TextFormat.csv:
        write_csv(sys.stdout, COLUMNS, rows)
    elif not rows:
        say("the ledger has no such entry")
    else:
        show_table(_IN_TABLE, [row[: len(_IN_TABLE)] for row in rows])
