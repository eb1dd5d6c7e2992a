"""The stream of a live page: server-sent events with the curve so far, the state and what there is to say of it.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import numpy as np
import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake_contributions.live.progress import progress_of, sentences
from losslake_contributions.live.run_reader import RunReader, RunState
from losslake_contributions.live.subject import Subject
from losslake_contributions.live.thinning import thinned
from losslake_contributions.live.watching import Overview, WatchedRun
from losslake_contributions.signed_links import SignedLink
from losslake_service.operation.connections import ON_SHUTDOWN
from losslake_service.web.templates import moment

MOST_POINTS = 400
_N_LAST = 8
SECONDS_BETWEEN_SIGNS = 15.0
NOTHING = np.zeros(0, np.int64), np.zeros(0, np.float64)
_RETRY = b"retry: 3000\n\n"
_SIGN_OF_LIFE = b": still here\n\n"
# no-transform: compression would take a megabyte for each of those who watch.
_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """A response that goes on until its run has ended, its link expires, its reader leaves or the service stops.

    places: what is held for it; given back at its end.
    """

    media_type = "text/event-stream"

    def __init__(
        self, request: Request, places: AsyncExitStack, watched: WatchedRun, subject: Subject, link: SignedLink
    ) -> None:
        self._places = places
        self._stops = asyncio.Event()
        # uvicorn waits for the end of open streams before it says that it stops.
        request.scope.setdefault("state", {})[ON_SHUTDOWN] = self._stops.set
        super().__init__(_events(watched, subject, link, self._stops), headers=_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        async with self._places:
            await super().__call__(scope, receive, send)


async def _events(
    watched: WatchedRun, subject: Subject, link: SignedLink, stops: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield the curve after each change, and a sign of life where nothing changes."""
    yield _RETRY
    stopped = asyncio.create_task(stops.wait())
    try:
        while True:
            if watched.trouble is not None:
                yield _end("gone", str(watched.trouble))
                return
            version, overview, event = await watched.view(view_key(subject), partial(curve_of, subject))
            yield b"id: %d\nevent: curve\ndata: %b\n\n" % (version, orjson.dumps(event))
            if overview.state.kind == "finished":
                yield _end("finished", "The run has ended.")
                return
            while not await _changes(watched, version, min(SECONDS_BETWEEN_SIGNS, link.seconds_left), stopped):
                if stops.is_set():
                    return
                if not link.seconds_left:
                    yield _end("expired", "The link to this page has expired: ask for a new one.")
                    return
                yield _SIGN_OF_LIFE
    finally:
        stopped.cancel()


async def _changes(watched: WatchedRun, version: int, seconds: float, stopped: asyncio.Task[Any]) -> bool:
    """Wait for a change; return False after so many seconds, or when the service stops."""
    changed = asyncio.create_task(watched.wait(version, seconds))
    try:
        await asyncio.wait((changed, stopped), return_when=asyncio.FIRST_COMPLETED)
        return changed.done() and changed.result()
    finally:
        changed.cancel()


def view_key(subject: Subject) -> tuple[object, ...]:
    """Return what distinguishes the curve of this subject from those of others."""
    candidate = subject.candidate.workload if subject.candidate is not None else None
    return subject.metric, subject.goal, candidate, subject.trials


def curve_of(subject: Subject, reader: RunReader, overview: Overview) -> dict[str, Any]:
    """Return the data of an event: the thinned curve, the state, and sentences, to which any other text belongs.

    Values that aren't finite are NaN, Infinity and -Infinity, as text.
    """
    steps, values = reader.curve(subject.metric) if subject.metric is not None else NOTHING
    progress = progress_of(steps, values, subject.goal)
    shown = thinned(values, MOST_POINTS, *([] if progress.hit is None else [progress.hit]))
    last = steps[-_N_LAST:].tolist(), values[-_N_LAST:].tolist()
    state = overview.state
    said = sentences(progress, subject.goal, subject.trials, state.kind == "finished")
    if reader.n_unread:
        said.append(f"{reader.n_unread:,} lines aren't as the recorder writes them: they are left out.")
    return {
        "metrics": overview.metrics,
        "state": state.kind,
        "state_text": state_text(state),
        "last_step": overview.last_step,
        "n_measurements": progress.n,
        "steps": steps[shown].tolist(),
        "values": [_json_number(value) for value in values[shown].tolist()],
        "last": [(step, f"{value:.6g}") for step, value in zip(*last, strict=True)],
        "sentences": [*said, *subject.notes],
    }


def state_text(state: RunState) -> str:
    """Return the state of a run in words."""
    if state.kind == "open":
        return "open"
    if state.kind == "silent":
        since = f" since {moment(state.seen_at)}" if state.seen_at is not None else ""
        return f"silent{since}: {state.status}"
    return f"finished: {state.status}"


def _json_number(value: float) -> float | str:
    if value != value:  # NaN
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def _end(reason: str, text: str) -> bytes:
    return b"event: end\ndata: %b\n\n" % orjson.dumps({"reason": reason, "text": text})
