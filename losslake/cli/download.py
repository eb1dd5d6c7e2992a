"""`losslake download`."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from losslake.cli.console import counted, say


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
    from losslake.client.downloading import download as run
    from losslake.client.selection import Selection
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
