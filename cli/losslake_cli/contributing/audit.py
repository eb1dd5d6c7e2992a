"""`losslake audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake_cli.console import LakeOption, TextFormat, echo
from losslake_cli.contributing.review_queue import open_database
from losslake_cli.table import print_rows, show_table

_COLUMNS = ("at", "action", "subject", "who", "token", "origin", "detail")


def audit(
    lake: LakeOption = None,
    subject: Annotated[
        str | None, typer.Option(metavar="ID", help="Only decisions about this submission, run, token or link.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="Maximum number of decisions, newest first.")] = 100,
    format: Annotated[TextFormat, typer.Option(help="Output format.")] = "table",  # noqa: A002
) -> None:
    """List decisions about contributions.

    Who accepted, returned, withdrew, split or erased, made or revoked tokens and links, or made a new key; when, and
    from which address, or on the command line.
    """
    from losslake_contributions.people.audit import list_decisions

    rows = [
        (each.at.isoformat(timespec="seconds"), *(getattr(each, name) or "" for name in _COLUMNS[1:]))
        for each in list_decisions(open_database(lake), limit, subject)
    ]
    if format != "table":
        print_rows(_COLUMNS, rows, format)
    elif rows:
        show_table(_COLUMNS, rows)
    else:
        echo("no decision yet")
