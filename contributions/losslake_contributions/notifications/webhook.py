"""Delivery to webhooks, whose URLs are from strangers: only to the internet, or to networks that the host allows.

A name is resolved once, each of its addresses is checked, and the connection goes to the one that was checked. No
redirect is followed, no answer is read, and no proxy or cookie is used.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

import losslake
from losslake.client.client import is_public, parse_url, tls_context
from losslake_contributions.protocol.errors import ContributionError
from losslake_schema.errors import LossLakeError

SECONDS = 10.0
SIGNATURE, DELIVERY, EVENT = "LossLake-Signature", "LossLake-Delivery", "LossLake-Event"
_HTTPS = 443
_MOST_ADDRESSES = 4


class DeliveryFailed(Exception):
    """A delivery that failed; its text is for the contributor. is_final: it isn't tried again."""

    def __init__(self, reason: str, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True)
class Reach:
    """The addresses to which webhooks may lead. networks: allowed besides the internet, also by http and any port."""

    networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]

    @staticmethod
    def of(networks: Sequence[str]) -> Reach:
        """Return the reach with some networks, as a setting has them."""
        return Reach([ipaddress.ip_network(each, strict=False) for each in networks])

    def check(self, text: str) -> httpx.URL:
        """Return the URL of a webhook; raise ContributionError for one that nothing is sent to."""
        try:
            url = parse_url(text if text.isascii() and text.isprintable() and " " not in text else "")
        except LossLakeError:
            raise ContributionError("bad-document", "url: give one in ASCII such as https://host/path") from None
        if url.userinfo:
            raise ContributionError("bad-document", "url: give it without a user and a password")
        if not self.networks and not _is_plain(url):
            detail = "url: give one that begins with https://, without a port: nothing else is sent to"
            raise ContributionError("bad-document", detail)
        try:
            address = ipaddress.ip_address(url.host)
        except ValueError:
            return url
        if not self.allows(url, str(address)):
            raise ContributionError("bad-document", f"url: {address} isn't an address that this service sends to")
        return url

    def allows(self, url: httpx.URL, address: str) -> bool:
        """Return True if something may be sent to an address, which the host of the URL has."""
        parsed = ipaddress.ip_address(address)
        if any(parsed in network for network in self.networks):
            return True
        return _is_plain(url) and is_public(address)


def _is_plain(url: httpx.URL) -> bool:
    return url.scheme == "https" and url.port in (None, _HTTPS)


async def send_webhook(reach: Reach, text: str, body: bytes, secret: str, headers: Mapping[str, str]) -> None:
    """Send a notification to the URL of a webhook. Raises DeliveryFailed, after ten seconds at the latest."""
    try:
        url = reach.check(text)
    except ContributionError:
        raise DeliveryFailed("the service doesn't send to this URL any more", is_final=True) from None
    try:
        async with asyncio.timeout(SECONDS):
            addresses = await _addresses(reach, url)
            status = await _post(url, addresses, body, {**headers, **_signature(secret, body)})
    except TimeoutError:
        raise DeliveryFailed(f"there was no answer within {SECONDS:g} s") from None
    if not 200 <= status < 300:
        raise DeliveryFailed(f"the answer has the HTTP status {status}")


def _signature(secret: str, body: bytes) -> dict[str, str]:
    return {SIGNATURE: sign(secret, body, int(time.time()))}


def sign(secret: str, body: bytes, seconds: int) -> str:
    """Return the signature of a body: HMAC-SHA256 of the time, a dot and the body."""
    code = hmac.digest(secret.encode(), f"{seconds}.".encode() + body, "sha256").hex()
    return f"t={seconds},v1={code}"


async def _addresses(reach: Reach, url: httpx.URL) -> list[str]:
    """Return the addresses of a URL's host, each of which may be sent to. Raises DeliveryFailed."""
    host, port = url.raw_host.decode("ascii"), url.port or (_HTTPS if url.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        found = []
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    # One answer to both, so that nobody learns which names of a private network there are.
    if not addresses or not all(reach.allows(url, each) for each in addresses):
        raise DeliveryFailed("the URL leads to no address that this service sends to")
    return addresses[:_MOST_ADDRESSES]


async def _post(url: httpx.URL, addresses: Sequence[str], body: bytes, headers: Mapping[str, str]) -> int:
    """Send a body to the first address that takes it; return the status of the answer. Raises DeliveryFailed."""
    sent = {
        "Host": url.netloc.decode("ascii"),
        "Content-Type": "application/json",
        "User-Agent": f"losslake/{losslake.__version__}",
        **headers,
    }
    reason = ""
    for address in addresses:
        options = {"sni_hostname": url.raw_host.decode("ascii")}
        client = httpx.AsyncClient(verify=tls_context(), trust_env=False, follow_redirects=False, timeout=SECONDS)
        try:
            async with (
                client,
                client.stream("POST", url.copy_with(host=address), content=body, headers=sent, extensions=options)
                as response,
            ):  # fmt: skip
                return response.status_code
        except httpx.ConnectError as error:
            is_tls = isinstance(error.__cause__, ssl.SSLError) or "SSL" in str(error)
            reason = "its certificate isn't valid" if is_tls else "it can't be connected to"
        except httpx.HTTPError:
            raise DeliveryFailed("the connection was lost before the answer") from None
    raise DeliveryFailed(reason)
