"""What scripts of the SQL page know of its release: names to complete, and how charts look. A JSON document.

The tables and macros that a statement may name, in short, as the page has them beside the editor.
Statements to start from, on names and a goal that the release has, each with the chart that shows it best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from losslake.figures import dark, theme
from losslake.figures.dark import Theme, in_theme
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import scaling
from losslake.questions.selection import Goal, Selection
from losslake_service.sandbox.admission import allowed_functions
from losslake_service.web.examples import Example
from losslake_service.web.schema_tables import ColumnShown, TableShown, literal, purpose, schema_tables, statement
from losslake_service.web.templates import Query

MOST_ROWS = 10_000
"""Of a result that scripts ask for and keep; more are downloaded."""


def console_document(view: ReleaseView) -> str:
    """The document as JSON: names of every kind in the release, the functions that may be called, the charts' looks."""
    workloads = view.workloads
    names = {
        "collection": {workload.collection for workload in workloads},
        "dataset": {workload.dataset for workload in workloads},
        "model": {workload.model for workload in workloads},
        "optimizer": {workload.optimizer for workload in workloads},
        "metric": {metric for facts in workloads.values() for metric in facts.measured},
        "metaparameter": set(view.metaparameters()),
        "workload": set(map(str, workloads)),
    }
    document = {
        "release": view.number,
        "most_rows": MOST_ROWS,
        "names": {kind: sorted(found) for kind, found in names.items()},
        "functions": functions(),
        "looks": {"light": _looks("light"), "dark": _looks("dark")},
    }
    return orjson.dumps(document).decode()


def functions() -> list[str]:
    """The functions that statements may call, without operators."""
    return sorted(name for name in allowed_functions() if name.isidentifier() and not name.startswith("_"))


def _looks(wanted: Theme) -> dict[str, Any]:
    """Vega-Lite's `config` of the service's own figures, with the colours of their series."""
    of_theme = theme if wanted == "light" else dark
    config: dict[str, Any] = in_theme({"config": theme.configuration()}, wanted)["config"]
    colours = {"category": list(of_theme.COLOURS), "ordinal": list(of_theme.ORDERED), "ramp": list(of_theme.ORDERED)}
    return config | {"range": colours, "mark": {"color": of_theme.COLOURS[0]}}


_FIRST = (
    "result_at", "steps_to", "workloads", "studies", "trials", "measurements", "records", "steps_to_result",
    "steps_to_target",
)  # fmt: skip


@dataclass(frozen=True)
class SqlTable:
    """A view, or a macro that gives rows. call: how a statement names it, with arguments that this release answers."""

    name: str
    call: str
    row: str
    is_macro: bool
    columns: Sequence[ColumnShown]


def tables_of(view: ReleaseView, example: Example | None) -> Sequence[SqlTable]:
    """All of them, those asked most first."""
    tables = sorted(schema_tables(view), key=lambda table: (*_FIRST, table.name).index(table.name))
    return [
        SqlTable(table.name, _call(table, example), _first_sentence(table.row), table.is_macro, table.columns)
        for table in tables
    ]


def _call(table: TableShown, example: Example | None) -> str:
    if not table.is_macro:
        return table.name
    metric, target = (example.metric, example.target) if example else ("val/classification_error", 0.05)
    return f"{table.name}({literal(metric)}, {literal(target)})"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


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
