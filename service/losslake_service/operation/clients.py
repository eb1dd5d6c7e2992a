"""The client of a request: its key, for the limits per client, and the end of waiting for work when it leaves."""

from __future__ import annotations

import asyncio
import ipaddress
from functools import lru_cache
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from losslake_service.settings import is_loopback

T = TypeVar("T")


def client_of(scope: Scope) -> str | None:
    """Return the key of a request's client; None for a client on loopback, which no limit applies to.

    Behind a proxy of `trusted_proxies`, it is the proxy's client. Behind one that isn't trusted, every client seems to
    be on loopback: X-Forwarded-For ends the exemption, and all count as one.
    """
    if scope.get("client") is None:
        return None
    client = client_key(scope["client"][0])
    is_forwarded = any(name == b"x-forwarded-for" for name, _ in scope["headers"])
    return None if is_loopback(client) and not is_forwarded else client


async def unless_left(request: Request | None, work: asyncio.Future[T]) -> T:
    """Return the result of work; raise ClientDisconnect if the client leaves first, and let the work go on.

    request: whose body must have been read; None for a client that never leaves.
    """
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        leaving.cancel()


async def _disconnected(request: Request | None) -> None:
    """Return when the client has closed its connection."""
    if request is None:
        await asyncio.Event().wait()
        return
    while (await request.receive())["type"] != "http.disconnect":
        pass


@lru_cache(maxsize=4096)
def client_key(host: str) -> str:
    """Return the key of a client: its IPv4 address, or the /64 of its IPv6 address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(address, ipaddress.IPv4Address) or address.is_loopback:
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    # Providers assign at least a /64 to each customer.
    return str(ipaddress.ip_network((int(address), 64), strict=False))
