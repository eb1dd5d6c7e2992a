"""Calls of tools: arguments are checked as REST checks a query, and answered by the same questions and sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import orjson
from anyio.to_thread import run_sync
from fastapi import Request
from fastapi.responses import Response

from losslake.questions.declaration.cost import Expensive
from losslake.questions.declaration.parameters import MOST_PLACES
from losslake.questions.declaration.question import Question
from losslake.questions.lists.lists import ListRequest
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_words import words_of
from losslake_service.assistants.short_answers import Document, answer_document, shortened, visible
from losslake_service.assistants.tools import MOST_ROWS, TOOLS, Tool
from losslake_service.expensive.answers import Answers
from losslake_service.problems import ParameterProblem
from losslake_service.routes.questions import release_of
from losslake_service.routes.reading import read_query, unknown_parameter
from losslake_service.routes.sql import PATH as SQL_PATH
from losslake_service.routes.sql import check_depth, read_statement
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.errors import unavailable
from losslake_service.web.templates import subject_page, with_query

_LONGEST_URL = 2_000
_LONGEST_NAME = 100
_MOST_SEARCHES = 5
Pairs = list[tuple[str, str]]
# Of another process, which answers expensive questions.
ANSWER_PATH = "/answer"


class Tools:
    """The tools over the releases of a lake. sql: None if SQL is disabled: there is no tool for it then."""

    def __init__(self, releases: Releases, sql: SqlStatements | None, answers: Answers | None = None) -> None:
        self._releases, self._sql, self._answers = releases, sql, answers
        self.by_name: Mapping[str, Tool] = {each.name: each for each in TOOLS if sql or each.question is not None}

    async def call(self, name: str, arguments: Mapping[str, Any], request: Request | None, address: str) -> Document:
        """Return the answer of a tool, raising what the routes of REST raise.

        request: of the waiting client; None for the client of this process, whose questions may cost anything.
        address: of the service, for links.
        """
        tool = self.by_name[name]
        for argument in arguments:
            if argument not in tool.schema["properties"]:
                raise unknown_parameter(_cut(argument), tool.schema["properties"])
        # Halves of surrogate pairs, which JSON can hold, are in no name.
        text = json.dumps(arguments, ensure_ascii=False).encode(errors="replace")
        if tool.question is None:
            return await self._run_sql(text, request, address)
        pairs = list(_pairs(json.loads(text)))
        parameters: Any = read_query(urlencode(pairs).encode(), tool.question.parameters)
        view = await self._releases.view_async(release_of(parameters))
        work = partial(_answer, tool, tool.question, view, parameters, pairs, address)
        if self._answers is None or request is None:
            return await run_sync(work)
        try:
            return await self._answers.here(request, work)
        except Expensive as expensive:
            query = urlencode([("name", name), ("arguments", text), ("address", address)]).encode()
            response = await self._answers.forward(request, view.number, expensive, ANSWER_PATH, query, in_memory=True)
            document: Document = orjson.loads(bytes(response.body))
            if response.status_code != 200:
                raise BadParameter("arguments", str(document["detail"])) from None
            return document

    async def _run_sql(self, arguments: bytes, request: Request | None, address: str) -> Document:
        assert self._sql is not None
        query = read_statement(arguments)
        check_depth(query.parameters)
        view = await self._releases.view_async(query.release)
        most = min(query.limit or MOST_ROWS, MOST_ROWS)
        result = await self._sql.run(request, view, query.sql, query.parameters, most, "cells")
        with result:
            try:
                document = orjson.loads(result.path.read_bytes())
                columns = document["columns"]
                rows = [dict(zip([each["name"] for each in columns], map(_value, row, columns), strict=True))
                        for row in document["rows"]]  # fmt: skip
            except (ValueError, KeyError, TypeError, OSError):
                raise unavailable() from None
        notes = {"rows": [f"rows after the first {most}"], "bytes": ["rows beyond the limit sql_result_mb"]}
        types = {each["name"]: each["type"] for each in columns}
        facts = {"release": view.number, "columns": types}
        reply = shortened(facts, rows, notes.get(result.truncated or "", []))
        pairs = [("q", query.sql), ("release", str(view.number))]
        return {**reply, **_links(address, with_query("/sql", pairs), SQL_PATH, pairs)}


async def answer_expensive(tools: Tools, request: Request) -> Response:
    """Return the answer of a tool to another process, which asks for it instead of computing it."""
    name, arguments, address = (request.query_params[each] for each in ("name", "arguments", "address"))
    return Response(orjson.dumps(await tools.call(name, json.loads(arguments), None, address)))


def _answer(tool: Tool, question: Question, view: ReleaseView, parameters: Any, pairs: Pairs, address: str) -> Document:
    if question.listing is not None:
        limited = parameters.model_copy(update={"limit": min(parameters.limit or MOST_ROWS, MOST_ROWS)})
        document = answer_document(question.answer(view, ListRequest(limited, {}, is_json=True)), tool.columns)
        if not document["rows"] and parameters.q:
            similar = islice(view.words.near_searches(words_of(parameters.q)), _MOST_SEARCHES)
            document["similar_searches"] = [visible(" ".join(words)) for words in similar]
    else:
        document = answer_document(question.answer(view, parameters), tool.columns)
    goal = [(name, str(document[name])) for name in ("metric", "target") if isinstance(document.get(name), str | float)]
    query = [*pairs, *(each for each in goal if each[0] not in dict(pairs))]
    query = [*(each for each in query if each[0] != "release"), ("release", str(view.number))]
    return {**document, **_links(address, _page(question, query), question.path, query)}


def _page(question: Question, pairs: Pairs) -> str:
    """Return the path of the page about what an answer is about."""
    if question.listing is not None:
        return with_query(question.path.removeprefix("/v1"), [each for each in pairs if each[0] in ("q", "release")])
    if not any(name in ("workload", "study", "trial") for name, _ in pairs):
        return f"/releases/{dict(pairs)['release']}"
    return subject_page(pairs)


def _links(address: str, page: str, path: str, pairs: Pairs) -> Document:
    """Return links to the page and the whole answer. Of a very long one, its path remains."""
    links = {"page": page, "data": with_query(path, pairs)}
    fitting = {name: url if len(url) <= _LONGEST_URL else url.partition("?")[0] for name, url in links.items()}
    return {name: address + url for name, url in fitting.items()}


def _pairs(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the arguments as the pairs of a query; raises ParameterProblem for what a query can't have."""
    for name, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        if len(values) > MOST_PLACES:
            raise ParameterProblem(
                "bad-parameter", name, f"{name} has {len(values):,} values: give at most {MOST_PLACES}"
            )
        for each in values:
            if isinstance(each, dict | list):
                raise ParameterProblem("bad-parameter", name, f"{name} is nested: give texts or numbers")
            if each is not None:
                yield name, each if isinstance(each, str) else json.dumps(each)


def _cut(name: str) -> str:
    return name[:_LONGEST_NAME].encode(errors="replace").decode()


def _value(cell: str | None, column: Mapping[str, Any]) -> Any:
    """Return the value of a cell: a number, or a text of bounded length."""
    return orjson.loads(cell) if cell is not None and column["is_number"] else cell
