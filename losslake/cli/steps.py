"""`losslake steps` and `losslake workloads`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from losslake.cli.completion import complete_metric, complete_workload
from losslake.cli.console import LakeOption, ReleaseOption, TextFormat, WideOption, echo
from losslake.cli.imports import without_pandas
from losslake.cli.table import print_rows, show_table, terminal_width
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

if TYPE_CHECKING:
    from losslake.output.answer import Answer
    from losslake.questions.release.view import ReleaseView

# The columns of a table, the most telling ones first: the last ones are left out where they don't fit.
_COLUMNS = (
    "batch_size", "steps", "trial_id", "n_reached", "n_trials", "examples", "value", "previous_step", "best_value",
    "perfect_scaling_steps",
)  # fmt: skip
_AMOUNTS = ("amount", "amount_trial_id", "amount_steps", "hardware")
_WIDTH_OF_A_FILE = 100
_MOST_NEAR = 3


class Status(StrEnum):
    """The statuses of trials."""

    COMPLETE = "COMPLETE"
    INCOMPLETE = "INCOMPLETE"
    INFEASIBLE = "INFEASIBLE"


def steps(
    workload: Annotated[
        str | None,
        typer.Argument(
            metavar="WORKLOAD",
            autocompletion=complete_workload,
            help="collection/dataset/model/optimizer, or words that match one workload ('rn50 lars'). A * in a part "
            "is any text: workloads that match are pooled by batch size. Default: list the workloads.",
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Default: that of the workload's goal.", autocompletion=complete_metric)
    ] = None,
    target: Annotated[float | None, typer.Option(help="Default: that of the workload's goal.")] = None,
    comparator: Annotated[
        Literal["strict", "inclusive"] | None,
        typer.Option(help="strict: better than the target; inclusive: better or equal. Default: as in the goal."),
    ] = None,
    crossing: Annotated[
        Literal["first", "k_consecutive", "sustained"],
        typer.Option(help="Which hit gives confirmed_steps: the first, or one that later evaluations confirm."),
    ] = "first",
    k: Annotated[
        int | None, typer.Option(help="Number of hits in a row for --crossing k_consecutive. Default: 2.")
    ] = None,
    direction: Annotated[
        Literal["minimize", "maximize"] | None, typer.Option(help="Default: that of the metric.")
    ] = None,
    step_budget: Annotated[int | None, typer.Option(help="Use only evaluations up to this step.")] = None,
    example_budget: Annotated[
        int | None, typer.Option(help="Use only evaluations up to this number of examples (step x batch size).")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Use only the first N trials by id.")] = None,
    status: Annotated[
        list[Status] | None, typer.Option(help="Status of the trials to use; repeatable. Default: COMPLETE.")
    ] = None,
    flagged: Annotated[
        Literal["exclude", "include"],
        typer.Option(help="Flagged trials, whose number of examples can't be right: FROM flags in SQL says why."),
    ] = "exclude",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Use only trials with this metaparameter or fact; repeatable."),
    ] = None,
    measure: Annotated[
        Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"],
        typer.Option(help="What to count up to the target besides steps: shows the least, and the trial that has it."),
    ] = "steps",
    examples_per_epoch: Annotated[
        int | None, typer.Option(help="For --measure epochs. Default: as the logs say.")
    ] = None,
    accelerators: Annotated[
        int | None, typer.Option(help="For --measure accelerator_seconds. Default: as the logs say.")
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the scaling curve in characters instead of a table.")
    ] = False,
    wide: WideOption = False,
    lake: LakeOption = None,
    release: ReleaseOption = None,
    format: Annotated[TextFormat, typer.Option(help="Output format.")] = "table",  # noqa: A002
) -> None:
    """Print steps to a target by batch size.

    This is the scaling table of a workload. Without WORKLOAD, lists the workloads.
    """
    without_pandas()
    view = _opened(lake, release)
    if workload is None:
        _list_workloads(view, view.workloads, format, wide)
        return
    from losslake.cli.analysis_table import with_options
    from losslake.questions import scaling
    from losslake.questions.release.errors import BadParameter
    from losslake.questions.release.workload_words import SeveralWorkloads, named_workload

    try:
        named = named_workload(view, workload)
    except SeveralWorkloads as several:
        _list_workloads(view, several.workloads, format, wide)
        raise
    # Not validated here: the question refuses invalid values with messages for the command line.
    parameters = scaling.ScalingParameters.model_construct(
        workload=[str(named)],
        metric=metric or "",
        direction=direction,
        step_budget=step_budget,
        example_budget=example_budget,
        trials=trials,
        status=[s.value for s in status or [Status.COMPLETE]],
        flagged=flagged,
        where=where or [],
        target=target,
        comparator=comparator,
        crossing=crossing,
        k=k,
        measure=measure,
        examples_per_epoch=examples_per_epoch,
        accelerators=accelerators,
        reference=[],
    )
    try:
        answer = scaling.QUESTION.answer_with_goal(view, parameters)
    except BadParameter as error:
        raise LossLakeError(with_options(str(error), scaling.ScalingParameters.model_fields)) from None
    units = {unit for facts in view.matching(named) for (unit,) in view.rows("batch_units", facts.study_ids)}
    _print(answer, format, wide, plot, sorted(units - {"examples"}))


def workloads(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS]…", help="Only workloads that match every word: 'resnet50 lars'."),
    ] = None,
    wide: WideOption = False,
    lake: LakeOption = None,
    release: ReleaseOption = None,
    format: Annotated[TextFormat, typer.Option(help="Output format.")] = "table",  # noqa: A002
) -> None:
    """List the workloads, or search them.

    Words match names, other names that people use, metrics, and the rounds, organisations and systems of trials.
    """
    without_pandas()
    from losslake.questions.release.workload_words import WorkloadWords, words_of

    view = _opened(lake, release)
    matches = list(view.workloads)
    if words:
        known = WorkloadWords.of_release(view)
        given = words_of(" ".join(words))
        matches = known.matches(given)
        if not matches:
            near = [f"'{' '.join(each)}'" for each in islice(known.near_searches(given), _MOST_NEAR)]
            advice = f": did you mean {' or '.join(near)}?" if near else ""
            raise LossLakeError(f"no workload of release {view.number} matches '{' '.join(words)}'{advice}")
    _list_workloads(view, matches, format, wide)


def _opened(lake: str | None, release: int | None) -> ReleaseView:
    from losslake.lake.lake import Lake
    from losslake.questions.release.view import ReleaseView

    opened = Lake.open(lake)
    return ReleaseView.open(opened, opened.release(release))


def _list_workloads(view: ReleaseView, names: Iterable[Workload], format: TextFormat, is_wide: bool) -> None:  # noqa: A002
    columns = ("workload", "batch_sizes", "smallest", "largest", "trials", "batch_unit")
    known = {Workload(*row[:4]): row[4:] for row in view.rows("trials_of_workloads")}
    rows = []
    for name in sorted(names):
        sizes = view.workloads[name].batch_sizes
        rows.append((str(name), len(sizes), sizes[0], sizes[-1], *known[name]))
    print_rows(columns, rows, format, is_wide)


def _print(answer: Answer, format: TextFormat, is_wide: bool, has_plot: bool, units: Sequence[str]) -> None:  # noqa: A002
    """Print the answer. units: what batch sizes count, if not examples."""
    if format != "table":
        from losslake.output.formats import FORMATS

        text = b"".join(FORMATS[format].encode(answer)).decode()
        typer.echo(text, nl=format == "json")
        return
    facts, table = answer.facts, answer.table()
    noun = facts["measure"].replace("_", "-")
    sign = "<" if facts["direction"] == "minimize" else ">"
    sign += "=" if facts["comparator"] == "inclusive" else ""
    title = (
        f"{facts['workloads'][0]}: {noun} to {facts['metric']} {sign} {facts['target']!r}, release {facts['release']}"
    )
    if has_plot:
        from losslake.cli.plot import plot

        points = list(zip(table["batch_size"].to_pylist(), table["amount"].to_pylist(), strict=True))
        for line in plot(points, title, terminal_width() or _WIDTH_OF_A_FILE, sys.stdout.encoding):
            echo(line)
    else:
        columns = table.column_names if is_wide else _columns(facts)
        echo(title)
        show_table(columns, [list(row.values()) for row in table.select(columns).to_pylist()], is_wide)
    if units:
        echo(f"batch sizes count {' or '.join(units)}, and so do examples")
    reached = table.num_rows - table["steps"].null_count
    echo(f"reached at {reached} of {table.num_rows} batch sizes; the crossing is in (previous_step, steps]")
    for each in facts["pooled"]:
        echo(f"pooled: {each['n_trials']} trials of {each['workload']}")
    for text in facts["left_out"]:
        echo(f"left out: {text}")
    for warning in facts["warnings"]:
        echo(f"warning: {warning}")


def _columns(facts: Mapping[str, Any]) -> list[str]:
    """Return the columns of a table, the most telling ones first."""
    columns = list(_COLUMNS)
    if facts["crossing"] != "first":
        columns[5:5] = ["confirmed_steps", "n_confirmed"]
    if facts["measure"] != "steps":
        columns[1:3] = [*_AMOUNTS, "steps"]
    if facts["pooled"]:
        columns.insert(5, "trial_workload")
    return columns
