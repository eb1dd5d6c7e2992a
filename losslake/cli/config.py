"""`losslake config`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from losslake.cli.console import complain, say, show_table
from losslake.cli.serve import ConfigOption


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
