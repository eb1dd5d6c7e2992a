"""Headers that keep browsers from doing more with an answer than show it."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What an HTML page may load: what this service serves, and nothing of other hosts; what stands in it doesn't run."""
_ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"strict-origin-when-cross-origin"))
_POLICY = b"content-security-policy"


class SecurityHeaders:
    """Adds them to every answer; the policy to every page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *_ALWAYS]
                if dict(headers).get(b"content-type", b"").startswith(b"text/html"):
                    headers.append((_POLICY, POLICY))
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_guarded)
