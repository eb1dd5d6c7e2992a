"""Sign-ins that have begun: a cookie of the browser, from which all that binds the answer to it is derived.

Nothing is stored for strangers who begin to sign in. The state, the nonce and the PKCE verifier are HMACs of the cookie
by the key of the service: whoever has the state, which is in addresses, has neither of the others, and a cookie that
was made up or changed gives another state.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from losslake_contributions.protocol.errors import ContributionError

SECONDS = 600
_LONGEST = 1000
_AGAIN = "begin again on the page to sign in"


@dataclass(frozen=True)
class PendingSignIn:
    """A sign-in that has begun. cookie: what the browser keeps. following: the path of this site to go on to."""

    cookie: str
    following: str
    key: bytes = field(repr=False)

    @property
    def state(self) -> str:
        """The state, which the provider returns."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """The nonce of the ID token."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """The code verifier (RFC 7636)."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """The code challenge of the method S256."""
        return _base64(hashlib.sha256(self.verifier.encode()).digest())

    def _derive(self, purpose: str) -> str:
        return _base64(hmac.digest(self.key, f"losslake sign-in {purpose} {self.cookie}".encode(), "sha256"))


def begin(key: bytes, provider: str, following: str) -> PendingSignIn:
    """Return a new sign-in with a provider."""
    ends = int(time.time()) + SECONDS
    return PendingSignIn(f"{secrets.token_urlsafe(32)}.{ends}.{provider}.{quote(following, safe='')}", following, key)


def resume(key: bytes, provider: str, cookie: str | None, state: str) -> PendingSignIn:
    """Return the sign-in of a cookie; raise ContributionError if the state isn't its own, or it has ended."""
    if not cookie or len(cookie) > _LONGEST:
        raise ContributionError("sign-in-failed", f"this browser hasn't begun to sign in: {_AGAIN}")
    *_, ends, name, following = ["", "", "", *cookie.split(".", 3)]
    pending = PendingSignIn(cookie, unquote(following), key)
    is_right = hmac.compare_digest(pending.state.encode(), state.encode("utf-8", "surrogateescape"))
    if not is_right or name != provider:
        raise ContributionError("sign-in-failed", f"the answer isn't to what this browser has begun: {_AGAIN}")
    # Only this service makes cookies with the right state, so the number is one.
    if int(ends) < time.time():
        raise ContributionError("sign-in-failed", f"signing in took more than {SECONDS // 60} minutes: {_AGAIN}")
    return pending


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
