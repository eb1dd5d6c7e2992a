"""Refusing a request before the application is asked."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Receive, Scope, Send

from losslake_service.problems import problem


async def refuse(
    scope: Scope, receive: Receive, send: Send, kind: str, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer a request with a problem document before the application is asked."""
    response = problem(scope, kind, detail)
    response.raw_headers.extend(headers)
    await response(scope, receive, send)
