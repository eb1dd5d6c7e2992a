"""The `losslake` command."""

from __future__ import annotations

import os
import sys
from copy import copy
from io import TextIOWrapper
from typing import Annotated

import typer

from losslake.output.imports import without_pandas
from losslake_cli.answers.cite import cite
from losslake_cli.answers.report import report
from losslake_cli.answers.steps import ResultsCommand, StepsCommand, results, steps
from losslake_cli.answers.workloads import workloads
from losslake_cli.changes.erase import erase
from losslake_cli.changes.maintain import maintain
from losslake_cli.changes.withdraw import withdraw
from losslake_cli.console import describe_error, print_error, print_failure
from losslake_cli.contributing.audit import audit
from losslake_cli.contributing.check import check
from losslake_cli.contributing.live import live
from losslake_cli.contributing.notify import notify
from losslake_cli.contributing.push import push
from losslake_cli.contributing.review import review
from losslake_cli.contributing.submissions import submissions
from losslake_cli.contributing.tokens import tokens
from losslake_cli.lake import export, init, ledger, releases, verify
from losslake_cli.logs.bundle import bundle
from losslake_cli.logs.download import download, fetch
from losslake_cli.logs.ingest import ingest
from losslake_cli.logs.mapping import formats, map_logs
from losslake_cli.reproduce import reproduce
from losslake_cli.serve import config, mcp, serve, serve_contributions
from losslake_cli.sql.sql import sql
from losslake_schema.errors import LossLakeError

STOPPED = 130  # the exit status into which Typer turns Ctrl-C

app = typer.Typer(
    name="losslake",
    help="A database of training curves: how many steps does each batch size need to reach a target error?\n\n"
    "Start with 'losslake ingest PATH', then 'losslake steps', 'losslake sql' or 'losslake serve'.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    init, ingest, fetch, formats, map_logs, releases, ledger, workloads, steps, results, cite, report, sql, serve, mcp,
    config, verify, export, download, reproduce, maintain, withdraw, erase, bundle, check, push, live, notify,
    serve_contributions, audit,
):  # fmt: skip
    command_name = command.__name__.removesuffix("_logs").replace("_", "-")
    derived = StepsCommand if command is steps else ResultsCommand if command is results else None
    app.command(command_name, cls=derived)(command)
app.add_typer(tokens, name="tokens")
app.add_typer(review, name="review")
app.add_typer(submissions, name="submissions")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def analyze(context: typer.Context) -> None:
    """Analyze how workloads scale, with uncertainty.

    Analyses of scaling regimes, critical batch size, uncertainty, metaparameters and comparisons.
    'losslake analyze --help' lists them; 'losslake analyze regimes --help' shows the options of one.
    """
    # Imported here, since declaring all analyses takes time and only this command needs them.
    without_pandas()
    from losslake_cli.answers.analyses import analyses

    analyses()(args=context.args, prog_name="losslake analyze", standalone_mode=False)


def _show_version(requested: bool) -> None:
    if requested:
        from losslake import __version__

        typer.echo(f"losslake {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Do nothing: the callbacks of the options act."""


def _with_command(names: list[str]) -> typer.Typer:
    """Return the application with the named command only, if there is one: to declare the others takes time."""
    chosen = [each for each in app.registered_commands if [each.name] == names]
    if not chosen:
        return app
    small = copy(app)
    small.registered_commands, small.registered_groups = chosen, []
    return small


def main() -> None:
    """Run the command line; report any error in one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        _with_command(sys.argv[1:2])()
    except SystemExit as status:
        if status.code == STOPPED:
            print_error("stopped")
        raise
    except KeyboardInterrupt:  # a second one, while Typer handles the first
        print_error("stopped")
        sys.exit(STOPPED)
    except LossLakeError as error:
        print_failure(error)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("LOSSLAKE_DEBUG"):
            raise
        print_error(describe_error(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
