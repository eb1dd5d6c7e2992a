"""Signing in with a provider: how it begins in a browser, and how the provider's answer ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from losslake_contributions.people import pending_sign_in
from losslake_contributions.people.accounts import AccountLimits, begin_account_session
from losslake_contributions.people.github import GitHub
from losslake_contributions.people.openid import OpenIDConnect
from losslake_contributions.people.pending_sign_in import PendingSignIn
from losslake_contributions.people.providers import SIGN_IN, read_providers
from losslake_contributions.people.requests import in_thread
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database

_LONGEST = 4000


@dataclass(frozen=True)
class SignIns:
    """The providers of a service, by name; none if nobody can sign in with one. url: the page to sign in."""

    providers: Mapping[str, OpenIDConnect | GitHub]
    limits: AccountLimits
    key: SigningKey
    database: Database
    url: str

    @staticmethod
    def of(settings: Settings, key: SigningKey, database: Database) -> SignIns:
        """Return those in the settings. Raises LossLakeError for settings that don't fit."""
        providers = {
            name: GitHub(each) if each.user_endpoint else OpenIDConnect(each)
            for name, each in read_providers(settings).items()
        }
        url = f"{settings.public_url}{SIGN_IN}" if providers else ""
        return SignIns(providers, AccountLimits.of(settings), key, database, url)

    @property
    def titles(self) -> dict[str, str]:
        """The title of each provider, by its name in paths."""
        return {name: each.provider.title for name, each in self.providers.items()}

    @property
    def cookie(self) -> str:
        """The name of the cookie of a browser that signs in.

        With this prefix, browsers take it from this host only, over https: no other host of the domain can plant one.
        """
        return "__Host-losslake_sign_in" if self.is_secure else "losslake_sign_in"

    @property
    def is_secure(self) -> bool:
        """True if the service is reached over https."""
        return self.url.startswith("https://")

    async def begin(self, name: str, following: str) -> tuple[str, str]:
        """Return the address at the provider, and the cookie of the browser. following: the path to go on to."""
        pending = pending_sign_in.begin(await in_thread(self.key.read), name, following)
        return await self.providers[name].authorization_url(pending), pending.cookie

    async def resume(self, name: str, cookie: str | None, answer: Mapping[str, str]) -> PendingSignIn:
        """Return the sign-in that a provider's answer belongs to. Raises ContributionError if there is none."""
        return pending_sign_in.resume(await in_thread(self.key.read), name, cookie, answer.get("state", ""))

    async def finish(self, name: str, pending: PendingSignIn, answer: Mapping[str, str], origin: str) -> str:
        """Return the cookie of the session of whom a provider's answer is about.

        origin: the address of the client. Raises ContributionError. No word of the answer gets into a message.
        """
        title, code = self.titles[name], answer.get("code", "")
        if answer.get("error") == "access_denied":
            raise ContributionError("sign-in-failed", f"you haven't allowed {title} to sign you in")
        if "error" in answer or not code or len(code) > _LONGEST:
            raise ContributionError("sign-in-failed", f"{title} didn't sign you in: begin again")
        person = await self.providers[name].identify(pending, code, answer.get("iss"))
        return await in_thread(begin_account_session, self.database, person, pending.state, self.limits, origin)
