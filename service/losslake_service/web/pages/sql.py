"""The page for SQL: a statement, its result as a table or a chart, and the tables that it can ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake_service.sandbox.errors import KINDS, SqlLimits, SqlProblem
from losslake_service.web.chart import Line, snippets
from losslake_service.web.examples import example
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Page, PageAsked, PageKind
from losslake_service.web.sql.console import SqlExample, SqlTable, console_document, examples_of, tables_of
from losslake_service.web.sql.outcome import Outcome, ResultTable, SqlPageParameters, outcome_of
from losslake_service.web.templates import Query, with_query

PATH = "/sql"
STATEMENT = "STATEMENT"
"""Stands for the statement in lines and addresses that scripts fill in."""
_ANSWER = "/v1/sql"
_FORMATS = ("csv", "json", "parquet", "arrow")
_MEDIA_TYPES = {"application/json", "text/csv", "application/vnd.apache.parquet"}
_LONGEST_TITLE = 60


@dataclass(frozen=True)
class Pattern:
    """A line or an address with STATEMENT in place of the statement, percent-encoded; text: with the one asked."""

    name: str
    pattern: str
    text: str


@dataclass(frozen=True)
class ExampleShown:
    """A statement to start from, and the page that runs it."""

    title: str
    url: str


@dataclass(frozen=True)
class SqlShown:
    """What the template shows.

    limits: none where SQL is switched off. table, problem: what became of the statement, if the server ran it. rerun:
    the address at which the server runs it; empty where it did.
    """

    statement: str
    limits: SqlLimits | None
    table: ResultTable | None
    problem: SqlProblem | None
    rerun: str
    tables: Sequence[SqlTable]
    metaparameters: Sequence[str]
    examples: Sequence[ExampleShown]
    downloads: Sequence[Pattern]
    lines: Sequence[Pattern]
    console: str


def sql_page(asked: PageAsked) -> Page:
    """The page, with what became of the statement where it was run."""
    parameters: SqlPageParameters = asked.parameters
    outcome: Outcome | None = asked.prepared
    statement = parameters.q
    found = example(asked.view)
    problem = outcome.problem if outcome is not None else None
    waits = bool(statement) and asked.sql is not None and outcome is None
    shown = SqlShown(
        statement=statement,
        limits=asked.sql,
        table=outcome.table if outcome is not None else None,
        problem=problem,
        rerun=asked.url(PATH, q=statement, run=1) if waits else "",
        tables=tables_of(asked.view, found),
        metaparameters=sorted(asked.view.metaparameters()),
        examples=[_example(asked, each) for each in examples_of(asked.view, found)],
        downloads=[_download(asked, name) for name in _FORMATS],
        lines=_lines(asked),
        console=console_document(asked.view),
    )
    first_words = " ".join(statement.split())
    return Page(
        template="sql.html",
        title=f"SQL: {first_words[:_LONGEST_TITLE]}" if statement else "SQL",
        description=f"Ask release {asked.view.number} of LossLake in SQL: studies, trials and measurements of training "
        "curves, as a table or a chart, with a link to share.",
        url=asked.url(PATH, **_state(parameters)),
        content=shown,
        picture=first_chart(asked),
        styles=("sql.css",),
        scripts=("sql.js",) if asked.sql is not None else (),
        status=KINDS[problem.kind][0] if problem is not None else 200,
        headers={"retry-after": str(problem.retry_after)} if problem is not None and problem.retry_after else {},
    )


def _state(parameters: SqlPageParameters) -> dict[str, str | None]:
    names = ("q", "show", "x", "y", "colour", "mark", "log")
    return {name: getattr(parameters, name) or None for name in names}


def _example(asked: PageAsked, found: SqlExample) -> ExampleShown:
    return ExampleShown(found.title, asked.url(PATH, q=found.statement, **dict(found.chart)))


def _download(asked: PageAsked, name: str) -> Pattern:
    def address(statement: str) -> str:
        return with_query(f"{_ANSWER}.{name}", _query(asked, statement))

    return Pattern(name, address(STATEMENT), address(asked.parameters.q))


def _lines(asked: PageAsked) -> list[Pattern]:
    def lines(statement: str) -> list[Line]:
        return [Line(*each) for each in snippets(asked.address, _ANSWER, _query(asked, statement), _MEDIA_TYPES)]

    pairs = zip(lines(STATEMENT), lines(asked.parameters.q), strict=True)
    return [Pattern(pattern.tool, pattern.text, line.text) for pattern, line in pairs]


def _query(asked: PageAsked, statement: str) -> Query:
    return [("q", statement), ("release", str(asked.view.number))]


SQL = PageKind(PATH, SqlPageParameters, sql_page, outcome_of)
