"""Headers for browsers: CORS, Content-Security-Policy and the like.

Starlette's CORSMiddleware adds `Vary: Origin` even if every origin is allowed, so that caches can't share a response,
omits the headers for requests without an origin, and answers preflights with 200. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Content-Security-Policy of HTML pages: only resources of this service, and no inline scripts.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# That of a chart to embed, which any page may frame; it has no forms. A response that has a policy keeps it.
EMBED_POLICY = POLICY.replace(b"form-action 'self'", b"form-action 'none'").replace(
    b"frame-ancestors 'none'", b"frame-ancestors *"
)
# The same, with a form that stays in the frame.
FORM_EMBED_POLICY = EMBED_POLICY.replace(b"form-action 'none'", b"form-action 'self'")
_ALWAYS = ((b"x-content-type-options", b"nosniff"),)
# Of two values, browsers take the last: a response that has one keeps it.
_REFERRER = (b"referrer-policy", b"strict-origin-when-cross-origin")
_EXPOSED = (
    b"access-control-expose-headers",
    (
        b"Accept-Ranges, Content-Disposition, Content-Range, ETag, Last-Modified, Link, LossLake-Release, "
        b"LossLake-Total, LossLake-Truncated, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, "
        b"X-Request-ID"
    ),
)
_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, OPTIONS"),
    (
        b"access-control-allow-headers",
        (
            b"Accept, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, MCP-Protocol-Version, "
            b"Mcp-Method, Mcp-Name, Range, X-Request-ID"
        ),
    ),
    (b"access-control-max-age", b"86400"),
)
_VARY = (b"vary", b"Origin")
# Without it, pages of other sites could embed figures.
_SAME_SITE = (b"cross-origin-resource-policy", b"same-site")
Headers = tuple[tuple[bytes, bytes], ...]


class BrowserHeaders:
    """A middleware that adds the headers to every response, and responds to preflight requests.

    origins: those whose pages may read responses, without credentials; `*` for all, empty for none.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._is_for_all = "*" in origins
        self._origins = {origin.encode() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and add the headers, or respond to a preflight request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cross_origin = self._cross_origin(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *_ALWAYS, *cross_origin]
                is_html = any(name == b"content-type" and value.startswith(b"text/html") for name, value in headers)
                if not any(name == _REFERRER[0] for name, _ in headers):
                    headers.append(_REFERRER)
                if is_html and not any(name == b"content-security-policy" for name, _ in headers):
                    headers.append((b"content-security-policy", POLICY))
                message = {**message, "headers": headers}
            await send(message)

        if scope["method"] == "OPTIONS" and _is_preflight(scope):
            allowed = _PREFLIGHT if _EXPOSED in cross_origin else ()
            await send_with_headers({"type": "http.response.start", "status": 204, "headers": allowed})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send_with_headers)

    def _cross_origin(self, scope: Scope) -> Headers:
        """Return the CORS headers; equal for all requests if every origin is allowed, so that caches can share."""
        if self._is_for_all:
            return ((b"access-control-allow-origin", b"*"), _EXPOSED)
        if not self._origins:
            return (_SAME_SITE,)
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None or origin not in self._origins:
            return (_VARY,)
        return ((b"access-control-allow-origin", origin), _EXPOSED, _VARY)


def _is_preflight(scope: Scope) -> bool:
    return {b"origin", b"access-control-request-method"} <= {name for name, _ in scope["headers"]}
