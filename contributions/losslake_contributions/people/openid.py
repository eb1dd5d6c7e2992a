"""OpenID Connect: the authorization code flow with PKCE, and the verification of ID tokens.

Sources: OpenID Connect Core 1.0 (3.1.3.7: ID token validation) and Discovery 1.0; RFC 7636 (PKCE), RFC 8725 (JWT), RFC
9207 (the issuer in the answer), RFC 9700 (security of OAuth 2.0).
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import jwt

from losslake_contributions.people.pending_sign_in import PendingSignIn
from losslake_contributions.people.provider_requests import ProviderRequests, check_endpoint
from losslake_contributions.people.providers import Person, Provider
from losslake_contributions.protocol.errors import ContributionError
from losslake_schema.contributors import checked_orcid

# Signatures by private keys only: with HS256, whoever has the public key could sign, if it were taken for a secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SECONDS_KEPT, SECONDS_BETWEEN_KEYS, SECONDS_AFTER_FAILURE = 3600.0, 60.0, 10.0
LEEWAY = 60  # seconds between clocks
_LONGEST_TOKEN, _LONGEST_SUBJECT, _MOST_KEYS = 20_000, 255, 100
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_BAD_TOKEN = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError, AttributeError)


@dataclass(frozen=True)
class _Discovered:
    """The provider's configuration. at: when it was read."""

    at: float
    facts: Mapping[str, Any]


class OpenIDConnect:
    """A provider that speaks OpenID Connect. Its configuration and keys are read again after an hour."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._requests = ProviderRequests(provider.title)
        self._reading = asyncio.Lock()
        self._discovered: _Discovered | None = None
        self._failed_at = -SECONDS_AFTER_FAILURE
        self._keys: list[Any] = []
        self._keys_at = -SECONDS_KEPT

    async def authorization_url(self, pending: PendingSignIn) -> str:
        """Return the address at the provider where a person signs in. Raises ContributionError."""
        endpoint = str((await self._configuration())["authorization_endpoint"])
        # With a profile scope, ORCID would refuse; its openid scope has the name.
        scope = "openid" if self.provider.subject_is_orcid else "openid profile"
        return authorization_url(endpoint, self.provider, pending, scope=scope, nonce=pending.nonce)

    async def identify(self, pending: PendingSignIn, code: str, issuer: str | None) -> Person:
        """Return who has signed in. issuer: as the answer names it. Raises ContributionError."""
        facts = await self._configuration()
        names_issuer = facts.get("authorization_response_iss_parameter_supported") is True
        if (issuer is not None or names_issuer) and issuer != self.provider.issuer:
            raise refusal(self.provider, "the answer is from another provider")
        body, options = code_request(self.provider, pending, code), {}
        # Basic is the default (Discovery 1.0, section 3), and RFC 6749 (2.3.1) has both parts encoded.
        if "client_secret_post" not in facts.get("token_endpoint_auth_methods_supported", ()):
            body.pop("client_id"), body.pop("client_secret")
            options["auth"] = quote(self.provider.client_id, safe=""), quote(self.provider.client_secret, safe="")
        answer = await self._requests.json("POST", str(facts["token_endpoint"]), data=body, **options)
        token = answer.get("id_token")
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
            raise refusal(self.provider, "it doesn't accept the code, or gives no ID token")
        claims = await self._verified(token, pending.nonce, str(facts["jwks_uri"]))
        name = _name_in(claims) or await self._name_of(claims["sub"], answer.get("access_token"))
        return self._person(claims["sub"], name)

    def _person(self, subject: str, name: str) -> Person:
        if not self.provider.subject_is_orcid:
            return Person(self.provider.issuer, subject, name)
        try:
            orcid = checked_orcid(subject)
        except ValueError:
            raise refusal(self.provider, "the ID token has no ORCID iD") from None
        return Person(self.provider.issuer, orcid, name, orcid)

    async def _configuration(self) -> Mapping[str, Any]:
        """Return the discovered configuration; one that failed is asked for again after some seconds."""
        async with self._reading:
            now = time.monotonic()
            if self._discovered is None or now - self._discovered.at > SECONDS_KEPT:
                if now - self._failed_at < SECONDS_AFTER_FAILURE:
                    raise self._requests.failure("can't be reached")
                self._failed_at = now
                self._discovered = _Discovered(now, await self._discover())
                self._failed_at = -SECONDS_AFTER_FAILURE
            return self._discovered.facts

    async def _discover(self) -> Mapping[str, Any]:
        issuer = self.provider.issuer
        facts = await self._requests.json("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if facts.get("issuer") != issuer:
            raise self._requests.failure("says that it is another issuer")
        try:
            for name in _ENDPOINTS:
                check_endpoint(facts.get(name), issuer)
            if "userinfo_endpoint" in facts:
                check_endpoint(facts["userinfo_endpoint"], issuer)
        except ValueError as error:
            raise self._requests.failure(f"has a configuration that isn't safe: {error}") from None
        return facts

    async def _verified(self, token: str, nonce: str, jwks_uri: str) -> dict[str, Any]:
        """Return the claims of an ID token that is this provider's answer to this sign-in. Raises ContributionError."""
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(header.get("kid"), str(header.get("alg")), jwks_uri)
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=ALGORITHMS, issuer=self.provider.issuer, audience=self.provider.client_id,
                leeway=LEEWAY,
                options={
                    "require": ["iss", "sub", "aud", "exp", "iat", "nonce"],
                    "enforce_minimum_key_length": True,
                },
            )  # fmt: skip
        except _BAD_TOKEN as error:
            raise refusal(self.provider, f"the ID token isn't valid ({type(error).__name__})") from None
        audience, party = claims["aud"], claims.get("azp", self.provider.client_id)
        # Those that it is also for aren't known here, so none may be named.
        if audience not in (self.provider.client_id, [self.provider.client_id]) or party != self.provider.client_id:
            raise refusal(self.provider, "the ID token is for another service")
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise refusal(self.provider, "the ID token is for another sign-in")
        subject = claims["sub"]
        if not 1 <= len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
            raise refusal(self.provider, "the ID token names nobody")
        return claims

    async def _key(self, kid: object, algorithm: str, jwks_uri: str) -> jwt.PyJWK:
        """Return the key of an ID token; one that isn't known is looked up, at most once a minute."""
        if algorithm not in ALGORITHMS:
            raise jwt.InvalidAlgorithmError(algorithm)
        async with self._reading:
            now, key = time.monotonic(), _find_key(self._keys, kid, algorithm)
            age = now - self._keys_at
            if age > SECONDS_KEPT or (key is None and age > SECONDS_BETWEEN_KEYS):
                document = await self._requests.json("GET", jwks_uri)
                keys = document.get("keys")
                self._keys, self._keys_at = (keys[:_MOST_KEYS] if isinstance(keys, list) else []), now
                key = _find_key(self._keys, kid, algorithm)
        if key is None:
            raise jwt.InvalidKeyError("no such key")
        return key

    async def _name_of(self, subject: str, access_token: object) -> str:
        """Return the name at the provider's userinfo endpoint; empty if it says none. Raises ContributionError."""
        endpoint = (await self._configuration()).get("userinfo_endpoint")
        if endpoint is None or not isinstance(access_token, str) or not _is_header(access_token):
            return ""
        facts = await self._requests.json("GET", str(endpoint), headers={"Authorization": f"Bearer {access_token}"})
        # Core 1.0, 5.3.2: it may be about somebody else.
        if facts.get("sub") != subject:
            raise refusal(self.provider, "its two answers are about different people")
        return _name_in(facts)


