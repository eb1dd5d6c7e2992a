"""The command `losslake`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from losslake import __version__
from losslake.console import complain
from losslake.export import export
from losslake.ingest import ingest
from losslake.init import init
from losslake.ledger import ledger
from losslake.releases import releases
from losslake.serve import serve
from losslake.sql import sql
from losslake.steps import steps
from losslake.verify import verify
from schema.errors import LossLakeError

app = typer.Typer(
    name="losslake",
    help="Training curves in, answers out: how many steps does each batch size need to reach this error?\n\n"
    "Start with 'losslake ingest PATH', then 'losslake steps', 'losslake sql' or 'losslake serve'.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (init, ingest, releases, ledger, steps, sql, serve, verify, export):
    app.command()(command)


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
    try:
        app()
    except LossLakeError as error:
        complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if os.environ.get("LOSSLAKE_DEBUG"):
            raise
        complain(f"internal error: {type(error).__name__}: {error}; set LOSSLAKE_DEBUG=1 to see where, and report it")
        sys.exit(1)


if __name__ == "__main__":
    main()
