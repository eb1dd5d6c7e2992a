"""The commands about a lake: `losslake init`, `verify`, `export`, `releases` and `ledger`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from losslake_cli.console import LakeOption, ReleaseOption, TextFormat, echo, open_lake, print_error
from losslake_cli.table import print_rows, show_table
from losslake_schema.quantities import counted


def init(
    lake: LakeOption = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Convert a lake of an older layout, exactly, without its logs.")
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Let ingests change a lake whose folder was moved or copied here.")
    ] = False,
) -> None:
    """Create an empty lake.

    'losslake ingest' also creates the lake if it doesn't exist. --rewrite keeps numbers, times, digests and values of
    all listed releases; stop ingests and services of the older LossLake first. It needs as much free space as the lake
    takes; 'losslake maintain' then deletes the old files. --adopt writes new lists of the same files. If either is
    interrupted, the lake is unchanged: run it again.
    """
    from losslake.lake.lake import Lake

    if adopt:
        from losslake_ingest.releases.rewriting import adopt_moved

        opened = adopt_moved(lake)
    elif rewrite:
        from losslake_cli.progress import counting
        from losslake_ingest.releases.rewriting import rewrite as convert

        with counting("the lake") as report:
            opened = convert(lake, report)
    else:
        opened = Lake.create(lake)
    echo(f"the lake is in {opened}")
    echo(f"next: losslake ingest PATH --lake {opened.as_argument}")


def verify(
    lake: LakeOption = None,
    release: ReleaseOption = None,
    every: Annotated[bool, typer.Option("--all", help="Verify every release, not only one.")] = False,
) -> None:
    """Verify every file of a release.

    Checks the size, sha256 and row count of each data file, and compares Iceberg's list of files with the release's.
    Exits with status 1 if anything differs.
    """
    from losslake.lake.verification import Checked
    from losslake.lake.verification import verify as check
    from losslake_cli.progress import counting

    opened = open_lake(lake)
    is_intact, checked = True, Checked()
    for number in [r.number for r in opened.releases()] if every else [opened.release(release).number]:
        with counting(f"release {number}") as report:
            result = check(opened, opened.release(number), report, checked)
        is_intact &= not result.problems
        for problem in result.problems:
            print_error(problem)
        verdict = "is intact" if not result.problems else f"has {counted(len(result.problems), 'problem')}"
        read = f"{counted(result.files, 'file')}, {result.bytes:,} bytes, {counted(result.rows, 'row')}"
        echo(f"release {number} {verdict}: {read}")
    if not is_intact:
        raise typer.Exit(1)


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    lake: LakeOption = None,
    release: ReleaseOption = None,
    link: Annotated[
        bool, typer.Option("--link", help="Create hard links instead of copies; never edit these files.")
    ] = False,
    keys_in_files: Annotated[
        bool, typer.Option("--keys-in-files", help="Add the keys of a study to its files, as columns.")
    ] = False,
    hugging_face: Annotated[
        str | None,
        typer.Option("--hugging-face", metavar="OWNER/NAME", help="For this repository on the Hugging Face Hub."),
    ] = None,
) -> None:
    """Export a release to a plain folder.

    Writes Hive-partitioned Parquet files for any tool, SHA256SUMS, and a README.md that explains how to read them.
    CITATION.cff and LICENSES state how to cite and use them, croissant.json is a machine-readable description.
    --keys-in-files is for viewers that open single files, which don't see the keys in the path. --hugging-face adds a
    dataset card to that, and prints the command that publishes the folder; nothing is uploaded.
    """
    from losslake.lake.export import export as write
    from losslake_cli.progress import counting

    opened = open_lake(lake)
    selected = opened.release(release)
    with counting(f"release {selected.number}") as report:
        count = write(opened, selected, folder.expanduser().absolute(), link, keys_in_files, hugging_face, report)
    echo(f"release {selected.number}: {count:,} files in {folder}; to check them, run there: sha256sum -c SHA256SUMS")
    if hugging_face is not None:
        from losslake.lake.hugging_face import upload_command

        echo("nothing is uploaded; to publish the folder, install huggingface_hub, run 'hf auth login', then")
        echo(upload_command(hugging_face, folder))


_OF_RELEASES = (
    "number", "created_at", "n_studies", "n_trials", "n_evaluations", "n_measurements", "content_digest", "notes",
    "unlisted_at",
)  # fmt: skip


def releases(
    lake: LakeOption = None,
    every: Annotated[bool, typer.Option("--all", help="Include unlisted releases.")] = False,
    format: Annotated[TextFormat, typer.Option(help="Output format. CSV and JSON have full digests.")] = "table",  # noqa: A002
) -> None:
    """List the releases, newest first."""
    listed = open_lake(lake).releases(include_unlisted=every)
    if format != "table":
        rows = [[_plain(getattr(release, name)) for name in _OF_RELEASES] for release in listed]
        print_rows(_OF_RELEASES, rows, format)
        return
    if not listed:
        echo("no release yet: run 'losslake ingest PATH' first")
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
            for r in listed
        ],
    )


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


Outcome = Literal["ingested", "unchanged", "quarantined", "moved", "placed", "withdrawn", "restored", "erased"]
COLUMNS = ("offered_at", "outcome", "source", "path", "line", "rule", "reason", "study", "release", "sha256", "format")
_IN_TABLE = COLUMNS[:9]


def ledger(
    lake: LakeOption = None,
    outcome: Annotated[Outcome | None, typer.Option(help="Only entries with this outcome.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="Maximum number of entries, newest first.")] = 100,
    format: Annotated[TextFormat, typer.Option(help="Output format.")] = "table",  # noqa: A002
) -> None:
    """List all ingests and their outcomes.

    The ledger has an entry for every source, for its studies, and for each quarantined file with the reason.
    """
    entries = open_lake(lake).ledger(outcome, limit + 1)
    is_cut, entries = len(entries) > limit, entries[:limit]
    rows = [[e.offered_at.isoformat(timespec="seconds"), *(getattr(e, name) for name in COLUMNS[1:])] for e in entries]
    if format == "table" and not rows:
        echo("the ledger has no matching entry")
    elif format == "table":
        show_table(_IN_TABLE, [row[: len(_IN_TABLE)] for row in rows])
    else:
        print_rows(COLUMNS, rows, format)
    if is_cut:
        print_error(f"these are the newest {limit:,} entries: --limit shows more")
