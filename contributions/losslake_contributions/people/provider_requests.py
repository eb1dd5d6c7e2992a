"""Requests to providers: only to endpoints that are theirs, never redirected, with bounds for size and time."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import ssl
from functools import cache
from typing import Any

import httpx

from losslake import __version__
from losslake_contributions.protocol.errors import ContributionError

SECONDS = 10.0
LARGEST = 256_000
AT_ONCE = 8
_log = logging.getLogger(__name__)


def check_endpoint(url: object, issuer: str) -> str:
    """Return the URL of an endpoint; raise ValueError for one to which nothing of a sign-in may be sent.

    It is https://, at the issuer's host or another public one: no address, and no name of this network. An issuer on
    this machine, for tests, has its endpoints at its own host.
    """
    try:
        parsed, of_issuer = httpx.URL(str(url)), httpx.URL(issuer)
    except httpx.InvalidURL:
        raise ValueError("an endpoint isn't a URL") from None
    if not parsed.host or parsed.userinfo or parsed.fragment:
        raise ValueError("an endpoint has no host, or a user, a password or a fragment")
    if parsed.host == of_issuer.host and parsed.scheme == of_issuer.scheme:
        return str(url)
    if parsed.scheme != "https" or of_issuer.scheme != "https":
        raise ValueError(f"an endpoint isn't https:// ({parsed.scheme}://{parsed.host})")
    if _is_private(parsed.host):
        raise ValueError(f"an endpoint isn't at a public host ({parsed.host})")
    return str(url)


def _is_private(host: str) -> bool:
    """Return True for an address, and for a name that only a network of its own has."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        last = host.rstrip(".").rpartition(".")
        return not last[0] or last[2].lower() in ("localhost", "local", "internal", "home", "lan") or last[2].isdigit()
    return True


class ProviderRequests:
    """Sends requests to a provider, and reads its JSON. title: of the provider, for messages."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._places = asyncio.Semaphore(AT_ONCE)

    async def json(self, method: str, url: str, **options: Any) -> dict[str, Any]:
        """Return the JSON object that the provider answers; raise ContributionError if it doesn't give one.

        An answer of 400 or 401 is one as well: with it, providers refuse a code.
        """
        if self._places.locked():
            raise ContributionError("provider-failed", f"too many people sign in with {self._title} at once: try again")
        try:
            async with self._places, asyncio.timeout(SECONDS):
                document = json.loads(await self._bytes(method, url, options))
        except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            # Its address has no secret: codes are in the body.
            _log.warning("%s %s failed: %s", method, url, error or type(error).__name__)
            raise self.failure("doesn't answer as it should") from None
        if not isinstance(document, dict):
            raise self.failure("doesn't answer with a JSON object")
        return document

    async def _bytes(self, method: str, url: str, options: dict[str, Any]) -> bytes:
        headers = {
            "Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": f"losslake/{__version__}",
            **options.pop("headers", {}),
        }  # fmt: skip
        async with (
            httpx.AsyncClient(verify=_tls(), timeout=SECONDS, follow_redirects=False) as client,
            client.stream(method, url, headers=headers, **options) as response,
        ):
            if response.status_code not in (200, 400, 401):
                raise httpx.HTTPError(f"status {response.status_code}")
            body = bytearray()
            # Raw: nobody asked for compressed bytes, which could become any number.
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > LARGEST:
                    raise httpx.HTTPError(f"more than {LARGEST:,} bytes")
        return bytes(body)

    def failure(self, what: str) -> ContributionError:
        """Return the error of a provider that can't be used."""
        return ContributionError("provider-failed", f"{self._title} {what}: try again, or tell the operator")


@cache
def _tls() -> ssl.SSLContext:
    """Return what all providers are verified with: to read the certificates takes 25 ms."""
    return httpx.create_ssl_context()
