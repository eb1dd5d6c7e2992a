"""The route by which runs are sent while they train."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import Response

from losslake_contributions.intake.metrics import ContributionMetrics
from losslake_contributions.intake.pieces import BETWEEN_SIGNS, add_pieces, charge
from losslake_contributions.people.quotas import HourlyQuotas
from losslake_contributions.people.requests import (
    ERRORS,
    body_of,
    identify,
    in_thread,
    only_parameters,
    parse_body,
    respond,
)
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.pieces import LiveAnswer, LivePieces
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database

LIVE = "/v1/live"
# Requests a second of all senders together: each takes some 5 ms.
_MOST_REQUESTS = 80
_LONGEST_PAUSE_S = 2.5
MOST_WAITING = 16
_RETRY_SECONDS = 1


def add_live(
    router: APIRouter, database: Database, hourly: HourlyQuotas, metrics: ContributionMetrics, settings: Settings
) -> None:
    """Add the route."""
    silent = timedelta(minutes=settings.silent_minutes)
    between_signs = min(BETWEEN_SIGNS, silent / 10) if silent else BETWEEN_SIGNS
    pace, turns = Pace(settings.live_seconds), Turns()

    @router.post(LIVE, responses=ERRORS, openapi_extra=body_of(LivePieces), response_model=LiveAnswer)
    async def post_live(request: Request) -> Response:
        """Add pieces of segments that are still being written; durable when answered. Says what is held of each."""
        began = time.monotonic()
        only_parameters(request)
        identity = await identify(request, database, "contribute")
        try:
            async with turns.of(identity.token):
                sent = await parse_body(request, LivePieces)
                hourly.use(identity.token, "bytes", sum(charge(len(piece.lines.encode())) for piece in sent.pieces))
                held, refused = await in_thread(add_pieces, database, identity, sent, between_signs, kind="live")
        except ContributionError as error:
            metrics.received.labels(error.kind).inc()
            raise
        metrics.received.labels("live").inc()
        return respond(
            LiveAnswer(held=tuple(held), refused=tuple(refused), seconds=pace.next(time.monotonic() - began))
        )


class Turns:
    """The turns of tokens: one request of a token at a time, and few that wait for it."""

    def __init__(self) -> None:
        self._turns: dict[str, asyncio.Lock] = {}
        self._present: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, token: str) -> AsyncIterator[None]:
        """Wait for the turn of a token's request; raise ContributionError if too many wait already."""
        if self._present[token] > MOST_WAITING:
            detail = f"{MOST_WAITING} requests of the token wait already: try again in {_RETRY_SECONDS} s"
            raise ContributionError("too-fast", detail, retry_after=_RETRY_SECONDS)
        self._present[token] += 1
        try:
            async with self._turns.setdefault(token, asyncio.Lock()):
                yield
        finally:
            self._present[token] -= 1
            if not self._present[token]:
                del self._present[token], self._turns[token]


class Pace:
    """The times of the next requests of all senders, evenly apart, so that none waits for those of others."""

    def __init__(self, seconds: float) -> None:
        self._least = seconds
        self._free = 0.0

    def next(self, took: float) -> float:
        """Return the seconds that the sender of a request is to wait before its next one. took: seconds until now.

        A service that is late gets as much time without the request: else the late ones would pile up.
        """
        now = time.monotonic()
        earliest, latest = now + max(self._least, took), now + max(self._least, _LONGEST_PAUSE_S)
        at = min(max(self._free, earliest), latest)
        self._free = at + 1 / _MOST_REQUESTS
        return round(at - now, 3)
