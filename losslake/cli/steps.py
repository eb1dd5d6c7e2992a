"""`losslake steps`, and the goal of a command that is given no metric or target."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import LakeOption, ReleaseOption, TextFormat, say, show_table, write_csv
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

if TYPE_CHECKING:
    from losslake.output.answer import Answer
    from losslake.questions.release_view import ReleaseView


def goal_of(view: ReleaseView, workload: str, metric: str | None, target: float | None) -> tuple[str, float]:
    """The metric and target asked for; what is missing comes from the workload's first goal, val before test."""
    if metric is not None and target is not None:
        return metric, target
    goal = next((g for g in view.goals if str(g.workload) == workload and metric in (None, g.metric)), None)
    if goal is None:
        missing = " and ".join(
            option for option, given in (("--metric", metric), ("--target", target)) if given is None
        )
        measured = ", ".join(view.workload(Workload.parse(workload)).measured)
        raise LossLakeError(f"give {missing}: {workload} has no goal that fills it in; it measures {measured}")
    return goal.metric, goal.target if target is None else target


# What fits the width of a terminal; CSV and JSON have all columns.
_COLUMNS = (
    "batch_size", "steps", "trial_id", "value", "examples", "previous_step", "n_trials", "n_reached", "best_value",
    "perfect_scaling_steps",
)  # fmt: skip


class Direction(StrEnum):
    minimize = "minimize"
    maximize = "maximize"


class Comparator(StrEnum):
    strict = "strict"
    inclusive = "inclusive"


class CrossingRule(StrEnum):
    first = "first"
    k_consecutive = "k_consecutive"
    sustained = "sustained"


class Status(StrEnum):
    COMPLETE = "COMPLETE"
    INCOMPLETE = "INCOMPLETE"
    INFEASIBLE = "INFEASIBLE"


def steps(
    workload: Annotated[
        str | None, typer.Argument(metavar="WORKLOAD", help="collection/dataset/model/optimizer. Default: list them.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Default: that of the workload's goal.", show_default=False)
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Default: that of the workload's goal.", show_default=False)
    ] = None,
    comparator: Annotated[
        Comparator, typer.Option(help="strict: reached is better than the target; inclusive: or equal to it.")
    ] = Comparator.strict,
    crossing: Annotated[
        CrossingRule,
        typer.Option(help="Which hit counts as confirmed_steps: the first, or one that later ones confirm."),
    ] = CrossingRule.first,
    k: Annotated[
        int | None, typer.Option(help="With --crossing k_consecutive: hits in a row. Default: 2.", show_default=False)
    ] = None,
    direction: Annotated[Direction | None, typer.Option(help="Default: the metric's own.", show_default=False)] = None,
    step_budget: Annotated[
        int | None, typer.Option(help="Only evaluations up to this step.", show_default=False)
    ] = None,
    example_budget: Annotated[
        int | None,
        typer.Option(help="Only evaluations up to so many examples (step x batch size).", show_default=False),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Only the first so many trials by id.", show_default=False)] = None,
    status: Annotated[
        list[Status] | None, typer.Option(help="Repeatable. Default: COMPLETE.", show_default=False)
    ] = None,
    lake: LakeOption = None,
    release: ReleaseOption = None,
    format: Annotated[TextFormat, typer.Option(help="How to print.")] = TextFormat.table,  # noqa: A002
) -> None:
    """Print steps to a target by batch size.

    This is the scaling table of a workload; without WORKLOAD, the list of workloads.
    """
    from losslake.lake.lake import Lake
    from losslake.questions import scaling
    from losslake.questions.release_view import ReleaseView
    from losslake.questions.selection import named_workload

    opened = Lake.open(lake)
    view = ReleaseView.open(opened, opened.release(release))
    if workload is None:
        _list_workloads(view, format)
        return
    named = view.workload(named_workload(workload)).workload
    metric, target = goal_of(view, str(named), metric, target)
    # Not validated: what is out of range is refused by the question, in the words of the command line.
    parameters = scaling.ScalingParameters.model_construct(
        workload=[str(named)],
        metric=metric,
        direction=direction.value if direction else None,
        step_budget=step_budget,
        example_budget=example_budget,
        trials=trials,
        status=[s.value for s in status or [Status.COMPLETE]],
        target=target,
        comparator=comparator.value,
        crossing=crossing.value,
        k=k,
    )
    _print(scaling.answer(view, parameters), format)


def _list_workloads(view: ReleaseView, format: TextFormat) -> None:  # noqa: A002
    columns = ("workload", "batch_sizes", "smallest", "largest", "trials")
    rows = [
        (str(w), len(f.batch_sizes), f.batch_sizes[0], f.batch_sizes[-1], len(f.trials.trial_id))
        for w, f in sorted(view.workloads.items())
    ]
    if format is TextFormat.json:
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
    elif format is TextFormat.csv:
        write_csv(sys.stdout, columns, rows)
    else:
        show_table(columns, rows)


def _print(answer: Answer, format: TextFormat) -> None:  # noqa: A002
    from losslake.output.formats import FORMATS

    if format is not TextFormat.table:
        text = b"".join(FORMATS[format.value].encode(answer)).decode()
        typer.echo(text, nl=format is TextFormat.json)
        return
    facts = answer.facts
    columns = _COLUMNS if facts["crossing"] == "first" else (*_COLUMNS, "confirmed_steps", "n_confirmed")
    rows = answer.table().select(columns).to_pylist()
    sign = "<" if facts["direction"] == "minimize" else ">"
    sign += "=" if facts["comparator"] == "inclusive" else ""
    say(f"{facts['workloads'][0]}: steps to {facts['metric']} {sign} {facts['target']!r}, release {facts['release']}")
    show_table(columns, [list(row.values()) for row in rows])
    reached = sum(row["steps"] is not None for row in rows)
    say(f"reached at {reached} of {len(rows)} batch sizes; the crossing lies in (previous_step, steps]")
    for warning in facts["warnings"]:
        say(f"warning: {warning}")
