"""The tokens of links: the id of a link's record, with an HMAC of it that only the service can make.

So the same link can be shown again without its secret being stored, and a new key ends all links.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Literal
from uuid import UUID

Kind = Literal["draft", "live"]
_MARKS: dict[Kind, bytes] = {"draft": b"losslake draft", "live": b"losslake live"}
_ID_BYTES, _CODE_BYTES = 16, 26
TOKEN_LENGTH = 56  # of the 42 bytes above, in base64


def link_token(kind: Kind, key: bytes, link: UUID) -> str:
    """Return the token of a link. link: the id of its record."""
    return base64.urlsafe_b64encode(link.bytes + _code(kind, key, link.bytes)).decode()


def read_token(kind: Kind, key: bytes, token: str) -> UUID | None:
    """Return the id of the link's record; None if the token is forged, signed by another key or of another kind."""
    if len(token) != TOKEN_LENGTH:
        return None
    try:
        data = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    named, code = data[:_ID_BYTES], data[_ID_BYTES:]
    return UUID(bytes=named) if hmac.compare_digest(code, _code(kind, key, named)) else None


def _code(kind: Kind, key: bytes, named: bytes) -> bytes:
    return hmac.digest(key, _MARKS[kind] + named, "sha256")[:_CODE_BYTES]
