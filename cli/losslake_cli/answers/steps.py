"""`losslake steps`, the scaling table of a workload, and `losslake results`, the submissions of MLPerf."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from losslake.output.imports import without_pandas


class _DerivedCommand(TyperCommand):
    """A command that derives its options from the question once they are needed, since importing it takes time.

    module: has the function `made`, which returns what Typer takes as the command.
    """

    module: ClassVar[str]
    made: ClassVar[str]

    @cached_property
    def _derived(self) -> Any:
        from losslake.lake.machine import without_collection

        without_pandas()
        with without_collection():  # it takes a tenth of these imports
            module = import_module(self.module)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(getattr(module, self.made)())
        return typer.main.get_command(app)

    def get_params(self, ctx: Any) -> Any:
        """Return the options."""
        return self._derived.get_params(ctx)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        return self._derived.invoke(ctx)


class StepsCommand(_DerivedCommand):
    """The command of the scaling table."""

    module, made = "losslake_cli.answers.scaling_table", "steps_command"


class ResultsCommand(_DerivedCommand):
    """The command of MLPerf's submissions."""

    module, made = "losslake_cli.answers.results_table", "results_command"


def steps() -> None:
    """Print steps to a target by batch size.

    This is the scaling table of a workload. Without WORKLOAD, lists the workloads.
    """


def results() -> None:
    """Print MLPerf's submissions.

    Each has its time by MLPerf's rules, its convergence, and flags. The service gives the same under /v1/results.
    """
