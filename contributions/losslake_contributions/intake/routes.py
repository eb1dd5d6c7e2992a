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
    ERRORS,
    body_of,
    in_thread,
    parse_body,
    parse_run,
    respond,
    sender,
)
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.contributions import ContributionStatus, Finish, HeldSegments, RunFacts, Segment
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.limits import LARGEST_FACTS
from losslake_contributions.protocol.texts import Sha256, Step
from losslake_contributions.store.database import Database
from losslake_service.problems import ParameterProblem

_SHA256 = TypeAdapter[str](Sha256)
_STEP = TypeAdapter[int](Step)
_RUN = f"{CONTRIBUTIONS}/{{run}}"
_SEGMENT = f"{_RUN}/segments/{{attempt}}/{{n}}"
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
    contributor, reader = sender(database, "contribute"), sender(database, "contribute", "review")

    async def linked_status(request: Request, identity: Identity, run: str) -> ContributionStatus:
        document = await in_thread(runs.status, database, identity, run)
        return document.model_copy(update={"links": await in_thread(links.of_run, request, identity, run)})

    @router.put(_RUN, responses=ERRORS, openapi_extra=body_of(RunFacts), response_class=Response)
    async def put_contribution(request: Request, run: str, identity: Identity = contributor) -> Response:
        """Create a contribution; the body is its run.json. 201, and 200 for the same again."""
        run, body = parse_run(run), await request.body()
        if len(body) > LARGEST_FACTS:
            raise ContributionError("too-large", f"a run.json has at most {LARGEST_FACTS:,} bytes")
        facts = runs.parse_facts(body)
        if not await in_thread(runs.exists, database, run):
            hourly.use(identity.token, "runs")
        is_new = await in_thread(runs.create, database, identity, run, facts)
        return respond(await linked_status(request, identity, run), 201 if is_new else 200)

    @router.get(_RUN, responses=ERRORS, response_model=ContributionStatus)
    async def get_contribution(request: Request, run: str, identity: Identity = reader) -> Response:
        """Return the state of a contribution, and of its submission."""
        return respond(await linked_status(request, identity, parse_run(run)))

    @router.get(f"{_RUN}/facts", responses=ERRORS, response_model=RunFacts)
    async def get_facts(run: str, identity: Identity = reader) -> Response:
        """Return the run.json of a contribution."""
        facts = await in_thread(runs.facts_of, database, identity, parse_run(run))
        return Response(facts, 200, {"Cache-Control": "no-store"}, "application/json")

    @router.post(f"{_RUN}/finish", responses=ERRORS, openapi_extra=body_of(Finish), response_model=ContributionStatus)
    async def finish(request: Request, run: str, identity: Identity = contributor) -> Response:
        """Finish a contribution, naming all of its segments; the same again is 200. The last end counts."""
        run, end = parse_run(run), await parse_body(request, Finish)
        await in_thread(segments.finish, database, identity, run, end)
        return respond(await in_thread(runs.status, database, identity, run))


def add_segments(
    router: APIRouter, database: Database, hourly: HourlyQuotas, uploads: Uploads, metrics: ContributionMetrics
) -> None:
    """Add the routes of segments."""
    reader = sender(database, "contribute", "review")
    contributor = sender(database, "contribute", parameters=("sha256", "from_step"))

    @router.get(f"{_RUN}/segments", responses=ERRORS, response_model=HeldSegments)
    async def get_segments(run: str, identity: Identity = reader) -> Response:
        """Return the segments that are held of a contribution."""
        return respond(await in_thread(segments.held, database, identity, parse_run(run)))

    @router.get(_SEGMENT, responses=ERRORS, response_class=Response)
    async def get_segment(run: str, attempt: str, n: str, identity: Identity = reader) -> Response:
        """Return the JSON lines of a segment, as they were sent."""
        numbers = parse_number("attempt", attempt), parse_number("n", n)
        file = await in_thread(segments.segment_file, database, identity, parse_run(run), *numbers)
        headers = {"Content-Disposition": 'attachment; filename="segment.jsonl"'}
        return await send_segment(file, headers, "application/jsonl")

    @router.put(_SEGMENT, responses=ERRORS, openapi_extra=_SEGMENT_BODY, response_class=Response)
    async def put_segment(
        request: Request, run: str, attempt: str, n: str, identity: Identity = contributor
    ) -> Response:
        """Store a segment; sha256 is of its JSON lines. 201, and 200 for the same again; durable in both cases."""
        run, query = parse_run(run), request.query_params
        segment = Segment.model_construct(
            attempt=parse_number("attempt", attempt),
            n=parse_number("n", n),
            from_step=_parameter(query, "from_step", _STEP) if "from_step" in query else None,
            sha256=_parameter(query, "sha256", _SHA256),
            bytes=0,
        )
        with uploads.place(identity.token):
            # Before the body, so that what can't be stored isn't received.
            await in_thread(database.read, partial(segments.check_slot, identity=identity, run=run, segment=segment))
            hourly.use(identity.token, "segments")
            try:
                data = await uploads.receive(request, segment.sha256)
                hourly.use(identity.token, "bytes", len(data))
                is_new = await in_thread(segments.add_segment, database, identity, run, segment, data)
            except ContributionError as error:
                metrics.received.labels(error.kind).inc()
                raise
        metrics.received.labels("stored" if is_new else "held").inc()
        metrics.bytes.inc(len(data) if is_new else 0)
        return respond(await in_thread(runs.status, database, identity, run), 201 if is_new else 200)


def parse_number(name: str, text: str) -> int:
    """Return the number of an attempt or a segment in a path."""
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text):
        return int(text)
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
    """Return True for a request that sends a segment, whose body its route receives itself."""
    path: str = scope["path"]
    return scope["method"] == "PUT" and path.startswith(f"{CONTRIBUTIONS}/") and path.count("/") == 6
