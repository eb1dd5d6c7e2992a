"""HTTP requests with limits on time and size, retries, and errors of one line."""

from __future__ import annotations

import email.utils
import ipaddress
import json
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

import httpx

import losslake
from losslake_schema.errors import LossLakeError


class RemoteError(LossLakeError):
    """A request that failed and should not be retried.

    place: line and column of the mistake in a statement, counted from 1, if the server gives them. status, problem: of
    the response, if there was one.
    """

    place: tuple[int, int] | None = None
    status: int | None = None
    problem: Mapping[str, object] = MappingProxyType({})


class TransientError(RemoteError):
    """A failed attempt that may be retried.

    retry_after: seconds that the server asks to wait, or None. has_progressed: True if bytes were received.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.has_progressed = False


class Stopped(RemoteError):
    """The work was stopped by the user, or by an error elsewhere in the command."""


TRIES = 6
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 120.0
TOTAL_WAIT_S = 600.0

Result = TypeVar("Result")


class RetryPolicy:
    """The retry policy of a command, shared by its threads.

    A request is tried up to six times, or `tries`, without progress. Waits double from a quarter of a second, or are as
    long as the server asks, up to two minutes. The waits of one connection add up to at most ten minutes.
    """

    def __init__(self, connections: int = 1, tries: int = TRIES) -> None:
        self.stopped = threading.Event()
        self._tries = tries
        self._remaining = TOTAL_WAIT_S * connections
        self._lock = threading.Lock()

    def run(self, attempt: Callable[[], Result]) -> Result:
        """Return the result of an attempt, repeated after each TransientError; raise RemoteError at the limits."""
        tries = 0
        while True:
            try:
                return attempt()
            except TransientError as failure:
                tries = 1 if failure.has_progressed else tries + 1
                self._wait(tries, failure)

    def check(self) -> None:
        """Raise Stopped if the command has been stopped."""
        if self.stopped.is_set():
            raise Stopped("stopped")

    def _wait(self, tries: int, failure: TransientError) -> None:
        if self._tries == 1:
            raise RemoteError(str(failure)) from None
        if tries >= self._tries:
            raise RemoteError(f"{failure}; gave up after {tries} tries: run the same command again later") from None
        seconds = FIRST_WAIT_S * 2 ** (tries - 1) * random.uniform(0.75, 1.25)
        if failure.retry_after is not None:
            seconds = max(seconds, failure.retry_after)
        if seconds > LONGEST_WAIT_S:
            message = f"{failure}; the server asks to wait {seconds:,.0f} s: run the command again then"
            raise RemoteError(message) from None
        with self._lock:
            self._remaining -= seconds
            is_spent = self._remaining < 0
        if is_spent:
            raise RemoteError(f"{failure}; gave up after too many retries: run the same command again later") from None
        self.stopped.wait(seconds)
        self.check()


_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_REDIRECTS = 5
_LONGEST_PROBLEM = 1 << 16
_LARGEST_JSON = 1 << 28
_LONGEST_DETAIL = 2000
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: an IPv4 address in its last 32 bits


@cache
def tls_context() -> ssl.SSLContext:
    """Return what all clients verify servers with: to read the certificates takes 25 ms."""
    return httpx.create_ssl_context()


class Client:
    """An HTTP client. Thread-safe.

    to_private: connections after the first one, of redirects for example, may lead to loopback, link-local and private
    addresses; to the first address always, since it is the one that the user gave. follows: redirects; else
    they are errors. tries: of a request; see RetryPolicy.
    """

    def __init__(
        self,
        connections: int = 1,
        read_timeout_s: float = 60,
        *,
        to_private: bool = True,
        follows: bool = True,
        tries: int = TRIES,
    ) -> None:
        self.retries = RetryPolicy(connections, tries)
        self._to_private = to_private
        self._first: tuple[str, int] | None = None
        self._sockets: list[socket.socket] = []
        self._extensions = {"trace": self._trace}
        self._http = httpx.Client(
            verify=tls_context(),
            headers={"User-Agent": f"losslake/{losslake.__version__}"},
            timeout=httpx.Timeout(15, read=read_timeout_s, pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            follow_redirects=follows,
            max_redirects=_REDIRECTS,
            event_hooks={"response": [_check_redirect]},
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def stop(self) -> None:
        """Abort all running requests and refuse new ones; callable from any thread."""
        self.retries.stopped.set()
        for opened in self._sockets:
            with suppress(OSError):  # already closed
                opened.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Check the address, and remember the sockets: httpx has no other way to abort a waiting request."""
        if event == "connection.connect_tcp.complete" and not self._to_private:
            self._check_address(details["return_value"])
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.append(details["return_value"].get_extra_info("socket"))

    def _check_address(self, connection: Any) -> None:
        """Raise RemoteError before anything is sent to an address that isn't public, unless it is the first one.

        This is the address that is connected to: a name could be resolved to another one than was checked.
        """
        try:
            host, port = connection.get_extra_info("server_addr")[:2]
        except OSError as error:
            raise TransientError(f"the connection was lost ({error.strerror})") from None
        if self._first is None:
            self._first = host, port
        elif (host, port) != self._first and not is_public(host):
            connection.close()
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise RemoteError(f"the URL leads to {where}, not a public address: give --allow-private if you trust it")

    @contextmanager
    def stream(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        content: bytes | None = None,
    ) -> Iterator[httpx.Response]:
        """Send a request and yield the response before its body; raise TransientError if a retry may help.

        body: of JSON. content: the bytes of any other body.
        """
        self.retries.check()
        try:
            with self._http.stream(
                method, url, headers=headers, json=body, content=content, extensions=self._extensions
            ) as response:
                if response.status_code >= 400 or response.has_redirect_location:
                    raise _error_of(response)
                yield response
        except httpx.ConnectError as error:
            raise TransientError(f"{redact(url)} can't be reached ({_reason(error)})") from None
        except httpx.UnsupportedProtocol:
            raise RemoteError(f"{redact(url)} redirects to a URL other than http:// or https://") from None
        except httpx.TransportError as error:
            raise TransientError(f"{redact(url)}: the connection was lost ({_reason(error)})") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise RemoteError(f"{redact(url)}: {_reason(error)}") from None

    def json(self, url: httpx.URL) -> tuple[Any, httpx.URL | None]:
        """Return a JSON document, and the URL of its next page or None."""
        return self.retries.run(lambda: self._json(url))

    def _json(self, url: httpx.URL) -> tuple[Any, httpx.URL | None]:
        with self.stream("GET", url, {"Accept": "application/json"}) as response:
            text = _read(response, _LARGEST_JSON)
            if len(text) > _LARGEST_JSON:
                raise RemoteError(f"{redact(url)} returns more than {_LARGEST_JSON:,} bytes: is it a LossLake service?")
            following = response.links.get("next", {}).get("url")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise RemoteError(f"{redact(url)} does not return JSON: is it the URL of a LossLake service?") from None
        return document, url.join(following) if following else None


