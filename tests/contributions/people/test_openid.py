"""Answers of a provider that aren't what they should be: ID tokens, keys, configuration, userinfo, GitHub's user."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake_contributions.people import pending_sign_in
from losslake_contributions.people.accounts import credit_of
from losslake_contributions.people.github import GitHub
from losslake_contributions.people.openid import OpenIDConnect
from losslake_contributions.people.provider_requests import LARGEST, check_endpoint
from losslake_contributions.people.providers import Person, Provider
from losslake_contributions.protocol.errors import ContributionError
from tests.contributions.people.provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    ORCID,
    Answer,
    LocalProvider,
    as_json,
    public_jwk,
    signing_key,
    visit,
)

KEY = b"k" * 32
BACK = "http://localhost/sign-in/orcid/callback"


def known(provider: LocalProvider, **changes: Any) -> Provider:
    right = Provider("orcid", "ORCID", provider.url, CLIENT_ID, CLIENT_SECRET, BACK, subject_is_orcid=True)
    return dataclasses.replace(right, **changes)


def person(client: OpenIDConnect | GitHub, issuer: str | None = None, use: Callable[[str], str] = str) -> Person:
    """Sign in, and return who has. use: what is sent as the code, of the one that the provider gives."""

    async def work() -> Person:
        pending = pending_sign_in.begin(KEY, "orcid", "/tokens")
        location = visit(await client.authorization_url(pending))
        return await client.identify(pending, use(parse_qs(urlsplit(location).query)["code"][0]), issuer)

    return asyncio.run(work())


def refusal(provider: LocalProvider, **changes: Any) -> str:
    """Why a sign-in is refused."""
    with pytest.raises(ContributionError) as error:
        person(OpenIDConnect(known(provider, **changes)))
    assert error.value.kind in ("sign-in-failed", "provider-failed")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_right_answer_identifies_a_person(provider: LocalProvider) -> None:
    ada = Person(provider.url, ORCID, "Ada Lovelace", ORCID)
    assert person(OpenIDConnect(known(provider))) == ada
    provider.configuration = {"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
    assert person(OpenIDConnect(known(provider)), issuer=provider.url) == ada
    provider.claims = {"aud": [CLIENT_ID], "azp": CLIENT_ID}
    assert person(OpenIDConnect(known(provider, subject_is_orcid=False))) == dataclasses.replace(ada, orcid=None)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example"}, "InvalidIssuerError"),
        ({"iss": None}, "MissingRequiredClaimError"),
        ({"aud": "APP-OTHER"}, "InvalidAudienceError"),
        ({"aud": [CLIENT_ID, "APP-OTHER"]}, "for another service"),
        ({"aud": None}, "MissingRequiredClaimError"),
        ({"azp": "APP-OTHER"}, "for another service"),
        ({"exp": int(time.time()) - 3600}, "ExpiredSignatureError"),
        ({"exp": None}, "MissingRequiredClaimError"),
        ({"iat": int(time.time()) + 3600}, "ImmatureSignatureError"),
        ({"nbf": int(time.time()) + 3600}, "ImmatureSignatureError"),
        ({"iat": None}, "MissingRequiredClaimError"),
        ({"exp": "never"}, "DecodeError"),
        ({"nonce": "of another sign-in"}, "for another sign-in"),
        ({"nonce": None}, "MissingRequiredClaimError"),
        ({"nonce": ["x"]}, "for another sign-in"),
        ({"sub": None}, "MissingRequiredClaimError"),
        ({"sub": 5}, "InvalidSubjectError"),
        ({"sub": ""}, "names nobody"),
        ({"sub": "x" * 256}, "names nobody"),
        ({"sub": "a\u202eb"}, "names nobody"),
        ({"sub": "0000-0002-1825-0098"}, "has no ORCID iD"),
        ({"sub": "https://orcid.org/../x"}, "has no ORCID iD"),
    ],
)
def test_id_token_with_wrong_claims_is_refused(provider: LocalProvider, claims: dict[str, Any], reason: str) -> None:
    provider.claims = claims
    assert reason in refusal(provider)


def encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def unsigned(claims: dict[str, Any], header: dict[str, Any]) -> str:
    return f"{encoded(header | {'alg': 'none', 'typ': 'JWT'})}.{encoded(claims)}."


def by_public_key(claims: dict[str, Any], header: dict[str, Any]) -> str:
    """Signed with HS256, whose secret is the public key, which everybody has."""
    public = signing_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = f"{encoded(header | {'alg': 'HS256'})}.{encoded(claims)}"
    digest = hmac.digest(public, text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def by_other_key(claims: dict[str, Any], header: dict[str, Any]) -> str:
    return jwt.encode(claims, signing_key(1), "RS256", header)


def by_key_in_header(claims: dict[str, Any], header: dict[str, Any]) -> str:
    """Signed with a key that the token brings itself."""
    return jwt.encode(claims, signing_key(1), "RS256", header | {"jwk": public_jwk(signing_key(1))})


def changed_afterwards(claims: dict[str, Any], header: dict[str, Any]) -> str:
    head, _, signature = jwt.encode(claims, signing_key(), "RS256", header).split(".")
    return f"{head}.{encoded(claims | {'sub': '0000-0001-5109-3700'})}.{signature}"


def without_signature(claims: dict[str, Any], header: dict[str, Any]) -> str:
    return jwt.encode(claims, signing_key(), "RS256", header).rpartition(".")[0] + "."


@pytest.mark.parametrize(
    "sign",
    [
        unsigned, by_public_key, by_other_key, by_key_in_header, changed_afterwards, without_signature,
        lambda *_: "", lambda *_: "a.b.c", lambda *_: "." * 100, lambda *_: "x" * 30_000, lambda *_: "\u00e9.\u00e9.",
        lambda claims, header: jwt.encode(claims, signing_key(), "RS256", header | {"kid": "unknown"}),
        lambda claims, header: jwt.encode(claims, signing_key(), "RS256", header | {"crit": ["x"], "x": 1}),
    ],
)  # fmt: skip
def test_id_token_that_the_provider_s_key_has_not_signed_is_refused(
    provider: LocalProvider, sign: Callable[[dict[str, Any], dict[str, Any]], str]
) -> None:
    provider.sign = sign
    assert "ORCID didn't sign you in" in refusal(provider)


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [public_jwk(signing_key()), public_jwk(signing_key(1))],  # which of the two?
        [{**public_jwk(signing_key()), "use": "enc"}],
        [{**public_jwk(signing_key()), "alg": "none"}],
        [{**public_jwk(signing_key()), "alg": "RS512"}],
        [{"kty": "oct", "kid": "first", "k": "c2VjcmV0"}],
        [{"kty": "RSA", "kid": "first", "n": "AQ", "e": "AQAB"}],
        [None, 5, "first", {"kid": "first"}],
    ],
)
def test_keys_with_none_or_two_for_a_token_are_refused(provider: LocalProvider, keys: list[Any]) -> None:
    provider.keys = keys
    assert "the ID token isn't valid" in refusal(provider)


def test_new_key_of_the_provider_is_looked_up_once_a_minute(provider: LocalProvider) -> None:
    client = OpenIDConnect(known(provider))
    person(client)
    provider.sign = lambda claims, header: jwt.encode(claims, signing_key(1), "RS256", header | {"kid": "second"})
    provider.keys.append(public_jwk(signing_key(1), "second"))
    before = provider.requests.count("GET /jwks")
    for _ in range(3):
        with pytest.raises(ContributionError, match="isn't valid"):
            person(client)
    assert provider.requests.count("GET /jwks") == before, "it was read less than a minute ago"
    client._keys_at -= 61
    assert person(client).subject == ORCID
    assert provider.requests.count("GET /jwks") == before + 1


def redirect() -> Answer:
    return 302, {"Location": "http://127.0.0.1:1/"}, b""


def huge() -> Answer:
    return 200, {"Content-Type": "application/json"}, b'{"x": "' + b"x" * LARGEST + b'"}'


def deep() -> Answer:
    return 200, {}, b'{"x":' + b"[" * 100_000


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks", "/token", "/userinfo"])
@pytest.mark.parametrize(
    "answer",
    [redirect, huge, deep, lambda: as_json([1]), lambda: (200, {}, b"<html>"), lambda: (500, {}, b"secret trace")],
)
def test_answers_that_are_no_json_object_of_the_provider_are_refused(
    provider: LocalProvider, path: str, answer: Callable[[], Answer]
) -> None:
    provider.subject = {"sub": ORCID}  # so that the name is asked for
    provider.wrong = {path: answer}
    message = refusal(provider)
    assert message in (
        "ORCID doesn't answer as it should: try again, or tell the operator",
        "ORCID doesn't answer with a JSON object: try again, or tell the operator",
    )


def test_provider_that_never_answers_is_given_up(provider: LocalProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake_contributions.people.provider_requests.SECONDS", 0.05)
    ended = threading.Event()

    def silent() -> Answer:
        ended.wait(60)
        return as_json({})

    provider.wrong = {"/jwks": silent}
    try:
        assert "ORCID doesn't answer as it should" in refusal(provider)
    finally:
        ended.set()


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example"},
        {"issuer": "http://127.0.0.1/"},
        {"token_endpoint": "http://127.0.0.2/token"},
        {"jwks_uri": "http://169.254.169.254/latest/meta-data"},
        {"jwks_uri": "file:///etc/passwd"},
        {"token_endpoint": "https://evil.example/token"},
        {"userinfo_endpoint": "http://localhost:5432/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
    ],
)
def test_configuration_of_another_issuer_or_with_unsafe_endpoints_is_refused(
    provider: LocalProvider, changes: dict[str, Any]
) -> None:
    provider.configuration = changes
    message = refusal(provider)
    assert ("says that it is another issuer" if "issuer" in changes else "that isn't safe") in message


@pytest.mark.parametrize(
    ("url", "is_right"),
    [
        ("https://orcid.org/oauth/token", True),
        ("https://oauth2.googleapis.com/token", True),
        ("http://orcid.org/oauth/token", False),
        ("https://127.0.0.1/token", False),
        ("https://[::1]/token", False),
        ("https://[::ffff:169.254.169.254]/", False),
        ("https://2130706433/", False),
        ("https://0x7f.1/", False),
        ("https://localhost/", False),
        ("https://database/", False),
        ("https://database.internal/", False),
        ("https://printer.local./", False),
        ("https://user:password@orcid.org/", False),
        ("https://orcid.org/#x", False),
        ("https:///token", False),
        ("ftp://orcid.org/", False),
    ],
)
def test_endpoints_are_https_and_at_public_hosts(url: str, is_right: bool) -> None:
    if is_right:
        assert check_endpoint(url, "https://orcid.org") == url
    else:
        with pytest.raises(ValueError, match="endpoint"):
            check_endpoint(url, "https://orcid.org")


def test_code_counts_once_and_only_for_the_browser_that_began(provider: LocalProvider) -> None:
    client, codes = OpenIDConnect(known(provider)), list[str]()

    def kept(code: str) -> str:
        codes.append(code)
        return code

    assert person(client, use=kept).subject == ORCID
    for replayed in (lambda _: codes[0], lambda _: "", lambda code: code[::-1]):
        with pytest.raises(ContributionError, match="doesn't accept the code"):
            person(client, use=replayed)
    with pytest.raises(ContributionError, match="doesn't accept the code"):
        person(client, use=lambda code: f"{kept(code)}x")
    with pytest.raises(ContributionError, match="doesn't accept the code"):
        person(client, use=lambda _: codes[-1])  # it wasn't used, but its verifier is that of the other sign-in


def test_answer_that_names_another_issuer_is_refused(provider: LocalProvider) -> None:
    with pytest.raises(ContributionError, match="from another provider"):
        person(OpenIDConnect(known(provider)), issuer="https://evil.example")
    provider.configuration = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(ContributionError, match="from another provider"):
        person(OpenIDConnect(known(provider)))


def test_name_comes_from_userinfo_of_the_same_person_only(provider: LocalProvider) -> None:
    provider.subject = {"sub": ORCID}
    provider.wrong = {"/userinfo": lambda: as_json({"sub": ORCID, "name": "Ada Lovelace"})}
    assert person(OpenIDConnect(known(provider))).name == "Ada Lovelace"
    provider.wrong = {"/userinfo": lambda: as_json({"sub": "0000-0001-5109-3700", "name": "Mallory"})}
    assert "about different people" in refusal(provider)
    provider.wrong = {}
    assert person(OpenIDConnect(known(provider))).name == "", "a private name is none"


@pytest.mark.parametrize(
    "user",
    [
        {}, {"login": "octocat"}, {"id": None, "login": "octocat"}, {"id": True, "login": "octocat"},
        {"id": "583231", "login": "octocat"}, {"id": -1, "login": "octocat"}, {"id": 1.0, "login": "octocat"},
        {"id": 1}, {"id": 1, "login": ""}, {"id": 1, "login": "<script>"}, {"id": 1, "login": "a\u202eb"},
        {"id": 1, "login": "x" * 101}, {"id": 1, "login": ["x"]},
    ],
)  # fmt: skip
def test_github_user_without_number_and_login_is_nobody(provider: LocalProvider, user: dict[str, Any]) -> None:
    provider.user = user
    client = GitHub(github(provider))
    with pytest.raises(ContributionError, match="doesn't say who you are"):
        person(client)


def github(provider: LocalProvider) -> Provider:
    endpoints = {f"{name}_endpoint": f"{provider.url}/{name}" for name in ("token", "user")}
    return known(provider, title="GitHub", authorization_endpoint=f"{provider.url}/authorize", **endpoints)


@pytest.mark.parametrize(
    "answer", [{"error": "bad_verification_code"}, {"access_token": ["x"]}, {"access_token": "a\r\nb"}, {}]
)
def test_github_refuses_a_code_with_status_200(provider: LocalProvider, answer: dict[str, Any]) -> None:
    provider.wrong = {"/token": lambda: as_json(answer)}
    with pytest.raises(ContributionError, match="GitHub didn't sign you in, as it doesn't accept the code"):
        person(GitHub(github(provider)))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<b>Ada</b>", "<b>Ada</b>"),
        ("Ada\u202e\u0000 \x1b[2J\nLovelace\u200b", "Ada [2J Lovelace"),
        ("x" * 10_000, "x" * 200),
        ("  ", f"ORCID {ORCID}"),
        ("123", f"ORCID {ORCID}"),
        ("\u0065\u0301va", "\u00e9va"),
        ("\ud800Ada", "Ada"),
    ],
)
def test_name_is_cited_without_what_can_t_be_seen(name: str, shown: str) -> None:
    assert credit_of(Person("https://orcid.org", ORCID, name, ORCID)).name == shown


@settings(max_examples=10)
@given(st.text(max_size=300))
def test_any_name_gives_a_credit(name: str) -> None:
    credit = credit_of(Person("https://login.example", "1", name))
    assert credit.name.isprintable()
    assert 1 <= len(credit.name) <= 200
    assert any(letter.isalpha() for letter in credit.name)


@settings(max_examples=10)
@given(st.text(max_size=100), st.text(max_size=100))
def test_only_the_cookie_that_began_fits_the_state(cookie: str, state: str) -> None:
    right = pending_sign_in.begin(KEY, "orcid", "/tokens")
    assert pending_sign_in.resume(KEY, "orcid", right.cookie, right.state).following == "/tokens"
    for made_up in (cookie, f"{right.cookie}x", right.cookie.replace("orcid", "github")):
        for any_state in (state, right.state, ""):
            with pytest.raises(ContributionError):
                pending_sign_in.resume(KEY, "orcid", made_up, any_state)
    for key, name, sent in ((b"o" * 32, "orcid", right.state), (KEY, "github", right.state), (KEY, "orcid", state)):
        with pytest.raises(ContributionError):
            pending_sign_in.resume(key, name, right.cookie, sent)


def test_sign_in_ends_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = pending_sign_in.begin(KEY, "orcid", "/tokens")
    later = time.time() + pending_sign_in.SECONDS + 2
    monkeypatch.setattr("time.time", lambda: later)
    with pytest.raises(ContributionError, match="took more than 10 minutes"):
        pending_sign_in.resume(KEY, "orcid", begun.cookie, begun.state)
