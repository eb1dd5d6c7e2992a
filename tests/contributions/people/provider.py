"""A provider on this machine: OpenID Connect and GitHub's OAuth 2.0, over HTTP, with signed tokens.

It keeps the rules that a provider has to keep: the registered redirect URI, codes that count once, PKCE, the secret of
the client. What a test changes, it does wrong.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

ORCID = "0000-0002-1825-0097"
CLIENT_ID, CLIENT_SECRET = "APP-LOSSLAKE", "provider-secret-of-losslake"
Answer = tuple[int, Mapping[str, str], bytes]


@cache
def signing_key(number: int = 0) -> RSAPrivateKey:
    """A key of the provider; others with another number."""
    return generate_private_key(65537, 2048)


def public_jwk(key: RSAPrivateKey, kid: str = "first") -> dict[str, Any]:
    return {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}


@dataclass
class Issued:
    """What a code stands for."""

    request: Mapping[str, str]
    subject: Mapping[str, Any]


@dataclass
class LocalProvider:
    """The provider. subject: who signs in next. wrong: answers of paths, in place of the right ones.

    claims, header: of ID tokens, changed by tests; None removes one. sign: makes a token of claims and header.
    """

    port: int = 0
    host: str = "127.0.0.1"
    subject: dict[str, Any] = field(
        default_factory=lambda: {"sub": ORCID, "given_name": "Ada", "family_name": "Lovelace"}
    )
    user: dict[str, Any] = field(default_factory=lambda: {"id": 583231, "login": "octocat", "name": "Ada Lovelace"})
    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=lambda: [public_jwk(signing_key())])
    configuration: dict[str, Any] = field(default_factory=dict)
    wrong: dict[str, Callable[[], Answer]] = field(default_factory=dict)
    sign: Callable[[dict[str, Any], dict[str, Any]], str] | None = None
    codes: dict[str, Issued] = field(default_factory=dict)
    tokens: dict[str, Issued] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def reset(self) -> None:
        """Have it do everything right again."""
        right = LocalProvider()
        for name in ("subject", "user", "claims", "header", "keys", "configuration", "wrong", "sign"):
            setattr(self, name, getattr(right, name))

    def answer(self, method: str, path: str, values: Mapping[str, str], authorization: str) -> Answer:
        self.requests.append(f"{method} {path}")
        if path in self.wrong:
            return self.wrong[path]()
        match path:
            case "/.well-known/openid-configuration":
                return as_json(self._configuration())
            case "/jwks":
                return as_json({"keys": self.keys})
            case "/authorize":
                return self._authorize(values)
            case "/token":
                return self._token(values, authorization)
            case "/userinfo" | "/user":
                issued = self.tokens.get(authorization.removeprefix("Bearer "))
                return as_json(issued.subject) if issued else as_json({"error": "invalid_token"}, 401)
        return as_json({"error": "not found"}, 404)

    def _configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            **self.configuration,
        }

    def _authorize(self, values: Mapping[str, str]) -> Answer:
        right = values["client_id"], values["response_type"], values["code_challenge_method"]
        if right != (CLIENT_ID, "code", "S256"):
            return as_json({"error": "invalid_request"}, 400)
        code = secrets.token_urlsafe(16)
        self.codes[code] = Issued(values, dict(self.subject if "scope" in values else self.user))
        query = urlencode({"code": code, "state": values["state"]})
        return 302, {"Location": f"{values['redirect_uri']}?{query}"}, b""

    def _token(self, values: Mapping[str, str], authorization: str) -> Answer:
        client = values.get("client_id"), values.get("client_secret")
        if authorization.startswith("Basic "):
            name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            client = unquote(name), unquote(secret)
        issued = self.codes.pop(values.get("code", ""), None)
        digest = hashlib.sha256(values.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            issued is None
            or client != (CLIENT_ID, CLIENT_SECRET)
            or values.get("redirect_uri") != issued.request["redirect_uri"]
            or challenge != issued.request["code_challenge"]
        ):
            return as_json({"error": "invalid_grant"}, 400)
        access = secrets.token_urlsafe(16)
        self.tokens[access] = issued
        answer = {"access_token": access, "token_type": "bearer"}
        if "nonce" in issued.request:
            answer["id_token"] = self.id_token(issued)
        return as_json(answer)

    def id_token(self, issued: Issued) -> str:
        now = int(time.time())
        right = {
            "iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 600, "nonce": issued.request["nonce"],
            **issued.subject,
        }  # fmt: skip
        claims = {name: value for name, value in (right | self.claims).items() if value is not None}
        header = {name: value for name, value in ({"kid": "first"} | self.header).items() if value is not None}
        if self.sign is not None:
            return self.sign(claims, header)
        return jwt.encode(claims, signing_key(), "RS256", header)


def as_json(document: object, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(document).encode()


@contextmanager
def local_provider() -> Iterator[LocalProvider]:
    """A provider that runs."""
    provider = LocalProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            self._respond("GET", url.path, url.query)

        def do_POST(self) -> None:
            self._respond("POST", self.path, self.rfile.read(int(self.headers["content-length"])).decode())

        def _respond(self, method: str, path: str, form: str) -> None:
            values = dict(parse_qsl(form, keep_blank_values=True))
            status, headers, body = provider.answer(method, path, values, self.headers.get("authorization", ""))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # whoever asked has read enough
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# Made once: to make one takes 50 ms.
_BROWSER = httpx.Client()


def visit(url: str) -> str:
    """Sign in at the provider, as a browser does that is led there, and return where it leads back to."""
    answer = _BROWSER.get(url)
    assert answer.status_code == 302, answer.text
    return str(answer.headers["location"])


def presets(provider: LocalProvider) -> dict[str, dict[str, Any]]:
    """ORCID and GitHub as the settings know them, at this provider."""
    github = {
        "title": "GitHub", "issuer": provider.url, "authorization_endpoint": f"{provider.url}/authorize",
        "token_endpoint": f"{provider.url}/token", "user_endpoint": f"{provider.url}/user",
    }  # fmt: skip
    return {"orcid": {"title": "ORCID", "issuer": provider.url, "subject_is_orcid": True}, "github": github}


def registered(*names: str) -> dict[str, str]:
    """The settings of a service that is registered at providers of these names."""
    values = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    return {f"{name}_{setting}": value for name in names for setting, value in values.items()}
