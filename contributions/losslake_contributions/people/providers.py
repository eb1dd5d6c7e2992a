"""Providers with which people sign in: those that the settings switch on, each with its client id and secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from losslake_contributions.settings import Settings
from losslake_schema.errors import LossLakeError
from losslake_schema.package_files import read_toml
from losslake_service.settings import CONTRIBUTIONS_PREFIX, is_loopback

SIGN_IN = "/sign-in"
PRESETS: dict[str, dict[str, Any]] = read_toml("losslake_contributions.people", "providers.toml")
NAMES = (*PRESETS, "oidc")


@dataclass(frozen=True)
class Provider:
    """A provider at which this service is registered. name: in paths and settings.

    subject_is_orcid: it vouches for ORCID iDs. user_endpoint: empty for OpenID Connect, whose endpoints are discovered.
    """

    name: str
    title: str
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str
    subject_is_orcid: bool = False
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    user_endpoint: str = ""


@dataclass(frozen=True)
class Person:
    """Someone whom a provider has identified: by issuer and subject, never by a name or an address.

    name: as the provider says it, unchecked. orcid: None unless the provider vouches for it.
    """

    issuer: str
    subject: str
    name: str
    orcid: str | None = None


def read_providers(settings: Settings) -> Mapping[str, Provider]:
    """Return the providers that are switched on, by name. Raises LossLakeError for settings that don't fit."""
    providers = {name: _provider(name, settings) for name in NAMES if _is_on(name, settings)}
    if providers:
        _check_public_url(settings.public_url)
    return providers


def _is_on(name: str, settings: Settings) -> bool:
    """Return True if a provider has any setting."""
    endings = ("client_id", "client_secret", "client_secret_file", *(("issuer",) if name == "oidc" else ()))
    return any(getattr(settings, f"{name}_{ending}") for ending in endings)


def _provider(name: str, settings: Settings) -> Provider:
    facts = dict(PRESETS.get(name) or {"title": settings.oidc_title, "issuer": settings.oidc_issuer})
    if not facts["issuer"]:
        raise LossLakeError("oidc_issuer is missing: set it to the provider's issuer, such as https://login.example")
    problem = _issuer_problem(facts["issuer"])
    if problem:
        raise LossLakeError(f"oidc_issuer = {facts['issuer']!r} {problem}: copy the issuer as the provider states it")
    client_id = getattr(settings, f"{name}_client_id")
    if not client_id:
        raise LossLakeError(f"{name}_client_id is missing: {facts['title']} gives it when you register this service")
    secret = _secret(name, settings)
    redirect_uri = f"{settings.public_url}{SIGN_IN}/{name}/callback"
    return Provider(name=name, client_id=client_id, client_secret=secret, redirect_uri=redirect_uri, **facts)


def _secret(name: str, settings: Settings) -> str:
    """Return the secret of a provider; no message has any part of it."""
    value, path = getattr(settings, f"{name}_client_secret"), getattr(settings, f"{name}_client_secret_file")
    setting = f"{name}_client_secret"
    if bool(value) == bool(path):
        state = "both are set" if value else "neither is set"
        variable = f"{CONTRIBUTIONS_PREFIX}{setting.upper()}"
        raise LossLakeError(f"{setting} and {setting}_file: {state}: give one, best the file, or {variable}")
    try:
        secret: str = value or Path(path).expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it isn't text"
        raise LossLakeError(f"{setting}_file, {path}, can't be read: {why}") from None
    if not secret.isascii() or not secret.isprintable() or not secret:
        raise LossLakeError(f"{setting} is empty, or has characters that no secret has: copy it again")
    return secret


def _check_public_url(url: str) -> None:
    if not url:
        raise LossLakeError("signing in needs public_url: the address to which providers send people back")
    parsed = httpx.URL(url)
    if parsed.scheme != "https" and not is_loopback(parsed.host):
        raise LossLakeError(f"public_url = {url!r} isn't https://, which signing in needs beyond this machine")


def _issuer_problem(issuer: str) -> str:
    """Return why a text is no issuer; empty for one."""
    try:
        url = httpx.URL(issuer)
    except httpx.InvalidURL:
        return "isn't a URL"
    if not url.host or url.userinfo or url.query or url.fragment:
        return "isn't a URL of a host, without user, password, query and fragment"
    return "" if url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host)) else "isn't https://"
