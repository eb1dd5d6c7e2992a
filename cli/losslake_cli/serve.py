"""The commands that serve: `losslake serve`, `serve-contributions`, `mcp` for assistants, and `config`."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Annotated, Literal

import typer

from losslake_cli.console import LakeOption, echo_all, print_error
from losslake_cli.table import show_table
from losslake_schema.errors import LossLakeError

ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A TOML file of settings; 'losslake config --format toml' prints one. Default: $LOSSLAKE_CONFIG.",
    ),
]
HostOption = Annotated[str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.")]
WorkersOption = Annotated[int | None, typer.Option(help="Number of processes. Default: 1.")]
AllowRootOption = Annotated[
    bool | None, typer.Option("--allow-root", help="Run as root even if other machines can connect.")
]
# https://man7.org/linux/man-pages/man3/mallopt.3.html
_M_ARENA_MAX, _VARIABLE = -8, "MALLOC_ARENA_MAX"
_HEAPS = 2


def serve(
    lake: LakeOption = None,
    host: HostOption = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8000.")] = None,
    workers: WorkersOption = None,
    allow_root: AllowRootOption = None,
    live: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Show the runs that are recorded or logged in this folder, while they run, at /live."
        ),
    ] = None,
    allow_viewers: Annotated[
        bool, typer.Option("--allow-viewers", help="With --live: let whoever can connect see the runs.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Run the HTTP service until Ctrl-C.

    With --live it shows the runs in a folder, too, without a token; then it needs no lake.
    """
    limit_heaps()
    from losslake_service.serve import serve as run
    from losslake_service.settings import Settings, load_settings

    flags = {"lake": lake, "host": host, "port": port, "workers": workers, "allow_root": allow_root}
    if live is None:
        if allow_viewers:
            raise LossLakeError("--allow-viewers is about the runs of --live FOLDER: give that, too")
        run(load_settings(Settings, config, flags).settings)
        return
    from losslake_contributions.dashboard.app import DashboardSettings
    from losslake_contributions.dashboard.serve import serve as run_dashboard

    shown = {"live": live, "allow_viewers": allow_viewers or None}
    run_dashboard(load_settings(DashboardSettings, config, flags | shown).settings)


def serve_contributions(
    lake: LakeOption = None,
    host: HostOption = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8010.")] = None,
    workers: WorkersOption = None,
    allow_root: AllowRootOption = None,
    config: ConfigOption = None,
) -> None:
    """Run the service that takes runs of others, until Ctrl-C.

    It writes to the lake; `losslake serve` answers questions, and never does.
    """
    limit_heaps()
    from losslake_contributions.serve import serve as run
    from losslake_contributions.settings import Settings
    from losslake_service.settings import load_settings

    flags = {"lake": lake, "host": host, "port": port, "workers": workers, "allow_root": allow_root}
    run(load_settings(Settings, config, flags).settings)


def limit_heaps() -> None:
    """Limit the heaps of glibc in this process, which must not have begun others, and in those that it starts.

    By default each thread gets a heap, up to eight for a core, and it keeps what its largest work took. Other libraries
    of C have no such heaps. A host's own limit is kept.
    """
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = str(_HEAPS)
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def config(
    config: ConfigOption = None,
    form: Annotated[
        Literal["table", "toml"], typer.Option("--format", help="Output format: a table, or a TOML file to edit.")
    ] = "table",
) -> None:
    """Show the service's settings and their sources."""
    from losslake_service.settings import Settings, as_toml, load_settings, toml_value, unknown_variables

    loaded = load_settings(Settings, config)
    for variable in unknown_variables():
        print_error(f"no setting is called {variable}")
    if form == "toml":
        echo_all(as_toml(loaded.settings).splitlines())
        return
    fields = type(loaded.settings).model_fields
    rows = [
        (name, toml_value(getattr(loaded.settings, name)), loaded.source_of(name), field.description)
        for name, field in fields.items()
    ]
    show_table(("setting", "value", "from", "description"), rows)


def mcp(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Serve read-only tools to an assistant over MCP.

    It speaks the Model Context Protocol over standard input and output: configure 'losslake mcp --lake FOLDER' in
    the assistant. A running service has the same tools at /mcp. SQL runs in the sandbox and within the limits of the
    service.
    """
    from losslake_service.assistants.over_stdio import serve_stdio
    from losslake_service.settings import Settings, load_settings

    serve_stdio(load_settings(Settings, config, {"lake": lake}).settings)
