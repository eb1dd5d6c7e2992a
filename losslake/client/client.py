"""Requests to another machine: bounded in time and size, tried again for a while, every failure one line."""

from __future__ import annotations

import email.utils
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import httpx

import losslake
from losslake_schema.errors import LossLakeError


class RemoteError(LossLakeError):
    """Another machine did not give what was asked for, and asking again won't help."""


class Interrupted(RemoteError):
    """An attempt failed in a way that may pass.

    after: seconds that the other side asks to wait, None if it doesn't say. has_progressed: whether bytes came.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
        self.has_progressed = False


class Stopped(RemoteError):
    """The user, or an error elsewhere in the command, stopped the work."""


TRIES = 6
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 120.0
WAITING_IN_ALL_S = 600.0

Result = TypeVar("Result")


class Patience:
    """Shared by all threads of a command.

    A request is tried six times without progress, with waits that double from a quarter of a second, or as long as the
    other side asks, up to two minutes. All waits of a connection together take at most ten minutes.
    """

    def __init__(self, connections: int = 1) -> None:
        self.stopped = threading.Event()
        self._left = WAITING_IN_ALL_S * connections
        self._lock = threading.Lock()

    def keep_trying(self, attempt: Callable[[], Result]) -> Result:
        """What the attempt gives, tried again after each Interrupted; raises RemoteError when patience is spent."""
        tries = 0
        while True:
            try:
                return attempt()
            except Interrupted as failure:
                tries = 1 if failure.has_progressed else tries + 1
                self._wait(tries, failure)

    def check(self) -> None:
        """Raise Stopped once the command is to end."""
        if self.stopped.is_set():
            raise Stopped("stopped")

    def _wait(self, tries: int, failure: Interrupted) -> None:
        if tries >= TRIES:
            raise RemoteError(f"{failure}; gave up after {TRIES} tries: run the same command again later") from None
        seconds = FIRST_WAIT_S * 2 ** (tries - 1) * random.uniform(0.75, 1.25)
        if failure.after is not None:
            seconds = max(seconds, failure.after)
        if seconds > LONGEST_WAIT_S:
            raise RemoteError(f"{failure}; it asks to come back in {seconds:,.0f} s: do so") from None
        with self._lock:
            self._left -= seconds
            is_spent = self._left < 0
        if is_spent:
            raise RemoteError(f"{failure}; too much of this already: run the same command again later") from None
        self.stopped.wait(seconds)
        self.check()


_MAY_PASS = {408, 425, 429, 500, 502, 503, 504}
_REDIRECTS = 5
_LONGEST_PROBLEM = 1 << 16
_LARGEST_JSON = 1 << 28
_LONGEST_DETAIL = 2000


class Client:
    """One user's requests; safe to share between threads."""

    def __init__(self, connections: int = 1, read_timeout_s: float = 60) -> None:
        self.patience = Patience(connections)
        self._sockets: list[socket.socket] = []
        self._extensions = {"trace": self._trace}
        self._http = httpx.Client(
            headers={"User-Agent": f"losslake/{losslake.__version__}"},
            timeout=httpx.Timeout(15, read=read_timeout_s, pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            follow_redirects=True,
            max_redirects=_REDIRECTS,
            event_hooks={"response": [_check_redirect]},
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def stop(self) -> None:
        """End every request that is under way, and allow no other; callable from any thread."""
        self.patience.stopped.set()
        for opened in self._sockets:
            with suppress(OSError):  # it was closed before
                opened.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, facts: Mapping[str, Any]) -> None:
        """Remember the sockets: httpx has no other way to break off a request that waits."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.append(facts["return_value"].get_extra_info("socket"))

    @contextmanager
    def answer(
        self, method: str, url: httpx.URL, headers: Mapping[str, str] | None = None, body: object = None
    ) -> Iterator[httpx.Response]:
        """One attempt at a request, its body not yet read; raises Interrupted where another attempt may do better."""
        self.patience.check()
        try:
            with self._http.stream(method, url, headers=headers, json=body, extensions=self._extensions) as response:
                if response.status_code >= 400:
                    raise _refusal(response)
                yield response
        except httpx.ConnectError as error:
            raise Interrupted(f"{shown(url)} can't be reached ({_reason(error)})") from None
        except httpx.UnsupportedProtocol:
            raise RemoteError(f"{shown(url)} redirects to what is no http:// or https:// URL") from None
        except httpx.TransportError as error:
            raise Interrupted(f"{shown(url)} broke off ({_reason(error)})") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise RemoteError(f"{shown(url)}: {_reason(error)}") from None

    def json(self, url: httpx.URL) -> tuple[Any, httpx.URL | None]:
        """A JSON document, and the next page of it if there is one."""
        return self.patience.keep_trying(lambda: self._json(url))

    def _json(self, url: httpx.URL) -> tuple[Any, httpx.URL | None]:
        text = bytearray()
        with self.answer("GET", url, {"Accept": "application/json"}) as response:
            for chunk in response.iter_bytes():
                text += chunk
                if len(text) > _LARGEST_JSON:
                    raise RemoteError(f"{shown(url)} answers with more than {_LARGEST_JSON:,} bytes: is it a LossLake?")
            following = response.links.get("next", {}).get("url")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise RemoteError(f"{shown(url)} does not answer with JSON: is it the URL of a LossLake service?") from None
        return document, url.join(following) if following else None


def checked_url(text: str) -> httpx.URL:
    """An http:// or https:// URL with a host; raises RemoteError."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError) as error:
        raise RemoteError(f"'{text}' is no URL ({error}): give one such as https://host/path") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise RemoteError(f"'{text}' is no http:// or https:// URL: give one such as https://host/path")
    return url.copy_with(fragment=None)


def shown(url: httpx.URL) -> str:
    """A URL without what may be secret: user, password and query."""
    return str(url.copy_with(userinfo=b"", query=None))


def plain_bytes(response: httpx.Response) -> Iterator[bytes]:
    """The body as it lies on the other side; raises RemoteError when it comes in another coding."""
    coding = response.headers.get("content-encoding", "identity")
    if coding != "identity":
        raise RemoteError(f"{shown(response.url)} comes as {coding!r} although plain bytes were asked for")
    return response.iter_raw()


def _check_redirect(response: httpx.Response) -> None:
    if response.has_redirect_location and response.url.scheme == "https":
        target = response.url.join(response.headers["location"])
        if target.scheme != "https":
            raise RemoteError(f"{shown(response.url)} redirects to {target.scheme}://, which is not encrypted: refused")


def _refusal(response: httpx.Response) -> RemoteError:
    """What the other side says, as far as it says it in a way that is known."""
    text = bytearray()
    for chunk in response.iter_bytes():
        text += chunk
        if len(text) > _LONGEST_PROBLEM:
            break
    detail = _detail(bytes(text[:_LONGEST_PROBLEM]))
    what = detail or f"it answers {response.status_code} {response.reason_phrase}".strip()
    message = f"{shown(response.url)}: {what}"
    if response.status_code in _MAY_PASS:
        return Interrupted(message, _seconds(response.headers.get("retry-after")))
    return RemoteError(message)


def _detail(text: bytes) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    found = document.get("detail") or document.get("title") if isinstance(document, dict) else None
    return " ".join(found.split())[:_LONGEST_DETAIL] if isinstance(found, str) else ""


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After, which is a number of seconds or a date."""
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
