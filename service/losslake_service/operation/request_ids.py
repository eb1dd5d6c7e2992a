"""A name for each request, by which its answer, its log lines and a user's report are found again."""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar

HEADER = b"x-request-id"
_VALID = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The request that is being answered, for log lines; also in threads that the answer is made in."""


class RequestIds:
    """Takes the id that came with a request, or makes one that no other process makes."""

    def __init__(self) -> None:
        self._mine = secrets.token_hex(6)
        self._next = itertools.count(1)

    def of(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The id of the request with these headers; one that isn't short and plain is replaced."""
        for name, value in headers:
            if name == HEADER and _VALID.fullmatch(value):
                return value.decode("ascii")
        return f"{self._mine}{next(self._next):08x}"
