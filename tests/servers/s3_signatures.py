"""Whether a request to an object store is signed as AWS Signature Version 4 says, in its head or in its URL."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_plus

_ALGORITHM = "AWS4-HMAC-SHA256"
_SIGNATURE = "X-Amz-Signature"


class Head(NamedTuple):
    """What of a request is signed; the target as it was sent, the names of headers in small letters."""

    method: str
    target: str
    headers: Mapping[str, str]


class _Claim(NamedTuple):
    credential: str
    signed_headers: str
    signature: str
    time: str
    payload: str


def is_signed(head: Head, access_key: str, secret_key: str) -> bool:
    """Whether the request is signed with the key, and, if its URL is, whether the URL's time isn't over."""
    path, _, query = head.target.partition("?")
    asked = [_pair(part) for part in query.split("&") if part]
    claim = _claim_of_url(dict(asked)) or _claim_of_head(head)
    if claim is None:
        return False
    key, _, scope = claim.credential.partition("/")
    if key != access_key or scope.count("/") != 3:
        return False
    signed = "&".join(f"{name}={value}" for name, value in sorted(map(_as_signed, asked)) if name != _SIGNATURE)
    headers = [f"{name}:{' '.join(head.headers.get(name, '').split())}\n" for name in claim.signed_headers.split(";")]
    canonical = "\n".join([head.method, path, signed, "".join(headers), claim.signed_headers, claim.payload])
    to_sign = "\n".join([_ALGORITHM, claim.time, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signing = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        signing = hmac.digest(signing, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(signing, to_sign.encode(), "sha256").hex(), claim.signature)


def _claim_of_url(asked: Mapping[str, str]) -> _Claim | None:
    try:
        names = ("X-Amz-Credential", "X-Amz-SignedHeaders", _SIGNATURE, "X-Amz-Date")
        credential, signed_headers, signature, time = (unquote(asked[name]) for name in names)
        made = datetime.strptime(time, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        ends = made + timedelta(seconds=int(asked["X-Amz-Expires"]))
    except (KeyError, ValueError):
        return None
    return _Claim(credential, signed_headers, signature, time, "UNSIGNED-PAYLOAD") if datetime.now(UTC) < ends else None


def _claim_of_head(head: Head) -> _Claim | None:
    algorithm, _, rest = head.headers.get("authorization", "").partition(" ")
    said = dict(_pair(part.strip()) for part in rest.split(","))
    try:
        date, payload = head.headers["x-amz-date"], head.headers["x-amz-content-sha256"]
        claim = _Claim(said["Credential"], said["SignedHeaders"], said["Signature"], date, payload)
    except KeyError:
        return None
    return claim if algorithm == _ALGORITHM else None


def _as_signed(pair: tuple[str, str]) -> tuple[str, str]:
    """Name and value in the one way of writing them that is signed, however they were sent."""
    return quote(unquote_plus(pair[0]), safe=""), quote(unquote_plus(pair[1]), safe="")


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value
