"""The command `losslake results`: options derived from its question, and the table that it prints."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from losslake.output.answer import Answer
from losslake.questions.results.results import QUESTION
from losslake_cli.answers.question_options import COMMON, answer_to, command, options_of, parameters_in, write_answer
from losslake_cli.console import Format, WideOption, echo, open_release
from losslake_cli.table import show_table

# The columns of a table, the most telling ones first: the last ones are left out where they don't fit.
_COLUMNS = (
    "round", "benchmark", "organisation", "accelerator", "accelerators", "time_s", "accelerator_hours", "n_runs",
    "rcp", "flags", "system", "division",
)  # fmt: skip
_MOST_ROWS = 50
_FORMAT = Annotated[Format, typer.Option(help="Output format.")]


def results_command() -> type:
    """Return the command."""
    return command(
        _print_results, [*options_of(QUESTION), ("wide", WideOption, False), *COMMON, ("format", _FORMAT, "table")]
    )


def _print_results(options: Any) -> None:
    view = open_release(options.lake, options.release)
    values = parameters_in(options, QUESTION)
    if options.format == "table":
        values = {"fields": ",".join(_COLUMNS), "limit": _MOST_ROWS} | values
    answer = answer_to(QUESTION, view, values, "losslake results")
    if options.format == "table":
        _print(answer, options.wide)
    else:
        write_answer(answer, options.format)


def _print(answer: Answer, is_wide: bool) -> None:
    table = answer.table()
    cells = [
        [", ".join(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in table.to_pylist()
    ]
    show_table(table.column_names, cells, is_wide)
    if answer.total is not None and answer.total > len(cells):
        echo(f"{len(cells)} of {answer.total:,} submissions: --limit {answer.total} prints all")
    for text in answer.facts["left_out"]:
        echo(f"left out: {text}")
    for text in answer.facts["warnings"]:
        echo(f"warning: {text}")
