"""`losslake fetch`."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake.cli.console import LakeOption, show_table
from losslake_schema.errors import LossLakeError


def fetch(
    name: Annotated[
        str | None, typer.Argument(metavar="COLLECTION", help="What to fetch. Default: list what there is.")
    ] = None,
    lake: LakeOption = None,
    mirror: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Another address of the same archive; its sha256 holds.", show_default=False),
    ] = None,
    notes: Annotated[str, typer.Option(metavar="TEXT", help="A note for the release.", show_default=False)] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Ingest a published archive that LossLake knows.

    The same as 'losslake ingest --url … --sha256 …' with the archive's own address and checksum: it is read while it
    comes, and published only if every byte is as its publisher made it.
    """
    from losslake.cli.ingest import Manner, ingest_url
    from losslake_ingest.request import Request
    from losslake_schema.registry import collections

    known = {found.collection: found for found in collections() if found.archive_url}
    if name is None:
        columns = ("collection", "title", "licence", "url", "sha256")
        show_table(
            columns, [(c.collection, c.title, c.licence, c.archive_url, c.archive_sha256) for c in known.values()]
        )
        return
    if name not in known:
        raise LossLakeError(f"'{name}' is no collection that can be fetched: {', '.join(known)} can, or ingest --url")
    found = known[name]
    ingest_url([], mirror or found.archive_url, found.archive_sha256, lake, Request(), Manner(False, notes, quiet))
