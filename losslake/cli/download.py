"""The commands that get published data: `losslake download` from a service, `losslake fetch` from a publisher."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from losslake.cli.console import LakeOption, counted, say, show_table
from losslake_schema.errors import LossLakeError


def download(
    url: Annotated[str, typer.Argument(metavar="URL", help="A LossLake service, for example https://host.")],
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The lake to make, or one downloaded from there before.")
    ],
    release: Annotated[
        int | None, typer.Option("--release", metavar="N", help="Default: the newest.", show_default=False)
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this collection; repeatable.", show_default=False)
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this dataset; repeatable.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this model; repeatable.", show_default=False)
    ] = None,
    optimizer: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this optimizer; repeatable.", show_default=False)
    ] = None,
    batch_size: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Only this batch size; repeatable.", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Files at once.")] = 8,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Fetch a release, or a part of it, from a service.

    DIR becomes a lake that every command opens, with the release under its own number. An interrupted download goes on
    when the same command is run again; every file's sha256 is checked. A newer release comes beside those that are
    there, and shares their files.
    """
    from losslake.cli.progress import downloading
    from losslake.client.client import Client
    from losslake.client.downloading import Selection
    from losslake.client.downloading import download as run
    from losslake.client.service import Service

    selection = Selection(
        {
            "collection": collection or (),
            "dataset": dataset or (),
            "model": model or (),
            "optimizer": optimizer or (),
            "batch_size": batch_size or (),
        }
    )
    with Client(jobs) as client, downloading(quiet) as heard:
        found = run(client, Service(client, url), folder, release, selection, jobs, heard)
    number = found.release.number
    if not found.is_new:
        say(f"release {number} is there already: 'losslake verify --lake {shlex.quote(folder)}' checks it")
        return
    say(f"release {number}: {counted(found.files, 'file')}, {found.bytes:,} bytes, every sha256 as listed")
    say(f"             {counted(found.release.n_trials, 'trial')} in {counted(found.release.n_studies, 'study')}")
    say(f"ask it with: losslake sql --lake {shlex.quote(folder)}")


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
    from losslake_ingest.reading import Request
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
