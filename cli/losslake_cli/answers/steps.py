"""`losslake steps`: the scaling table of a workload."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import typer
from typer.core import TyperCommand

from losslake.output.imports import without_pandas


class StepsCommand(TyperCommand):
    """A command that derives its options from the question once they are needed, since importing it takes time."""

    @cached_property
    def _derived(self) -> Any:
        from losslake.lake.machine import without_collection

        without_pandas()
        with without_collection():  # it takes a tenth of these imports
            from losslake_cli.answers.scaling_table import steps_command

        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(steps_command())
        return typer.main.get_command(app)

    def get_params(self, ctx: Any) -> Any:
        """Return the options."""
        return self._derived.get_params(ctx)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        return self._derived.invoke(ctx)


def steps() -> None:
    """Print steps to a target by batch size.

    This is the scaling table of a workload. Without WORKLOAD, lists the workloads.
    """
