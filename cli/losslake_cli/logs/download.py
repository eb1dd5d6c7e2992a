"""The commands that download data: `losslake download` from a service, `losslake fetch` from a publisher."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from losslake_cli.console import LakeOption, echo, echo_some
from losslake_cli.table import show_table
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted


def download(
    url: Annotated[str, typer.Argument(metavar="URL", help="A LossLake service, for example https://host.")],
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A new lake, or one downloaded from the same service before.")
    ],
    release: Annotated[
        int | None, typer.Option("--release", metavar="N", help="Release number. Default: the newest.")
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this collection; repeatable.")
    ] = None,
    dataset: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this dataset; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this model; repeatable.")] = None,
    optimizer: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this optimizer; repeatable.")
    ] = None,
    batch_size: Annotated[list[int] | None, typer.Option(metavar="N", help="Only this batch size; repeatable.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Number of files to fetch at once.")] = 8,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Download a release, or a part of it, from a service.

    DIR becomes a lake for every other command; the release keeps its number. Run the same command again to resume an
    interrupted download. The sha256 of every file is checked. A newer release is added to those in DIR and shares their
    files.
    """
    from losslake.client.client import Client
    from losslake.client.downloading import Selection
    from losslake.client.downloading import download as run
    from losslake.client.service import Service
    from losslake_cli.progress import downloading

    selection = Selection(
        {
            "collection": collection or (),
            "dataset": dataset or (),
            "model": model or (),
            "optimizer": optimizer or (),
            "batch_size": batch_size or (),
        }
    )
    with Client(jobs) as client, downloading(quiet) as reporter:
        result = run(client, Service(client, url), folder, release, selection, jobs, reporter)
    number = result.release.number
    if not result.is_new:
        echo(f"release {number} exists already: 'losslake verify --lake {shlex.quote(folder)}' checks it")
        return
    echo(f"release {number}: {counted(result.files, 'file')}, {result.bytes:,} bytes, every sha256 verified")
    echo(f"             {counted(result.release.n_trials, 'trial')} in {counted(result.release.n_studies, 'study')}")
    echo(f"next: losslake sql --lake {shlex.quote(folder)}")


def fetch(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="COLLECTION",
            help="The collection to fetch, or wandb:ENTITY/PROJECT. Default: list the collections.",
        ),
    ] = None,
    lake: LakeOption = None,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Another URL of the same archive; its sha256 is checked as well.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="Expected sha256 of an archive whose publisher states none.")
    ] = None,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Of wandb: the folder for the runs, made if it doesn't exist.")
    ] = Path("wandb-runs"),
    licence: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Of wandb: the licence under which the owner gives the runs.")
    ] = None,
    runs: Annotated[
        str, typer.Option(metavar="PATTERN", help="Of wandb: only runs with such a name or identifier, as 'adam-*'.")
    ] = "*",
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Of wandb: at most so many runs, the oldest first.")
    ] = None,
    notes: Annotated[str, typer.Option(metavar="TEXT", help="A note for the release.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Download and ingest the logs of a published collection.

    A registered archive is read while it is downloaded, and published only if its sha256 is correct. Other collections
    are repositories, each fetched at its commit and published as a release; trials that came from a bundle are
    recognized. The runs of a W&B project are downloaded only: 'losslake ingest' reads their folder, with a mapping.
    """
    if name is not None and name.startswith("wandb:"):
        _fetch_runs(name, to, licence, runs, limit, quiet)
        return
    from losslake_cli.logs.ingest import IngestOptions, ingest_url
    from losslake_ingest.pipeline.reading import Request
    from losslake_ingest.publication import publication, publications
    from losslake_schema.registry import collections

    registered = {each.collection: each for each in collections() if each.archive_url}
    published = {name: (folder, publication(folder)) for name, folder in publications().items()}
    if name is None:
        columns = ("collection", "title", "licence", "url", "sha256")
        archives = [(c.collection, c.title, c.licence, c.archive_url, c.archive_sha256) for c in registered.values()]
        repositories = [
            (name, f"published by {about.publisher}", about.licence, logs.archive_url, logs.sha256)
            for name, (_, about) in published.items()
            for logs in about.logs
        ]
        show_table(columns, archives + repositories)
        return
    options = IngestOptions(False, notes, quiet)
    if name in registered:
        archive = registered[name]
        if sha256 is not None:
            raise LossLakeError(f"the sha256 of {name} is known ({archive.archive_sha256}): leave --sha256 out")
        ingest_url([], mirror or archive.archive_url, archive.archive_sha256, lake, Request(), options)
        return
    if name not in published:
        names = ", ".join([*registered, *published])
        raise LossLakeError(f"'{name}' can't be fetched: give {names}, or use 'losslake ingest --url'")
    folder, about = published[name]
    if (mirror or sha256) and not (len(about.logs) == 1 and about.logs[0].url):
        raise LossLakeError(
            f"{name} is fetched from its repositories, each at its commit: leave --mirror and --sha256 out, or use "
            "'losslake ingest --url' for another address"
        )
    echo(f"licence      {about.licence}, of {about.publisher}. {about.terms}".rstrip(". "))
    request = Request(mapping=folder / "losslake.toml", formats=about.formats)
    for logs in about.logs:
        echo(f"fetching {logs.origin}")
        expected = sha256 or logs.sha256 or None
        ingest_url([], mirror or logs.archive_url, expected, lake, request, options, top=logs.top)


def _fetch_runs(address: str, folder: Path, licence: str | None, pattern: str, limit: int | None, quiet: bool) -> None:
    """Fetch the runs of a W&B project, and print what is in the folder now; exit with status 1 if some are missing."""
    from losslake_cli.logs.wandb_runs import KNOWN_AXES, Project, fetch_runs

    project = Project.parse(address)
    if not licence:
        raise LossLakeError(
            f"W&B states no licence: it is for the owner of {project.path} to give one; ask, and state it by --licence"
        )
    result = fetch_runs(
        project, folder, licence, pattern, limit, lambda run: None if quiet else echo(f"fetching {run}")
    )
    echo(f"fetched      {counted(result.fetched, 'run')} into {project.folder(folder)}, under the licence '{licence}'")
    echo(f"unchanged    {counted(result.unchanged, 'run')}")
    if result.empty:
        echo(f"empty        {counted(result.empty, 'run')} without a number in the history: nothing to store")
    echo_some([f"axis         {axis} of {counted(count, 'run')}" for axis, count in result.axes.most_common()])
    if result.axes.keys() - KNOWN_AXES:
        echo("             an [[axis]] of the mapping has to say what each counts, but for those that count updates")
    if result.private:
        echo(f"dropped      {', '.join(sorted(result.private))}")
    echo_some([f"  {count:,} x {remark}" for remark, count in result.remarks.most_common()])
    echo_some([f"left out     {run}: {why}" for run, why in result.left_out.items()])
    if result.fetched or result.unchanged:
        place = shlex.quote(str(folder))
        echo(f"nothing is published. next: losslake map --init {place}, then losslake ingest {place} --dry-run")
    if result.left_out:
        raise typer.Exit(1)
