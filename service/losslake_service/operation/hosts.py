"""The hosts that requests may name: links in answers name the host of the request, so others are refused.

A page whose name leads to this machine (DNS rebinding) sends that name, and is refused too. X-Forwarded-Host and the
host of an absolute request target are ignored. Starlette's TrustedHostMiddleware takes the first of several Host
headers, and knows neither IPv6 addresses nor exempt paths.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from losslake_service.operation.rate_limits import EXEMPT
from losslake_service.problems import problem


class AllowedHosts:
    """A middleware that refuses requests without exactly one allowed Host with 400; not of health checks and metrics.

    hosts: as `Settings.hosts` has them. port: of the service, allowed for hosts without a port.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], port: int) -> None:
        self._app = app
        with_port = [f"{host}:{port}" for host in hosts if ":" not in host.rpartition("]")[2]]
        self._any_port = frozenset(host.removesuffix(":*").encode() for host in hosts if host.endswith(":*"))
        self._hosts = self._any_port.union(host.encode() for host in (*hosts, *with_port) if not host.endswith(":*"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, or refuse it."""
        if scope["type"] == "http" and scope["path"] not in EXEMPT and not self._allows(scope):
            detail = "the service doesn't answer for this host: use its own address, or add the host to allowed_hosts"
            await problem(scope, "unknown-host", detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
        values = [value for name, value in scope["headers"] if name == b"host"]
        if len(values) != 1:
            return False
        host = values[0].lower()
        if host in self._hosts:
            return True
        name, _, port = host.rpartition(b":")
        return name in self._any_port and port.isdigit() and len(port) <= 5
