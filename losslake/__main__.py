"""The command `losslake`."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from losslake import __version__
from losslake.analyze import analyze
from losslake.config import config
from losslake.console import complain
from losslake.download import download
from losslake.export import export
from losslake.failures import in_one_line
from losslake.fetch import fetch
from losslake.formats import formats
from losslake.ingest import ingest
from losslake.init import init
from losslake.ledger import ledger
from losslake.maintain import maintain
from losslake.map import map_logs
from losslake.releases import releases
from losslake.reproduce import reproduce
from losslake.serve import serve
from losslake.sql import sql
from losslake.steps import steps
from losslake.verify import verify
from schema.errors import LossLakeError

STOPPED = 130  # the exit status into which Typer turns Ctrl-C

app = typer.Typer(
    name="losslake",
    help="Training curves in, answers out: how many steps does each batch size need to reach this error?\n\n"
    "Start with 'losslake ingest PATH', then 'losslake steps', 'losslake sql' or 'losslake serve'.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    init, ingest, fetch, formats, map_logs, releases, ledger, steps, sql, serve, config, verify, export, download,
    reproduce, maintain,
):  # fmt: skip
    app.command(command.__name__.removesuffix("_logs"))(command)
app.command(
    "analyze",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(analyze)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"losslake {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Nothing to do: the options act by themselves."""


def main() -> None:
    """Run the command line; whatever goes wrong is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as leaving:
        if leaving.code == STOPPED:
            complain("stopped")
        raise
    except LossLakeError as error:
        complain(str(error))
        sys.exit(1)
    except Exception as error:
        if os.environ.get("LOSSLAKE_DEBUG"):
            raise
        complain(in_one_line(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
