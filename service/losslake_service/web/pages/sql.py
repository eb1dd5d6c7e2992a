"""The SQL page: a statement, its result as a table or a chart, and the tables to query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from fastapi import Request

from losslake.figures import theme
from losslake.figures.theme import Theme, in_theme
from losslake.questions import scaling
from losslake.questions.lists.listings import WORKLOAD_KEYS
from losslake.questions.release.view import ReleaseView
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.admission import allowed_functions
from losslake_service.sandbox.errors import KINDS, SqlProblem
from losslake_service.sandbox.results import CELLS
from losslake_service.web.code_lines import literal, purpose, snippets, statement
from losslake_service.web.examples import Example, find_example
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest
from losslake_service.web.schema_tables import SchemaTable, call, schema_tables
from losslake_service.web.sql_result import ResultTable, result_table
from losslake_service.web.starting_example import first_chart, group_by_model
from losslake_service.web.templates import Query, page_path, with_query

PATH = "/sql"
# The placeholder for the percent-encoded statement in texts that scripts fill in.
STATEMENT = "STATEMENT"
# The most rows of a result that the server renders.
MOST_ROWS = 200
# The most rows of a result that scripts request.
MOST_ROWS_OF_SCRIPTS = 10_000
_ANSWER = "/v1/sql"
_LONGEST_TITLE = 60
_MOST_GOALS = 5
_FIRST = (
    "result_at", "best_setting_at", "pooled_result_at", "steps_to", "amount_at", "workloads", "studies", "trials",
    "measurements", "records", "steps_to_result", "steps_to_target", "flags",
)  # fmt: skip
# Example statements with mark, x, y, colour and logarithmic axes of their charts; empty for a table.
_CHARTS: tuple[tuple[str, str], ...] = (
    ("optimizers_compared", "line batch_size steps optimizer xy"),
    ("trials_that_reach", "points learning_rate steps  x"),
    ("share_of_trials", "line batch_size share_of_trials optimizer x"),
    ("learning_rates", "points learning_rate best_value batch_size xy"),
    ("curves_of_the_best", "line step value trial_id y"),
    ("largest_workloads", ""),
)


class SqlPageParameters(PageParameters):
    """The query of the page: a statement, and how to show its result."""

    q: str = ""
    """The statement."""
    run: bool = False
    """Run the statement on the server, for browsers without scripts."""
    show: str | None = None
    """`chart` to show a chart of the result."""
    x: str | None = None
    """The column of the horizontal axis."""
    y: str | None = None
    """The column of the vertical axis."""
    colour: str | None = None
    """The column of the colours."""
    mark: str | None = None
    """The mark: line, points or bars."""
    log: str | None = None
    """The logarithmic axes: x, y or xy."""


def sql_page(request: PageRequest) -> Page:
    """Return the page, with the result of the statement or its problem if it was run."""
    parameters: SqlPageParameters = request.parameters
    result: ResultTable | SqlProblem | None = request.prepared
    text, view, example = parameters.q, request.view, find_example(request.view)
    problem = result if isinstance(result, SqlProblem) else None
    waits = bool(text) and request.sql is not None and result is None
    words = " ".join(text.split())
    state = {name: getattr(parameters, name) or None for name in ("q", "show", "x", "y", "colour", "mark", "log")}
    return Page(
        template="sql.html",
        title=f"SQL: {words[:_LONGEST_TITLE]}" if text else "SQL",
        description=f"Query release {view.number} of LossLake in SQL: studies, trials and measurements of training "
        "curves, as a table or a chart, with a link to share.",
        url=request.url(PATH, **state),
        content={
            "statement": text,
            "limits": request.sql,
            "table": result if problem is None else None,
            "problem": problem,
            "rerun": request.url(PATH, q=text, run=1) if waits else "",
            "tables": _tables(view, example),
            "metaparameters": sorted(view.metaparameters()),
            "examples": list(_examples(request, _most_compared(view) or example)),
            "downloads": _downloads(request),
            "lines": _lines(request),
            "console": console_document(view),
        },
        picture=first_chart(request),
        styles=("sql.css",),
        scripts=("sql.js",) if request.sql is not None else (),
        status=KINDS[problem.kind][0] if problem is not None else 200,
        headers={"retry-after": str(problem.retry_after)} if problem is not None and problem.retry_after else {},
    )


async def run(
    http: Request, parameters: PageParameters, view: ReleaseView, statements: SqlStatements | None
) -> ResultTable | SqlProblem | None:
    """Run the statement with the sandbox and limits of /v1/sql; return None if it is not to be run.

    Raises ClientDisconnect.
    """
    assert isinstance(parameters, SqlPageParameters)
    if statements is None or not parameters.q or not parameters.run:
        return None
    try:
        result = await statements.run(http, view, parameters.q, max_rows=MOST_ROWS, output=CELLS.name)
    except SqlProblem as problem:
        return problem
    release = [("release", parameters.release)]
    return result_table(result, lambda what: with_query(page_path(what), release))


def console_document(view: ReleaseView) -> str:
    """Return data for the scripts as JSON: names in the release, SQL functions, and themes of charts."""
    workloads = view.workloads
    names = {
        **{key: {getattr(workload, key) for workload in workloads} for key in WORKLOAD_KEYS},
        "metric": {metric for facts in workloads.values() for metric in facts.measured},
        "metaparameter": set(view.metaparameters()),
        "workload": set(map(str, workloads)),
    }
    functions = (name for name in allowed_functions() if name.isidentifier() and not name.startswith("_"))
    document = {
        "release": view.number,
        "max_rows": MOST_ROWS_OF_SCRIPTS,
        "names": {kind: sorted(values) for kind, values in names.items()},
        "functions": sorted(functions),
        "themes": {"light": _chart_config("light"), "dark": _chart_config("dark")},
    }
    return orjson.dumps(document).decode()


def _chart_config(wanted: Theme) -> dict[str, Any]:
    """Return the Vega-Lite `config` of the service's figures, with the colours of series."""
    is_light = wanted == "light"
    colours = theme.COLOURS if is_light else theme.DARK_COLOURS
    ordered = theme.ORDERED if is_light else theme.DARK_ORDERED
    config: dict[str, Any] = in_theme({"config": theme.configuration()}, wanted)["config"]
    ranges = {"category": list(colours), "ordinal": list(ordered), "ramp": list(ordered)}
    return config | {"range": ranges, "mark": {"color": colours[0]}}


