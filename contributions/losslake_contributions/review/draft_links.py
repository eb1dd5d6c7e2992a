"""Links to drafts: who has one sees the draft, until it expires.

A token names its submission and the second at which it expires, with an HMAC-SHA256 of both under a key of the service:
so none is stored, and a new key ends them all.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from uuid import UUID

DAYS = 30
_SECONDS_PER_DAY = 86_400
_MARK = b"losslake draft"
_TIME_BYTES, _ID_BYTES, _CODE_BYTES = 6, 16, 20
TOKEN_LENGTH = 56  # of the 42 bytes above, in base64


def draft_token(key: bytes, submission: UUID, expires: int | None = None) -> str:
    """Return the token of a link to a draft. expires: Unix seconds; default: in 30 days."""
    until = int(time.time()) + DAYS * _SECONDS_PER_DAY if expires is None else expires
    named = until.to_bytes(_TIME_BYTES, "big") + submission.bytes
    return base64.urlsafe_b64encode(named + _code(key, named)).decode()


def submission_of(key: bytes, token: str) -> UUID | None:
    """Return the submission whose draft a token shows; None if the token is forged or expired."""
    if len(token) != TOKEN_LENGTH:
        return None
    try:
        data = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    named, code = data[:-_CODE_BYTES], data[-_CODE_BYTES:]
    if not hmac.compare_digest(code, _code(key, named)):
        return None
    return UUID(bytes=named[_TIME_BYTES:]) if int.from_bytes(named[:_TIME_BYTES], "big") > time.time() else None


def _code(key: bytes, named: bytes) -> bytes:
    return hmac.digest(key, _MARK + named, "sha256")[:_CODE_BYTES]
