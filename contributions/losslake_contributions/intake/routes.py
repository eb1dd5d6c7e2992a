"""Routes of contributions: create, send segments, finish, ask for what is held."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import TypeAdapter, ValidationError

from losslake_contributions.intake import runs, segments
from losslake_contributions.intake.metrics import ContributionMetrics
from losslake_contributions.intake.transfers import Uploads, send_segment
from losslake_contributions.people.links import CONTRIBUTIONS, Links
from losslake_contributions.people.quotas import HourlyQuotas
from losslake_contributions.people.requests import (
    identify,
    in_thread,
    only_parameters,
    parse_body,
    parse_run,
    respond,
)
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.contributions import ContributionStatus, Finish, HeldSegments, RunFacts
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.limits import LARGEST_FACTS
from losslake_contributions.protocol.texts import Ordinal, Sha256, Step
from losslake_contributions.store.database import Database
from losslake_service.problems import ParameterProblem, problem_responses

_SHA256 = TypeAdapter[str](Sha256)
_STEP = TypeAdapter[int](Step)
_ORDINAL = TypeAdapter[int](Ordinal)
_ERRORS = problem_responses(413, 422)
_SEGMENT_BODY = {
    "parameters": [
        {"name": "sha256", "in": "query", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
        {"name": "from_step", "in": "query", "schema": {"type": "integer", "minimum": 0}},
    ],
    "requestBody": {
        "required": True,
        "content": {"application/jsonl": {"schema": {"type": "string", "format": "binary"}}},
    },
}


def add_contributions(router: APIRouter, database: Database, hourly: HourlyQuotas, links: Links) -> None:
    """Add the routes of contributions, without those of their segments."""

    @router.put(f"{CONTRIBUTIONS}/{{run}}", responses=_ERRORS, openapi_extra=body_of(RunFacts), response_class=Response)
    async def put_contribution(request: Request, run: str) -> Response:
        """Create a contribution; the body is its run.json. 201, and 200 for the same again."""
        only_parameters(request)
        identity = await identify(request, database, "contribute")
        run, body = parse_run(run), await request.body()
        if len(body) > LARGEST_FACTS:
            raise ContributionError("too-large", f"a run.json has at most {LARGEST_FACTS:,} bytes")
        facts = runs.parse_facts(body)
        if not await in_thread(runs.exists, database, run):
            hourly.use(identity.token, "runs")
        is_new = await in_thread(runs.create, database, identity, run, facts)
        document = await in_thread(runs.status, database, identity, run)
        return respond(await _linked(document, links, request, identity), 201 if is_new else 200)

    @router.get(f"{CONTRIBUTIONS}/{{run}}", responses=_ERRORS, response_model=ContributionStatus)
    async def get_contribution(request: Request, run: str) -> Response:
        """Return the state of a contribution, and of its submission."""
        only_parameters(request)
        identity = await identify(request, database, "contribute", "review")
        document = await in_thread(runs.status, database, identity, parse_run(run))
        return respond(await _linked(document, links, request, identity))

    @router.get(f"{CONTRIBUTIONS}/{{run}}/facts", responses=_ERRORS, response_model=RunFacts)
    async def get_facts(request: Request, run: str) -> Response:
        """Return the run.json of a contribution."""
        only_parameters(request)
        identity = await identify(request, database, "contribute", "review")
        facts = await in_thread(runs.facts_of, database, identity, parse_run(run))
        return Response(facts, 200, {"Cache-Control": "no-store"}, "application/json")

    @router.post(
        f"{CONTRIBUTIONS}/{{run}}/finish",
        responses=_ERRORS,
        openapi_extra=body_of(Finish),
        response_model=ContributionStatus,
    )
    async def finish(request: Request, run: str) -> Response:
        """Finish a contribution, naming all of its segments; the same again is 200. The last end counts."""
        only_parameters(request)
        identity = await identify(request, database, "contribute")
        run, end = parse_run(run), await parse_body(request, Finish)
        await in_thread(segments.finish, database, identity, run, end)
        return respond(await in_thread(runs.status, database, identity, run))


def add_segments(
    router: APIRouter,
    database: Database,
    hourly: HourlyQuotas,
    uploads: Uploads,
    metrics: ContributionMetrics,
) -> None:
    """Add the routes of segments."""

    @router.get(f"{CONTRIBUTIONS}/{{run}}/segments", responses=_ERRORS, response_model=HeldSegments)
    async def get_segments(request: Request, run: str) -> Response:
        """Return the segments that are held of a contribution."""
        only_parameters(request)
        identity = await identify(request, database, "contribute", "review")
        return respond(await in_thread(segments.held, database, identity, parse_run(run)))

    @router.get(f"{CONTRIBUTIONS}/{{run}}/segments/{{attempt}}/{{n}}", responses=_ERRORS, response_class=Response)
    async def get_segment(request: Request, run: str, attempt: str, n: str) -> Response:
        """Return the JSON lines of a segment, as they were sent."""
        only_parameters(request)
        identity = await identify(request, database, "contribute", "review")
        numbers = parse_number("attempt", attempt), parse_number("n", n)
        file = await in_thread(segments.segment_file, database, identity, parse_run(run), *numbers)
        headers = {"Content-Disposition": 'attachment; filename="segment.jsonl"'}
        return await send_segment(file, headers, "application/jsonl")

    @router.put(
        f"{CONTRIBUTIONS}/{{run}}/segments/{{attempt}}/{{n}}",
        responses=_ERRORS,
        openapi_extra=_SEGMENT_BODY,
        response_class=Response,
    )
    async def put_segment(request: Request, run: str, attempt: str, n: str) -> Response:
        """Store a segment; sha256 is of its JSON lines. 201, and 200 for the same again; durable in both cases."""
        query = only_parameters(request, "sha256", "from_step")
        identity = await identify(request, database, "contribute")
        key = segments.SegmentKey(
            parse_run(run),
            parse_number("attempt", attempt),
            parse_number("n", n),
            _parameter(query, "from_step", _STEP) if "from_step" in query else None,
            _parameter(query, "sha256", _SHA256),
        )
        with uploads.place(identity.token):
            # Before the body, so that what can't be stored isn't received.
            await in_thread(database.read, partial(segments.check_slot, identity=identity, key=key))
            hourly.use(identity.token, "segments")
            try:
                data = await uploads.receive(request, key.sha256)
                hourly.use(identity.token, "bytes", len(data))
                is_new = await in_thread(segments.add_segment, database, identity, key, data)
            except ContributionError as error:
                metrics.received.labels(error.kind).inc()
                raise
        metrics.received.labels("stored" if is_new else "held").inc()
        metrics.bytes.inc(len(data) if is_new else 0)
        return respond(await in_thread(runs.status, database, identity, key.run), 201 if is_new else 200)


async def _linked(
    document: ContributionStatus, links: Links, request: Request, identity: Identity
) -> ContributionStatus:
    """Return the state of a contribution with its links."""
    return document.model_copy(update={"links": await in_thread(links.of_run, request, identity, document.id)})


def body_of(kind: type[Any]) -> dict[str, Any]:
    """Return the part of OpenAPI that describes the body of a request."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def parse_number(name: str, text: str) -> int:
    """Return the number of an attempt or a segment in a path."""
    if text.isascii() and text.isdigit() and len(text) <= 9:
        try:
            return _ORDINAL.validate_python(int(text), strict=True)
        except ValidationError:
            pass
    raise ParameterProblem("bad-parameter", name, f"{name} in the path is a number from 1 to 999,999,999")


def _parameter(query: Mapping[str, str], name: str, kind: TypeAdapter[Any]) -> Any:
    if name not in query:
        raise ParameterProblem(
            "missing-parameter", name, f"the parameter '{name}' is missing: add {name}=… to the query"
        )
    text = query[name]
    is_number = kind is _STEP and text.isascii() and text.isdigit() and len(text) <= 16
    try:
        return kind.validate_python(int(text) if is_number else text, strict=True)
    except ValidationError:
        what = "a whole number from 0" if kind is _STEP else "64 hexadecimal digits in lower case"
        raise ParameterProblem("bad-parameter", name, f"{name} is {what}") from None


def is_segment(scope: Any) -> bool:
    """Return True for a request that sends a segment, whose body this module receives itself."""
    path: str = scope["path"]
    return scope["method"] == "PUT" and path.startswith(f"{CONTRIBUTIONS}/") and path.count("/") == 6