def _tables(view: ReleaseView, example: Example | None) -> list[tuple[SchemaTable, str]]:
    """Return all views and macros, the most useful first, each with an example call."""
    metric, target = (example.metric, example.target) if example else ("val/classification_error", 0.05)
    arguments = f"{literal(metric)}, {literal(target)}"
    tables = sorted(schema_tables(view), key=lambda table: (*_FIRST, table.name).index(table.name))
    return [(table, call(table.name, arguments)) for table in tables]


def _examples(request: PageRequest, example: Example | None) -> Iterator[tuple[str, str]]:
    """Yield the purpose and the address of example statements with names and a goal of the release.

    The address selects a suitable chart. Without data there is one statement that still runs.
    """
    values = example.columns() if example is not None else {}
    for name, words in _CHARTS if example is not None else _CHARTS[-1:]:
        chart = dict(zip(("mark", "x", "y", "colour", "log"), words.split(" "), strict=True)) if words else {}
        text, show = purpose(name), "chart" if chart else None
        yield text[:1].upper() + text[1:], request.url(PATH, q=statement(name, **values), show=show, **chart)


def _most_compared(view: ReleaseView) -> Example | None:
    """Return a goal of the model with the most optimizers, at the middle of the batch sizes that reach it."""
    tried = group_by_model(view)
    goals = [goal for goal in view.goals if goal.metric in view.workloads[goal.workload].measured]
    goals.sort(key=lambda goal: -len(tried[goal.workload.collection, goal.workload.dataset, goal.workload.model]))
    for goal in (each for each in goals[:_MOST_GOALS] if view.metrics[each.metric].direction):
        parameters = scaling.ScalingParameters(workload=[str(goal.workload)], metric=goal.metric, target=goal.target)
        rows = scaling.QUESTION.answer(view, parameters).table().to_pylist()
        rows = [row for row in rows if row["trial_id"] is not None and row["batch_size"]]
        if rows:
            row = rows[len(rows) // 2]
            return Example(goal.workload, goal.metric, goal.target, row["batch_size"], row["trial_id"], row["steps"])
    return None


def _downloads(request: PageRequest) -> list[tuple[str, str, str]]:
    """Return each format with the addresses of the result of STATEMENT and of the page's statement."""
    pattern, query = (_query(request, text) for text in (STATEMENT, request.parameters.q))
    paths = {name: f"{_ANSWER}.{name}" for name in ("csv", "json", "parquet", "arrow")}
    return [(name, with_query(path, pattern), with_query(path, query)) for name, path in paths.items()]


def _lines(request: PageRequest) -> list[tuple[str, str, str]]:
    """Return each tool with the lines to copy for STATEMENT and for the page's statement."""
    patterns, lines = (
        snippets(request.address, _ANSWER, _query(request, text)) for text in (STATEMENT, request.parameters.q)
    )
    return [(pattern.tool, pattern.text, line.text) for pattern, line in zip(patterns, lines, strict=True)]


def _query(request: PageRequest, text: str) -> Query:
    return [("q", text), ("release", str(request.view.number))]


SQL = PageKind(PATH, SqlPageParameters, sql_page, run)