def _find_key(keys: list[Any], kid: object, algorithm: str) -> jwt.PyJWK | None:
    """Return the key with an id, or the only one for tokens without an id; None if there is none for the algorithm."""
    of_id = [key for key in keys if isinstance(key, dict) and (kid is None or key.get("kid") == kid)]
    signing = [key for key in of_id if key.get("use", "sig") == "sig" and key.get("kty") in ("RSA", "EC", "OKP")]
    # A key for another algorithm, such as none, isn't even read.
    if len(signing) != 1 or signing[0].get("alg", algorithm) != algorithm:
        return None
    return jwt.PyJWK(signing[0], algorithm)


def _name_in(claims: Mapping[str, Any]) -> str:
    """Return the name in claims; empty without one."""
    parts = [claims.get("given_name"), claims.get("family_name")]
    joined = " ".join(part for part in parts if isinstance(part, str) and part)
    name = claims.get("name")
    return name if isinstance(name, str) and name.strip() else joined


def _is_header(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text and len(text) <= _LONGEST_TOKEN


def authorization_url(endpoint: str, provider: Provider, pending: PendingSignIn, **more: str) -> str:
    """Return the address of an authorization request."""
    parameters = {
        "response_type": "code", "client_id": provider.client_id, "redirect_uri": provider.redirect_uri,
        "state": pending.state, "code_challenge": pending.challenge, "code_challenge_method": "S256", **more,
    }  # fmt: skip
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"


def code_request(provider: Provider, pending: PendingSignIn, code: str) -> dict[str, str]:
    """Return the form by which a code is exchanged for tokens."""
    return {
        "grant_type": "authorization_code", "code": code, "redirect_uri": provider.redirect_uri,
        "code_verifier": pending.verifier, "client_id": provider.client_id, "client_secret": provider.client_secret,
    }  # fmt: skip


def refusal(provider: Provider, why: str) -> ContributionError:
    """Return the error of a person who isn't signed in."""
    return ContributionError("sign-in-failed", f"{provider.title} didn't sign you in, as {why}: begin again")
