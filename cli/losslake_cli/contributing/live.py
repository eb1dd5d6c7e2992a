"""`losslake live`."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.record.layout import LIVE_URL
from losslake_cli.console import echo, print_error
from losslake_cli.contributing.push import TokenFileOption, UrlOption, read_token
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake_contributions.client.growing_run import GrowingRun

_NICENESS = 5
_MAPPING = "losslake.toml"


def live(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of recorded runs, or of one run.")],
    url: UrlOption,
    token_file: TokenFileOption = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Stop once every run has ended, or stands still for a minute.")
    ] = False,
) -> None:
    """Send runs to a contribution service while they train.

    It goes on until Ctrl-C. Runs that begin later are sent as well. Each is shown on a page with a link of its own,
    over stored curves. Nothing is submitted: 'losslake push' does that when the runs have ended, and sends what is
    missing. If the service can't be reached, it is sent later. Secrets, host names, paths and e-mail addresses are
    removed first.
    """
    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.client.live_sender import LiveSender, SenderCallbacks

    if not folder.is_dir():
        raise LossLakeError(f"{folder} is not a folder: give the one in which runs are recorded")
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)  # trainings come first
    for mapping in filter(Path.is_file, (folder.parent / _MAPPING, *folder.rglob(_MAPPING))):
        echo(f"mapping      {mapping}: 'losslake push' uses it; live pages show metrics as they are logged")
    stop = Event()
    with ContributionClient(url, read_token(token_file, url), tries=1) as client:
        sender = LiveSender(client, folder, SenderCallbacks(_show_link, _show_end, print_error))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        sender.run(stop, until_end)


def _show_link(run: GrowingRun, link: str | None) -> None:
    echo(f"live         {run.id}")
    if link is not None:
        echo(f"             {link}")
        part = run.folder / f"{LIVE_URL}.part"
        with suppress(OSError):  # the recorder reads it as run.url
            part.write_text(link, "utf-8")
            part.replace(run.folder / LIVE_URL)


def _show_end(run: GrowingRun, status: str) -> None:
    echo(f"sent         {run.id}: {status}")
