"""`losslake releases`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import LakeOption, say, show_table

if TYPE_CHECKING:
    from losslake_schema.database import Release


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
