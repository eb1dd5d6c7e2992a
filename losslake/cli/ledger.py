"""`losslake ledger`."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from losslake.cli.console import LakeOption, say, show_table, write_csv
from losslake.cli.print_formats import TextFormat


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
