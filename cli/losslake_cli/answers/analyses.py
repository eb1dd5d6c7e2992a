"""The commands of `losslake analyze`, one for each question under /v1/analysis, with the same parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES, PREFIX
from losslake.questions.release.named_workload import is_path, named_workload
from losslake_cli.answers.analysis_table import print_table
from losslake_cli.answers.question_options import (
    COMMON,
    WORKLOAD,
    answer_to,
    command,
    options_of,
    parameters_in,
    workload_argument,
    write_answer,
)
from losslake_cli.console import Format, open_release

_FORMAT = Annotated[Format, typer.Option(help="Output format.")]
# The field of the argument; the option has the name of the parameter.
_NAMED = "named"
_SEVERAL = "For several workloads, give paths, or quote the words of each. The same as --workload."
_HELP = "Analyze a lake. The service gives the same answers under /v1/analysis."


class _Listed(TyperGroup):
    """A group that lists its commands with their whole help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help or "") for name, command in self.commands.items()])


def analyses() -> typer.Typer:
    """Return the application with the commands."""
    app = typer.Typer(
        cls=_Listed,
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(help=_HELP)(_no_options)
    for question in ANALYSES:
        app.command(question.path.removeprefix(PREFIX), help=question.doc)(_command(question))
    return app


def _no_options() -> None:
    """Do nothing. Without a callback, a single command would become the application itself."""


def _command(question: Question) -> type:
    has_workload = WORKLOAD in question.parameters.model_fields

    def run(options: Any) -> None:
        view = open_release(options.lake, options.release)
        values = parameters_in(options, question)
        names = [*_searches(getattr(options, _NAMED, None) or ()), *values.get(WORKLOAD, ())]
        if names:
            values[WORKLOAD] = [str(named_workload(view, text)) for text in names]
        answer = answer_to(question, view, values, f"losslake analyze {question.path.removeprefix(PREFIX)}")
        if options.format == "table":
            print_table(answer, question.parameters.model_fields)
        else:
            write_answer(answer, options.format)

    arguments = [workload_argument(_NAMED, _SEVERAL)] if has_workload else []
    return command(run, [*arguments, *options_of(question), *COMMON, ("format", _FORMAT, "table")])


def _searches(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the text that names each workload: paths and quoted words by themselves, all other words together."""
    words = [text for text in arguments if not _is_whole(text)]
    if words:
        yield " ".join(words)
    yield from filter(_is_whole, arguments)


def _is_whole(text: str) -> bool:
    return " " in text.strip() or is_path(text)
