"""Links that whoever has one may follow until it expires: to drafts of submissions, and to runs that are shown live.

A token names its subject and the second at which it expires, with an HMAC-SHA256 of both and of the kind of the link
under a key of the service: so none is stored, none is of two kinds, and a new key ends them all.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

Kind = Literal["draft", "live"]
DAYS = 30
_SECONDS_PER_DAY = 86_400
_MARKS: dict[Kind, bytes] = {"draft": b"losslake draft", "live": b"losslake live"}
_TIME_BYTES, _ID_BYTES, _CODE_BYTES = 6, 16, 20
TOKEN_LENGTH = 56  # of the 42 bytes above, in base64


@dataclass(frozen=True)
class SignedLink:
    """The content of a token. subject: the submission of a draft, or the run. expires: Unix seconds."""

    subject: UUID
    expires: int

    @property
    def seconds_left(self) -> float:
        """The seconds until it expires; 0 if it has."""
        return max(0.0, self.expires - time.time())


def link_token(kind: Kind, key: bytes, subject: UUID, expires: int | None = None) -> str:
    """Return the token of a link. expires: Unix seconds; default: in 30 days."""
    until = int(time.time()) + DAYS * _SECONDS_PER_DAY if expires is None else expires
    named = until.to_bytes(_TIME_BYTES, "big") + subject.bytes
    return base64.urlsafe_b64encode(named + _code(kind, key, named)).decode()


def read_token(kind: Kind, key: bytes, token: str) -> SignedLink | None:
    """Return what a token says; None if it is forged, expired or of another kind."""
    if len(token) != TOKEN_LENGTH:
        return None
    try:
        data = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    named, code = data[:-_CODE_BYTES], data[-_CODE_BYTES:]
    if not hmac.compare_digest(code, _code(kind, key, named)):
        return None
    link = SignedLink(UUID(bytes=named[_TIME_BYTES:]), int.from_bytes(named[:_TIME_BYTES], "big"))
    return link if link.seconds_left else None


def _code(kind: Kind, key: bytes, named: bytes) -> bytes:
    return hmac.digest(key, _MARKS[kind] + named, "sha256")[:_CODE_BYTES]
