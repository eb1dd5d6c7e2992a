"""The commands about the service: `losslake serve` and `losslake config`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from losslake.cli.console import LakeOption, complain, say, show_table

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


class ConfigFormat(StrEnum):
    """How the settings are printed."""

    TABLE = "table"
    TOML = "toml"


def config(
    config: ConfigOption = None,
    form: Annotated[
        ConfigFormat, typer.Option("--format", help="A table, or a TOML file to start from.", show_default=True)
    ] = ConfigFormat.TABLE,
) -> None:
    """Show the service's settings and where they come from."""
    from losslake_service.settings import as_toml, load_settings, toml_value, unknown_variables

    chosen = load_settings(config)
    for variable in unknown_variables():
        complain(f"no setting is called {variable}")
    if form is ConfigFormat.TOML:
        for line in as_toml(chosen.settings).splitlines():
            say(line)
        return
    fields = type(chosen.settings).model_fields
    rows = [
        (name, toml_value(getattr(chosen.settings, name)), chosen.named(name), field.description)
        for name, field in fields.items()
    ]
    show_table(("setting", "value", "from", "description"), rows)
