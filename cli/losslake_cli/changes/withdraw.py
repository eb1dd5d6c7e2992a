"""`losslake withdraw`."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake_cli.console import LakeOption, NamesArgument, echo, echo_some, open_lake, user_name
from losslake_schema.quantities import counted


def withdraw(
    names: NamesArgument,
    reason: Annotated[str, typer.Option(help="Why, for the ledger and the notes of the release.")],
    lake: LakeOption = None,
    by: Annotated[str | None, typer.Option(metavar="WHO", help="Who withdraws them; default: the user's name.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let ingests accept withdrawn trials again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, print what would be withdrawn.")] = False,
) -> None:
    """Publish a release without some trials.

    Later ingests leave out the same logs, and what they grow to at the same path, too; earlier releases keep them. The
    ledger records who withdrew them, when and why. After --undo, ingest the logs again. Other trials and copies of the
    same bytes are listed: copies in other studies come in when they are offered again.
    """
    from losslake_ingest.releases.withdrawal import restore
    from losslake_ingest.releases.withdrawal import withdraw as publish_without

    opened = open_lake(lake)
    who = by or user_name("say with --by who withdraws them")
    if undo:
        trials = restore(opened, names, reason, who)
        echo(f"{counted(len(trials), 'trial')} may be ingested again: give their logs to 'losslake ingest'")
        return
    withdrawal = publish_without(opened, names, reason, who, dry_run)
    withdrawn = counted(len(withdrawal.trials), "trial")
    if withdrawal.release is None:
        echo(f"would withdraw {withdrawn}:")
        for trial in withdrawal.trials:
            echo(f"  {trial}")
    else:
        echo(f"published release {withdrawal.release} without {withdrawn}; earlier releases keep them")
    if withdrawal.remaining:
        remaining = counted(len(withdrawal.remaining), "trial")
        echo(f"stored with the same bytes, but other facts: {remaining}, not withdrawn:")
        echo_some([f"  {trial}" for trial in withdrawal.remaining])
    if withdrawal.copies:
        echo(
            f"left out before as duplicate_source: {counted(len(withdrawal.copies), 'log')} of the same bytes. Offered "
            "again, those of the same study are left out as withdrawn; those of another study or collection come in:"
        )
        echo_some([f"  {source}: {path}" for source, path in withdrawal.copies])
