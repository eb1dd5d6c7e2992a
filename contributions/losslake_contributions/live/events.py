"""The stream of a live page: server-sent events with the curve so far, the state and what there is to say of it.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import numpy as np
import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import Receive, Scope, Send

from losslake.record.numbers import json_number
from losslake_contributions.live.progress import outlook, progress_of, sentences
from losslake_contributions.live.reader import RunReader, RunState
from losslake_contributions.live.subject import Subject
from losslake_contributions.live.thinning import thinned
from losslake_contributions.live.watching import Overview, WatchedRun
from losslake_contributions.store.tables import Link
from losslake_schema.errors import LossLakeError
from losslake_service.operation.connections import ON_SHUTDOWN
from losslake_service.web.templates import moment

MOST_POINTS = 400
_N_LAST = 8
SECONDS_BETWEEN_SIGNS = 15.0
SECONDS_BETWEEN_CHECKS = 2.0  # of the link
NOTHING = np.zeros(0, np.int64), np.zeros(0, np.float64)
_RETRY = b"retry: 3000\n\n"
_SIGN_OF_LIFE = b": still here\n\n"
# no-transform: compression would take a megabyte for each of those who watch.
_log = logging.getLogger(__name__)
_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """A response that goes on until its run or its link has ended, its reader leaves or the service stops.

    places: what is held for it; given back at its end. find: returns the link while it is valid.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        request: Request,
        places: AsyncExitStack,
        watched: WatchedRun,
        subject: Subject,
        link: Link,
        find: Callable[[], Awaitable[Link | None]],
    ) -> None:
        self._places = places
        self._stops = asyncio.Event()
        # uvicorn waits for the end of open streams before it says that it stops.
        request.scope.setdefault("state", {})[ON_SHUTDOWN] = self._stops.set
        super().__init__(_events(watched, subject, partial(_end_of, link, find), self._stops), headers=_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        async with self._places:
            await super().__call__(scope, receive, send)


async def _events(
    watched: WatchedRun, subject: Subject, end_of_link: Callable[[], Coroutine[Any, Any, bytes]], stops: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield the curve after each change, and a sign of life where nothing changes."""
    yield _RETRY
    stopped, ended = asyncio.create_task(stops.wait()), asyncio.create_task(end_of_link())
    try:
        while True:
            if ended.done():
                yield ended.result()
                return
            if watched.trouble is not None:
                yield _end("gone", str(watched.trouble))
                return
            version, overview, event = await watched.view(view_key(subject), partial(curve_of, subject))
            yield b"id: %d\nevent: curve\ndata: %b\n\n" % (version, orjson.dumps(event))
            if overview.state.kind == "finished":
                yield _end("finished", "The run has ended.")
                return
            while not await _changes(watched, version, stopped, ended):
                if stops.is_set():
                    return
                if ended.done():
                    break
                yield _SIGN_OF_LIFE
    finally:
        stopped.cancel()
        ended.cancel()


async def _end_of(link: Link, find: Callable[[], Awaitable[Link | None]]) -> bytes:
    """Return the last event once a link has ended."""
    while link.seconds_left:
        await asyncio.sleep(min(SECONDS_BETWEEN_CHECKS, link.seconds_left))
        try:
            if await find() is None and link.seconds_left:
                return _end("revoked", "The link to this page was revoked: ask for a new one.")
        except (SQLAlchemyError, LossLakeError) as error:
            _log.warning("the link to a live page can't be checked: %s", error)
    return _end("expired", "The link to this page has expired: ask for a new one.")


async def _changes(watched: WatchedRun, version: int, *others: asyncio.Task[Any]) -> bool:
    """Wait for a change; return False if there is none for a while, or when another task ends."""
    changed = asyncio.create_task(watched.wait(version, SECONDS_BETWEEN_SIGNS))
    try:
        await asyncio.wait((changed, *others), return_when=asyncio.FIRST_COMPLETED)
        return changed.done() and changed.result()
    finally:
        changed.cancel()


def view_key(subject: Subject) -> tuple[object, ...]:
    """Return what distinguishes the curve of this subject from those of others."""
    candidate = subject.candidate.workload if subject.candidate is not None else None
    return subject.metric, subject.goal, candidate, subject.trials


def curve_of(subject: Subject, reader: RunReader, overview: Overview) -> dict[str, Any]:
    """Return the data of an event: the thinned curve, the state, and sentences.

    Values that aren't finite are NaN, Infinity and -Infinity, as text.
    """
    steps, values = reader.curves.curve(subject.metric) if subject.metric is not None else NOTHING
    progress = progress_of(steps, values, subject.goal)
    shown = thinned(values, MOST_POINTS, *([] if progress.hit is None else [progress.hit]))
    last = steps[-_N_LAST:].tolist(), values[-_N_LAST:].tolist()
    state = overview.state
    texts = sentences(progress, subject.goal, subject.trials, state.kind == "finished")
    if state.kind == "open" and subject.to_compare is not None:
        texts += outlook(subject.to_compare, steps, values)
    if reader.curves.n_unread:
        texts.append(f"{reader.curves.n_unread:,} lines aren't as the recorder writes them: they are left out.")
    return {
        "metrics": overview.metrics,
        "state": state.kind,
        "state_text": state_text(state),
        "last_step": overview.last_step,
        "n_measurements": progress.n,
        "steps": steps[shown].tolist(),
        "values": [json_number(value) for value in values[shown].tolist()],
        "last": [(step, f"{value:.6g}") for step, value in zip(*last, strict=True)],
        "sentences": [*texts, *subject.notes],
    }


def state_text(state: RunState) -> str:
    """Return the state of a run in words."""
    if state.kind == "open":
        return "open"
    if state.kind == "silent":
        since = f" since {moment(state.seen_at)}" if state.seen_at is not None else ""
        return f"silent{since}: {state.status}"
    return f"finished: {state.status}"


def _end(reason: str, text: str) -> bytes:
    return b"event: end\ndata: %b\n\n" % orjson.dumps({"reason": reason, "text": text})
