"""`losslake serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake.cli.console import LakeOption

ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings in TOML; 'losslake config --format toml' prints one. Default: $LOSSLAKE_CONFIG, else none.",
        show_default=False,
    ),
]


def serve(
    lake: LakeOption = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8000.", show_default=False)] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes. Default: 1.", show_default=False)] = None,
    config: ConfigOption = None,
) -> None:
    """Answer questions over HTTP until Ctrl-C."""
    from losslake_service.serve import serve as run
    from losslake_service.settings import load_settings

    flags = {"lake": lake, "host": host, "port": port, "workers": workers}
    run(load_settings(config, flags).settings)
