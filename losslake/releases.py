"""`losslake releases`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from losslake.console import LakeOption, say, show_table


def releases(
    lake: LakeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, digests in full.")] = False,
) -> None:
    """List the releases, newest first."""
    from schema.lake import Lake

    found = Lake.open(lake).releases()
    if as_json:
        names = ("number", "notes", "content_digest", "n_studies", "n_trials", "n_evaluations", "n_measurements")
        rows = [{n: getattr(r, n) for n in names} | {"created_at": r.created_at.isoformat()} for r in found]
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
                r.notes,
            )
            for r in found
        ],
    )
