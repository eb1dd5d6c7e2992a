"""Responses below a link that expires: no cache keeps them, no search engine lists them, no site learns the link."""

from __future__ import annotations

from fastapi.responses import Response
from starlette.types import Message, Send

_HEADERS = ((b"cache-control", b"no-store"), (b"x-robots-tag", b"noindex"), (b"referrer-policy", b"no-referrer"))
_REPLACED = {name for name, _ in _HEADERS}


def private(response: Response) -> Response:
    """Return a response that no cache keeps."""
    for name, value in _HEADERS:
        response.headers[name.decode()] = value.decode()
    return response


def as_private(send: Send) -> Send:
    """Return a `send` whose responses no cache keeps; one that says so itself says it as it likes."""

    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [
                (name, value)
                for name, value in message["headers"]
                if name.lower() not in _REPLACED or b"no-store" in value
            ]
            known = {name.lower() for name, _ in kept}
            message = {**message, "headers": [*kept, *(each for each in _HEADERS if each[0] not in known)]}
        await send(message)

    return send_private
