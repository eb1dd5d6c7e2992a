"""Parts of all routes: the sender of a request, documents in bodies, errors, work in threads.

Work of each kind has threads of its own, so that none waits for work of another kind. Each thread may hold a connection
to the database, whose pool has 15, but those that send e-mails; two more threads read runs that are watched, and one
makes reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Literal, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError

from losslake_contributions.people.audit import Actor, acting
from losslake_contributions.people.tokens import Identity, Scope, authenticate
from losslake_contributions.protocol.errors import KINDS, ContributionError, no_space, unknown_submission
from losslake_contributions.protocol.texts import ANY_UUID, reason_of, run_id
from losslake_contributions.store.database import Database
from losslake_service.problems import ParameterProblem, problem, problem_responses

T = TypeVar("T")
Body = TypeVar("Body", bound=BaseModel)
ERRORS = problem_responses(413, 422)
"""The errors that OpenAPI names of each route."""
_LONGEST_ID = 64
# quick: a few statements. live: pieces of runs that train. bulk: whole segments. acceptance: an ingest, which takes up
# to 1 GB of memory. background: what nobody waits for. notifications: what is due and was delivered. email: waits for
# the SMTP server.
Kind = Literal["authentication", "quick", "live", "bulk", "acceptance", "background", "notifications", "email"]
THREADS: Mapping[Kind, int] = {
    "authentication": 2, "quick": 4, "live": 2, "bulk": 2, "acceptance": 1, "background": 1,
    "notifications": 1, "email": 1,
}  # fmt: skip
# Of each event loop.
_limiters = RunVar[dict[Kind, CapacityLimiter]]("limiters")


async def in_thread(work: Callable[..., T], *arguments: Any, kind: Kind = "quick") -> T:
    """Return the result of work that waits for the database or the store, in a thread of its kind."""
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {each: CapacityLimiter(count) for each, count in THREADS.items()}
        _limiters.set(limiters)
    return await run_sync(partial(work, *arguments), limiter=limiters[kind])


async def find_identity(database: Database, authorization: str | None) -> Identity:
    """Return who has the token of a header; raise ContributionError if nobody has."""
    return await in_thread(authenticate, database, authorization, kind="authentication")


async def identify(request: Request, database: Database, *scopes: Scope) -> Identity:
    """Return who sends a request; raise ContributionError without a valid token that has one of the scopes."""
    headers = request.headers.getlist("authorization")
    identity = await find_identity(database, headers[0] if len(headers) == 1 else None)
    identity.require(*scopes)
    act_as(identity, request)
    return identity


def sender(database: Database, *scopes: Scope, parameters: Collection[str] = ()) -> Any:
    """Return the dependency of a route on who sends its requests, whose token has one of the scopes.

    parameters: those that the route has; others are refused before the token is looked at.
    """

    async def identified(request: Request) -> Identity:
        only_parameters(request, *parameters)
        return await identify(request, database, *scopes)

    return Depends(identified)


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
    if not ANY_UUID.fullmatch(text):
        raise unknown_submission(f"'{_shown(text)}'")
    return text


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_ID])


def body_of(kind: type[Any]) -> dict[str, Any]:
    """Return the part of OpenAPI that describes the body of a request."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


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
            advice = f"there are {', '.join(names)}" if names else "leave it out"
            raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{_shown(name)}' here: {advice}")
        if len(request.query_params.getlist(name)) > 1:
            raise ParameterProblem("bad-parameter", name, f"{name} is given twice: give it once")
    return dict(request.query_params)


def respond(document: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a document, which no cache may keep: it is for one client."""
    text = document.model_dump_json()
    return Response(text, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")


async def contribution_problem(request: Request, error: Any) -> Response:
    """Return the problem document of a ContributionError; for FastAPI's handlers of exceptions."""
    headers, detail, more = {"Cache-Control": "no-store"}, str(error), dict(error.more)
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.kind == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
        url = request.app.state.sign_in_url
        if url and request.url.path.startswith("/v1/"):  # of programs, which need a token; pages lead there
            detail, more["sign_in"] = f"{detail} (sign in at {url} to make one)", url
    return problem(request.scope, error.kind, detail, headers, KINDS, **more)


async def no_space_problem(request: Request, error: Any) -> Response:
    """Return the problem document of a full disk; raise any other OSError again. See `contribution_problem`."""
    refusal = no_space(error)
    if refusal is None:
        raise error
    return await contribution_problem(request, refusal)
