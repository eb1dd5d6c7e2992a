"""The command `losslake`."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from losslake.cli.console import complain, in_one_line
from losslake.cli.download import download, fetch
from losslake.cli.ingest import ingest
from losslake.cli.lake import export, init, ledger, releases, verify
from losslake.cli.maintain import maintain
from losslake.cli.mapping import formats, map_logs
from losslake.cli.reproduce import reproduce
from losslake.cli.serve import config, serve
from losslake.cli.sql import sql
from losslake.cli.steps import steps
from losslake_schema.errors import LossLakeError

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


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def analyze(context: typer.Context) -> None:
    """Analyze a lake: how its workloads scale, and how sure.

    Regimes of scaling, critical batch size, uncertainty, metaparameters, comparisons:
    'losslake analyze --help' lists the analyses, 'losslake analyze regimes --help' what one of them takes.
    """
    # Declaring every analysis takes time to load: only those who analyze wait for it.
    from losslake.cli.analyses import analyses

    analyses()(args=context.args, prog_name="losslake analyze", standalone_mode=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        from losslake import __version__

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
