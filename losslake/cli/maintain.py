"""`losslake maintain`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import LakeOption, complain, counted, say
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.index.maintenance import Cleaned, Gone
    from losslake.lake.lake import Lake

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHORT = timedelta(hours=1)


def maintain(
    lake: LakeOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing: print what would be done.")] = False,
    grace: Annotated[
        str,
        typer.Option(metavar="TIME", help="What is younger stays: 7d, 12h, 30m. Longer than the longest ingest."),
    ] = "7d",
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Unlist all releases but the newest N.", show_default=False),
    ] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Merge many small files of a study, in a new release of the same content.")
    ] = False,
    unlist: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Unlist this release; repeatable.", show_default=False),
    ] = None,
) -> None:
    """Delete what no listed release needs.

    That is what killed ingests left behind and what unlisted releases had. Releases are unlisted only when asked; their
    files stay for the grace time. Safe to kill, and to run beside ingests and services. --compact first publishes a
    release with fewer files.
    """
    from losslake.index.maintenance import alone
    from losslake.lake.lake import Lake

    patience = _duration(grace)
    if patience < _SHORT:
        complain("warning: an ingest that runs now, and has run for longer than --grace, would lose its files")
    opened = Lake.open(lake)
    opened.check_place()
    with alone(opened):
        if compact:
            _compact(opened, dry_run)
        _maintain(opened, dry_run, patience, keep, unlist or [])


def _compact(lake: Lake, dry_run: bool) -> None:
    from losslake_ingest.compaction import compact

    done = compact(lake, dry_run)
    for remark in done.left:
        complain(f"warning: {remark}")
    files = f"{counted(done.files_before, 'small file')} of {counted(done.studies, 'study')}"
    if dry_run:
        say(f"would merge {files}")
    elif done.release is None:
        say("merged nothing: no study has many small files")
    else:
        say(f"merged {files} into {done.files_after:,}: release {done.release}, of the same content")


def _maintain(lake: Lake, dry_run: bool, grace: timedelta, keep: int | None, unlist: list[int]) -> None:
    from losslake.index.maintenance import clean
    from losslake.lake.retention import Terms, to_unlist
    from losslake.lake.retention import unlist as take_out
    from losslake_ingest.memory import forget

    numbers = to_unlist(lake, keep, unlist)
    if not dry_run:
        take_out(lake, numbers)
    # Without a grace time, the files of what is unlisted now go now.
    as_if = frozenset(numbers) if not grace else frozenset[int]()
    terms = Terms(datetime.now(UTC) - grace, as_if, dry_run)
    if numbers:
        named = f"{counted(len(numbers), 'release')} ({', '.join(map(str, numbers))})"
        say(f"{'would unlist' if dry_run else 'unlisted'} {named}")
    _report(clean(lake, terms), forget(lake, dry_run), dry_run)


def _report(cleaned: Cleaned, forgotten: int, dry_run: bool) -> None:
    done = "would delete" if dry_run else "deleted"
    say(f"{done} {_gone(cleaned.orphans, 'file')} that no listed release needs")
    if cleaned.serving_files.count:
        say(f"{done} {_gone(cleaned.serving_files, 'serving file')} of releases that are gone, or of other versions")
    if cleaned.downloads.count:
        say(f"{done} {_gone(cleaned.downloads, 'file')} of downloads that never ended")
    if cleaned.snapshots or cleaned.branches:
        left_over = f" and {counted(cleaned.branches, 'left-over ingest')}" if cleaned.branches else ""
        say(f"{'would expire' if dry_run else 'expired'} {counted(cleaned.snapshots, 'Iceberg snapshot')}{left_over}")
    if forgotten:
        say(f"{'would forget' if dry_run else 'forgot'} {counted(forgotten, 'source')} that would be read anew anyway")


def _gone(gone: Gone, noun: str) -> str:
    return f"{counted(gone.count, noun)} ({gone.bytes:,} bytes)"


def _duration(text: str) -> timedelta:
    """A time such as 7d; raises LossLakeError."""
    match = re.fullmatch(r"(\d{1,6})([smhd]?)", text.strip())
    if match is None or (not match[2] and match[1].strip("0")):
        raise LossLakeError(f"--grace takes a number and its unit, such as 7d, 12h, 30m or 0s, not {text!r}")
    return timedelta(seconds=int(match[1]) * _UNITS.get(match[2], 1))
