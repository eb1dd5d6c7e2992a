"""`losslake erase`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import LakeOption, NamesArgument, echo, echo_some, open_lake
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake.lake.lake import Lake
    from losslake_ingest.releases.erasure import Erasure


def erase(
    names: NamesArgument,
    reason: Annotated[str, typer.Option(help="Why. It is published with the tombstones: don't quote the secret.")],
    by: Annotated[str, typer.Option(metavar="WHO", help="Who erases them. It is published, too.")],
    lake: LakeOption = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Remove this text from the ledger and notes of releases; repeatable."),
    ] = None,
    hide_names: Annotated[
        bool, typer.Option("--hide-names", help="The names are secret: tombstones have only their SHA-256.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, print what would be erased.")] = False,
) -> None:
    """Remove trials from every release, for law or secrets.

    Stop ingests and services first, and start services afterwards. Releases keep their numbers and get another content
    digest; tombstones with the former digests stay in the ledger and on pages. Trials with the same log under other
    names are erased, too. Files of unlisted releases and of killed ingests are deleted. If it is killed, run it again.
    To withdraw trials from the next release only, use 'losslake withdraw'.
    """
    from losslake.index.maintenance import maintenance_lock
    from losslake_ingest.releases.erasure import erase as erase_trials

    opened = open_lake(lake)
    opened.check_location()
    with maintenance_lock(opened):
        planned = erase_trials(opened, names, reason, by, text or [], hide_names, dry_run=True)
        _report(planned, dry_run)
        if dry_run:
            return
        if not yes and not typer.confirm("No copy of them remains in this lake. Erase them?"):
            raise LossLakeError("nothing was erased")
        erase_completely(opened, names, reason, by, text or [], hide_names)
    echo("erased; start services again, and have caches and downloads of others emptied: they may still hold the bytes")


def erase_completely(
    lake: Lake, names: Sequence[str], reason: str, by: str, texts: Sequence[str] = (), hide_names: bool = False
) -> Erasure:
    """Erase trials from releases and contributions, and delete every file that no release needs any more."""
    from datetime import UTC, datetime

    from losslake.index.maintenance import clean
    from losslake.lake.retention import RetentionPolicy
    from losslake_contributions.review.erasure import erase_runs
    from losslake_ingest.releases.erasure import erase as erase_trials
    from losslake_ingest.releases.erasure import finish

    planned = erase_trials(lake, names, reason, by, texts, hide_names, dry_run=True)
    # First, as the trials say which runs they are.
    erase_runs(lake, planned.runs, [*texts, *(map(str, planned.all_trials) if hide_names else ())])
    erasure = erase_trials(lake, names, reason, by, texts, hide_names)
    clean(lake, RetentionPolicy(datetime.now(UTC)))
    finish(lake)
    return erasure


def _report(planned: Erasure, dry_run: bool) -> None:
    would = "would erase" if dry_run else "to erase:"
    if not planned.trials:
        echo("no release has them any more; files that no release needs are deleted")
        return
    echo(f"{would} {counted(len(planned.all_trials), 'trial')} from {counted(len(planned.trials), 'release')}:")
    echo_some([f"  {trial}" for trial in planned.all_trials])
    if planned.unlisted:
        echo(f"nothing else is in release {', '.join(map(str, planned.unlisted))}: unlisted")
