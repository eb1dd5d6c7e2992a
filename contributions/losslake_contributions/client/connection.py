"""A client of the contribution service: requests with a token, repeated until they are answered.

The token is sent in a header only, over https or to this machine, and never follows a redirect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from losslake.client.client import Client, RemoteError, TransientError, parse_url, redact
from losslake_contributions.protocol.texts import reason_of
from losslake_schema.errors import LossLakeError

Kind = TypeVar("Kind", bound=BaseModel)
_TRIES = 9  # about a minute, in which a server that restarts is back
_LARGEST_ANSWER = 1 << 26
_LONGEST_URL = 500
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ContributionClient(Client):
    """A client of the service at a URL. Thread-safe.

    Raises LossLakeError for a URL to which a token mustn't be sent, and for a token that can't be one.
    """

    def __init__(self, url: str, token: str, connections: int = 1, tries: int = _TRIES) -> None:
        self._base = parse_url(url)
        if self._base.userinfo or self._base.query:
            raise LossLakeError(f"{redact(self._base)}: give the URL without user, password and query")
        if self._base.scheme != "https" and self._base.host not in _LOOPBACK:
            raise LossLakeError(f"{redact(self._base)} isn't https://, so that others could read the token on its way")
        if not (token.isascii() and token.isprintable() and token.startswith("llc_")) or " " in token:
            raise LossLakeError("the token doesn't begin with llc_: copy it again as 'losslake tokens create' shows it")
        self._authorization = f"Bearer {token}"
        super().__init__(connections, follows=False, tries=tries)

    def __enter__(self) -> ContributionClient:
        return self

    def send(
        self,
        method: str,
        path: str,
        kind: type[Kind],
        document: BaseModel | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Kind:
        """Send a request, again after network errors and while the server is busy, and return the document it gives.

        A document that the server is still making (202) is asked for again, for up to ten minutes.

        path: with its query. document: the body, JSON unless the headers say otherwise. Raises RemoteError.
        """
        url = self._base.join(f"{self._base.path.rstrip('/')}/{path}")
        body = document.model_dump_json().encode() if isinstance(document, BaseModel) else document
        sent = {"Accept": "application/json", "Authorization": self._authorization, **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")

        def attempt() -> bytes:
            with self.stream(method, url, sent, content=body) as response:
                if response.status_code == 202:
                    raise _pending(response)
                text = bytearray()
                for chunk in response.iter_bytes():
                    text += chunk
                    if len(text) > _LARGEST_ANSWER:
                        raise RemoteError(f"{redact(url)} returns more than {_LARGEST_ANSWER:,} bytes")
                return bytes(text)

        text = self.retries.run(attempt)
        try:
            return kind.model_validate(_known_fields(kind, json.loads(text)), strict=False)
        except ValidationError as error:
            raise RemoteError(
                f"{redact(url)} gives an unknown answer ({reason_of(error)}): is LossLake older?"
            ) from None
        except (ValueError, RecursionError):
            raise RemoteError(f"{redact(url)} does not return JSON: is it the URL of a contribution service?") from None


def find_sign_in(url: str) -> str:
    """Return the page on which people sign in to a service for a token; empty if it says none."""
    base = parse_url(url)
    where = base.copy_with(path=f"{base.path.rstrip('/')}/v1/submissions", query=None)
    try:
        with Client(follows=False, tries=1) as client, client.stream("GET", where, {"Accept": "application/json"}):
            return ""
    except RemoteError as error:
        page = error.problem.get("sign_in")
    is_page = isinstance(page, str) and len(page) <= _LONGEST_URL and page.isprintable() and " " not in page
    return str(page) if is_page and str(page).startswith(("https://", "http://")) else ""


def _pending(response: httpx.Response) -> TransientError:
    """Return the error for a document that isn't there yet, after which it is asked for again."""
    seconds = response.headers.get("retry-after", "")
    error = TransientError(f"{redact(response.url)} isn't there yet", float(seconds) if seconds.isdigit() else None)
    error.has_progressed = True
    return error


def _known_fields(kind: type[BaseModel], document: Any) -> Any:
    """Return a document without the fields that a newer service may have added."""
    if not isinstance(document, dict):
        return document
    return {name: value for name, value in document.items() if name in kind.model_fields}
