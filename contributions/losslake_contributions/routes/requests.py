"""What routes share: who sends a request, documents in bodies, errors, work in threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from anyio.to_thread import run_sync
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError

from losslake_contributions.contract.texts import reason_of, run_id, submission_id
from losslake_contributions.errors import KINDS, ContributionError, unknown_submission
from losslake_contributions.store.audit import Actor, acting
from losslake_contributions.store.database import Database
from losslake_contributions.store.tokens import Identity, Scope, authenticate
from losslake_service.problems import ParameterProblem, problem_document

T = TypeVar("T")
Body = TypeVar("Body", bound=BaseModel)
_LONGEST_ID = 64


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Return the result of work that waits for the database or the store."""
    return await run_sync(partial(work, *arguments))


async def identify(request: Request, database: Database, *scopes: Scope) -> Identity:
    """Return who sends a request; raise ContributionError without a valid token that has one of the scopes."""
    given = request.headers.getlist("authorization")
    identity = await in_thread(authenticate, database, given[0] if len(given) == 1 else None)
    if not set(scopes).intersection(identity.scopes):
        identity.require(scopes[0])
    act_as(identity, request)
    return identity


def act_as(identity: Identity, request: Request) -> None:
    """Have decisions that follow in this request recorded as those of an identity."""
    address = request.client.host if request.client is not None else "unknown"
    acting.set(Actor(address, identity.token, identity.contributor))


def parse_run(text: str) -> str:
    """Return the id of a run in a path; raise ContributionError for one that can't exist."""
    try:
        return run_id(text)
    except ValueError as error:
        raise ContributionError("bad-document", f"'{_shown(text)}': {error}") from None


def check_submission_name(text: str) -> str:
    """Return the id of a submission in a path; raise ContributionError for one that can't exist."""
    try:
        return submission_id(text)
    except ValueError:
        raise unknown_submission(f"'{_shown(text)}'") from None


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_ID])


async def parse_body(request: Request, kind: type[Body]) -> Body:
    """Return the document in a request's body; raise ContributionError if it is invalid."""
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        raise ContributionError("bad-document", reason_of(error)) from None


def only_parameters(request: Request, *names: str) -> Mapping[str, str]:
    """Return the parameters of the query; raise ParameterProblem for unknown and repeated ones."""
    for name in request.query_params:
        if name not in names:
            known = f"there are {', '.join(names)}" if names else "leave it out"
            raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{_shown(name)}' here: {known}")
        if len(request.query_params.getlist(name)) > 1:
            raise ParameterProblem("bad-parameter", name, f"{name} is given twice: give it once")
    return dict(request.query_params)


def respond(document: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a document, which no cache may keep: it is for one client."""
    text = document.model_dump_json()
    return Response(text, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")


async def contribution_problem(request: Request, error: Any) -> Response:
    """Return the problem document of a ContributionError; for FastAPI's handlers of exceptions."""
    headers = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.kind == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    status, title = KINDS[error.kind]
    return problem_document(request.scope, error.kind, status, title, str(error), headers, **error.more)
