"""What became of a statement that the server ran for the page, as it does for browsers without scripts."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from losslake.questions.release_view import ReleaseView
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.errors import SqlProblem
from losslake_service.web.addresses import page_of, with_query
from losslake_service.web.page import PageParameters
from losslake_service.web.sql.parameters import SqlPageParameters
from losslake_service.web.sql.result_table import Link, ResultTable, result_table

MOST_ROWS = 200
"""Of a result in a page that is made on the server."""


@dataclass(frozen=True)
class Outcome:
    """Either its first rows or what kept it from having any."""

    table: ResultTable | None = None
    problem: SqlProblem | None = None


async def outcome_of(request: Request, parameters: PageParameters, view: ReleaseView) -> Outcome | None:
    """Run the statement as /v1/sql does, by the same sandbox and limits; None where it isn't to be run here.

    It holds up no thread meanwhile. Raises AskerLeft.
    """
    assert isinstance(parameters, SqlPageParameters)
    statements: SqlStatements | None = request.app.state.sql
    if statements is None or not parameters.q or not parameters.run:
        return None
    try:
        result = await statements.run(request, view, parameters.q, most_rows=MOST_ROWS)
    except SqlProblem as problem:
        return Outcome(problem=problem)
    return Outcome(await run_in_threadpool(result_table, result, MOST_ROWS, _link(parameters.release)))


def _link(release: int | None) -> Link:
    return lambda what: with_query(page_of(what), [("release", release)])
