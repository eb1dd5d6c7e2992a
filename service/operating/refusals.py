"""Problem documents of the operating side, with the request's id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.problems import KINDS, MEDIA_TYPE


def problem(scope: Scope, kind: str, detail: str, headers: Iterable[tuple[bytes, bytes]] = (), **more: Any) -> Response:
    """A problem document of this kind that answers the request of this scope; more: further members of it."""
    status, title = KINDS[kind]
    document = {"type": f"urn:losslake:problem:{kind}", "title": title, "status": status, "detail": detail, **more}
    request_id = scope.get("state", {}).get("request_id")
    if request_id is not None:
        document["request_id"] = request_id
    response = Response(orjson.dumps(document), status, media_type=MEDIA_TYPE)
    response.raw_headers.extend(headers)
    return response


async def refuse(
    scope: Scope, receive: Receive, send: Send, kind: str, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer a request with a problem document before the application is asked."""
    await problem(scope, kind, detail, headers)(scope, receive, send)
