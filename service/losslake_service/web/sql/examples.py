"""Statements to start from, on names and a goal that the release has, each with the chart that shows it best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import scaling
from losslake.questions.selection import Goal, Selection
from losslake_service.examples import Example
from losslake_service.web.addresses import Query
from losslake_service.web.statements import purpose, statement

_CHARTS: tuple[tuple[str, str], ...] = (
    ("optimizers_compared", "line batch_size steps optimizer xy"),
    ("trials_that_reach", "points learning_rate steps  x"),
    ("share_of_trials", "line batch_size share_of_trials optimizer x"),
    ("learning_rates", "points learning_rate best_value batch_size xy"),
    ("curves_of_the_best", "line step value trial_id y"),
    ("largest_workloads", ""),
)
"""By statement: mark, x, y, colour, and which axes are logarithmic; empty where a table says it better."""
_MOST_LOOKED_AT = 5
_PARTS = ("mark", "x", "y", "colour", "log")


@dataclass(frozen=True)
class SqlExample:
    """A statement with what it tells. chart: the part of a page's query that draws its result; empty for a table."""

    title: str
    statement: str
    chart: Query


def examples_of(view: ReleaseView, found: Example | None) -> Sequence[SqlExample]:
    """The statements; without data, one that runs all the same. found: what to ask where no goal is reached."""
    example = _most_compared(view) or found
    if example is None:
        return (SqlExample(_title("largest_workloads"), statement("largest_workloads"), ()),)
    values: dict[str, str | float] = {
        "metric": example.metric,
        "target": example.target,
        "collection": example.workload.collection,
        "dataset": example.workload.dataset,
        "model": example.workload.model,
        "optimizer": example.workload.optimizer,
        "batch_size": example.batch_size,
    }
    return [SqlExample(_title(name), statement(name, **values), _chart(words)) for name, words in _CHARTS]


def _most_compared(view: ReleaseView) -> Example | None:
    """A goal of the model that most optimizers were tried on, at a batch size in the middle of those that reach it."""
    tried = Counter((each.collection, each.dataset, each.model) for each in view.workloads)
    goals = [goal for goal in view.goals if goal.metric in view.workloads[goal.workload].measured]
    goals.sort(key=lambda goal: -tried[goal.workload.collection, goal.workload.dataset, goal.workload.model])
    for goal in (each for each in goals[:_MOST_LOOKED_AT] if view.metrics[each.metric].direction):
        answer = scaling(view, Selection((goal.workload,), goal.metric), Goal(goal.target))
        rows = [row for row in answer.table().to_pylist() if row["trial_id"] is not None]
        if rows:
            row = rows[len(rows) // 2]
            return Example(goal.workload, goal.metric, goal.target, row["batch_size"], row["trial_id"], row["steps"])
    return None


def _chart(words: str) -> Query:
    found = zip(_PARTS, words.split(" "), strict=True) if words else ()
    return [("show", "chart"), *found] if words else ()


def _title(name: str) -> str:
    text = purpose(name)
    return text[:1].upper() + text[1:]
