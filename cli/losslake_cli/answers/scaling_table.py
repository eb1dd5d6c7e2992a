"""The command `losslake steps`: options derived from its question, and the table or the plot that it prints."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from losslake.output.answer import Answer
from losslake.questions.declaration.summary import results_in_words
from losslake.questions.release.named_workload import SeveralWorkloads, named_workload
from losslake.questions.scaling import QUESTION
from losslake.questions.trials.step_amounts import measure_noun
from losslake_cli.answers.analysis_table import with_options
from losslake_cli.answers.plot import plot
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
from losslake_cli.answers.workloads import list_workloads
from losslake_cli.console import TextFormat, WideOption, echo, echo_all, open_release
from losslake_cli.table import show_table, terminal_width
from losslake_schema.reached import goal_text

# The columns of a table, the most telling ones first: the last ones are left out where they don't fit.
_COLUMNS = (
    "batch_size", "steps", "trial_id", "n_reached", "n_trials", "examples", "value", "previous_step", "best_value",
    "perfect_scaling_steps",
)  # fmt: skip
_AMOUNTS = ("amount", "amount_trial_id", "amount_steps", "hardware")
_WIDTH_OF_A_FILE = 100

_PLOT = Annotated[bool, typer.Option("--plot", help="Draw the scaling curve in characters instead of a table.")]
_FORMAT = Annotated[TextFormat, typer.Option(help="Output format.")]
# The workload is an argument only; reference lines are for charts.
_BUT = (WORKLOAD, "reference")


def steps_command() -> type:
    """Return the command."""
    options = options_of(QUESTION, _BUT)
    others = (("plot", _PLOT, False), ("wide", WideOption, False), *COMMON, ("format", _FORMAT, "table"))
    return command(_print_steps, [workload_argument(WORKLOAD, "Default: list the workloads."), *options, *others])


def _print_steps(options: Any) -> None:
    view = open_release(options.lake, options.release)
    if not options.workload:
        list_workloads(view, view.workloads, options.format, options.wide)
        return
    try:
        named = named_workload(view, " ".join(options.workload))
    except SeveralWorkloads as several:
        list_workloads(view, several.workloads, options.format, options.wide)
        raise
    values = parameters_in(options, QUESTION) | {"workload": [str(named)]}
    answer = answer_to(QUESTION, view, values, "losslake steps")
    units = {unit for facts in view.matching(named) for unit in view.batch_units(facts)}
    _print(answer, options.format, options.wide, options.plot, sorted(units - {"examples"}))


def _print(answer: Answer, format: TextFormat, is_wide: bool, has_plot: bool, units: Sequence[str]) -> None:  # noqa: A002
    """Print the answer. units: what batch sizes count, if not examples."""
    if format != "table":
        write_answer(answer, format)
        return
    facts, table = answer.facts, answer.table()
    noun = measure_noun(facts["measure"])
    goal = goal_text(*(facts[name] for name in ("metric", "direction", "target", "comparator")), is_for_terminal=True)
    title = f"{facts['workloads'][0]}: {noun} to {goal}, release {facts['release']}"
    if has_plot:
        pairs = zip(table["batch_size"].to_pylist(), table["amount"].to_pylist(), strict=True)
        points = [(size, amount) for size, amount in pairs if size is not None]
        echo_all(plot(points, title, terminal_width() or _WIDTH_OF_A_FILE, sys.stdout.encoding))
    else:
        columns = table.column_names if is_wide else _columns(facts)
        echo(title)
        show_table(columns, [list(row.values()) for row in table.select(columns).to_pylist()], is_wide)
    if units:
        echo(f"batch sizes count {' or '.join(units)}, and so do examples")
    why = dict.fromkeys(each["why"] for each in facts["results"] if each["seeds"] is not None)
    echo("; ".join([f"rows: {results_in_words(facts, noun)}", *why]))
    reached = table.num_rows - table["steps"].null_count
    echo(f"reached at {reached} of {table.num_rows} batch sizes; the crossing is in (previous_step, steps]")
    for each in facts["pooled"]:
        echo(f"pooled: {each['n_trials']} trials of {each['workload']}")
    for kind, name in (("left out", "left_out"), ("warning", "warnings")):
        for text in facts[name]:
            echo(f"{kind}: {with_options(text, QUESTION.parameters.model_fields)}")


def _columns(facts: Mapping[str, Any]) -> list[str]:
    """Return the columns of a table, the most telling ones first."""
    columns = list(_COLUMNS)
    if facts["crossing"] != "first":
        columns[5:5] = ["confirmed_steps", "n_confirmed"]
        if facts["crossing"] == "mean":
            columns[6:6] = ["confirmed_mean", "confirmed_n_seeds"]
    if facts["measure"] != "steps":
        columns[1:3] = [*_AMOUNTS, "steps"]
    if facts["pooled"]:
        columns.insert(5, "trial_workload")
    return columns