def parse_url(text: str) -> httpx.URL:
    """Return an http:// or https:// URL with a host; raise RemoteError for anything else."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError) as error:
        raise RemoteError(f"'{text}' is not a URL ({error}): give one such as https://host/path") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise RemoteError(f"'{text}' is not an http:// or https:// URL: give one such as https://host/path")
    return url.copy_with(fragment=None)


def redact(url: httpx.URL) -> str:
    """Return a URL without user, password and query, which may be secret."""
    return str(url.copy_with(userinfo=b"", query=None))


def unencoded_bytes(response: httpx.Response) -> Iterator[bytes]:
    """Return the body of a response; raise RemoteError if it is compressed."""
    coding = response.headers.get("content-encoding", "identity")
    if coding != "identity":
        raise RemoteError(f"{redact(response.url)} returns the encoding {coding!r} instead of plain bytes")
    return response.iter_raw()


def is_public(host: str) -> bool:
    """Return True for an address of the internet: not of this machine, a private network, or a group (multicast)."""
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address):
        embedded = address.ipv4_mapped or address.sixtofour
        if embedded is None and address in _NAT64:
            embedded = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if embedded is not None:
            address = embedded
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _check_redirect(response: httpx.Response) -> None:
    if response.has_redirect_location and response.url.scheme == "https":
        target = response.url.join(response.headers["location"])
        if target.scheme != "https":
            raise RemoteError(f"{redact(response.url)} redirects to unencrypted {target.scheme}://: refused")


def _error_of(response: httpx.Response) -> RemoteError:
    """Return the error for a response with an error status, with the detail that the server gives."""
    problem = _problem(_read(response, _LONGEST_PROBLEM)[:_LONGEST_PROBLEM])
    detail = problem.get("detail") or problem.get("title")
    text = " ".join(detail.split())[:_LONGEST_DETAIL] if isinstance(detail, str) else ""
    reason = text or f"HTTP status {response.status_code} {response.reason_phrase}".strip()
    message = f"{redact(response.url)}: {reason}"
    failure = RemoteError(message)
    if response.status_code in _TRANSIENT:
        failure = TransientError(message, _seconds(response.headers.get("retry-after")))
    failure.status, failure.problem = response.status_code, problem
    line, column = problem.get("line"), problem.get("column")
    if not isinstance(failure, TransientError) and isinstance(line, int) and isinstance(column, int):
        failure.place = line, column
    return failure


def _read(response: httpx.Response, most: int) -> bytes:
    """Return the body of a response; of one longer than `most` bytes, only the beginning, which is longer as well."""
    text = bytearray()
    for chunk in response.iter_bytes():
        text += chunk
        if len(text) > most:
            break
    return bytes(text)


def _problem(text: bytes) -> dict[str, object]:
    """Return the problem document of a response; empty if it isn't one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds in a Retry-After header, which is a number or a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
