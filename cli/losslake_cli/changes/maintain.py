"""`losslake maintain`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import LakeOption, echo, open_lake, print_error
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake.index.maintenance import CleanupReport, Deleted
    from losslake.lake.lake import Lake

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHORT = timedelta(hours=1)


def maintain(
    lake: LakeOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, print what would be done.")] = False,
    grace: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Keep files younger than this: 7d, 12h, 30m. Must be longer than the longest ingest."
        ),
    ] = "7d",
    keep: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Unlist all releases except the newest N.")
    ] = None,
    compact: Annotated[
        bool,
        typer.Option("--compact", help="Merge many small files of a study in a new release with the same content."),
    ] = False,
    unlist: Annotated[list[int] | None, typer.Option(metavar="N", help="Unlist this release; repeatable.")] = None,
) -> None:
    """Delete files that no listed release needs.

    These are remains of killed ingests and files of unlisted releases. Only --keep and --unlist unlist releases, whose
    files stay for the grace time. Safe to kill, and to run while ingests and services run. --compact first publishes a
    release with fewer files.
    """
    from losslake.index.maintenance import maintenance_lock

    grace_time = _parse_duration(grace)
    if grace_time < _SHORT:
        print_error("warning: an ingest that has been running for longer than --grace loses its files")
    opened = open_lake(lake)
    opened.check_location()
    with maintenance_lock(opened):
        if compact:
            _compact(opened, dry_run)
        _maintain(opened, dry_run, grace_time, keep, unlist or [])


def _compact(lake: Lake, dry_run: bool) -> None:
    from losslake_ingest.releases.compaction import compact

    done = compact(lake, dry_run)
    for remark in done.skipped:
        print_error(f"warning: {remark}")
    files = f"{counted(done.files_before, 'small file')} of {counted(done.studies, 'study')}"
    if dry_run:
        echo(f"would merge {files}")
    elif done.release is None:
        echo("nothing to merge: no study has many small files")
    else:
        echo(f"merged {files} into {done.files_after:,}: release {done.release}, with the same content")


def _maintain(lake: Lake, dry_run: bool, grace: timedelta, keep: int | None, unlist: list[int]) -> None:
    from losslake.index.maintenance import clean
    from losslake.lake.retention import RetentionPolicy, to_unlist
    from losslake.lake.retention import unlist as unlist_releases
    from losslake_ingest.pipeline.memory import forget

    numbers = to_unlist(lake, keep, unlist)
    if not dry_run:
        unlist_releases(lake, numbers)
    # Without a grace time, the files of releases that are unlisted now are deleted now.
    unlisting = frozenset(numbers) if not grace else frozenset[int]()
    policy = RetentionPolicy(datetime.now(UTC) - grace, unlisting, dry_run)
    if numbers:
        names = f"{counted(len(numbers), 'release')} ({', '.join(map(str, numbers))})"
        echo(f"{'would unlist' if dry_run else 'unlisted'} {names}")
    _report(clean(lake, policy), forget(lake, dry_run), dry_run)


def _report(cleaned: CleanupReport, forgotten: int, dry_run: bool) -> None:
    done = "would delete" if dry_run else "deleted"
    echo(f"{done} {_deleted(cleaned.orphans, 'file')} that no listed release needs")
    if cleaned.serving_files.count:
        echo(f"{done} {_deleted(cleaned.serving_files, 'serving file')} of deleted releases or of other versions")
    if cleaned.downloads.count:
        echo(f"{done} {_deleted(cleaned.downloads, 'file')} of abandoned downloads")
    if cleaned.snapshots or cleaned.branches:
        killed = f" and {counted(cleaned.branches, 'killed ingest')}" if cleaned.branches else ""
        echo(f"{'would expire' if dry_run else 'expired'} {counted(cleaned.snapshots, 'Iceberg snapshot')}{killed}")
    if forgotten:
        sources = counted(forgotten, "source")
        echo(f"{'would forget' if dry_run else 'forgot'} {sources} that would be read again anyway")


def _deleted(deleted: Deleted, noun: str) -> str:
    return f"{counted(deleted.count, noun)} ({deleted.bytes:,} bytes)"


def _parse_duration(text: str) -> timedelta:
    """Return the time in a text such as 7d; raise LossLakeError if it is malformed."""
    match = re.fullmatch(r"(\d{1,6})([smhd]?)", text.strip())
    if match is None or (not match[2] and match[1].strip("0")):
        raise LossLakeError(f"--grace must be a number with a unit, such as 7d, 12h, 30m or 0s, not {text!r}")
    return timedelta(seconds=int(match[1]) * _UNITS.get(match[2], 1))
