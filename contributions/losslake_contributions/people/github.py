"""GitHub, which has no OpenID Connect for people: OAuth 2.0 with PKCE, and who has the token that it gives."""

from __future__ import annotations

import re

from losslake_contributions.people.openid import authorization_url, code_request, refusal
from losslake_contributions.people.pending_sign_in import PendingSignIn
from losslake_contributions.people.provider_requests import ProviderRequests
from losslake_contributions.people.providers import Person, Provider

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,1000}")


class GitHub:
    """GitHub as a provider. The token is used for one request, and forgotten; it has no scope."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._requests = ProviderRequests(provider.title)

    async def authorization_url(self, pending: PendingSignIn) -> str:
        """Return the address at GitHub where a person signs in."""
        return authorization_url(self.provider.authorization_endpoint, self.provider, pending)

    async def identify(self, pending: PendingSignIn, code: str, issuer: str | None) -> Person:
        """Return who has signed in: by the number of the account, as a login may become another person's.

        issuer: of the answer, which GitHub doesn't name as OpenID Connect would. Raises ContributionError.
        """
        del issuer
        form = code_request(self.provider, pending, code)
        answer = await self._requests.json("POST", self.provider.token_endpoint, data=form)
        token = answer.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise refusal(self.provider, "it doesn't accept the code")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
        user = await self._requests.json("GET", self.provider.user_endpoint, headers=headers)
        number, login = user.get("id"), user.get("login")
        if type(number) is not int or number <= 0 or not isinstance(login, str) or not _LOGIN.fullmatch(login):
            raise refusal(self.provider, "it doesn't say who you are")
        return Person(self.provider.issuer, str(number), f"{login} (GitHub)")
