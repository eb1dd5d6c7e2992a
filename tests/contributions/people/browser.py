"""A browser that signs in with a provider: it keeps the cookies that it gets, and sends forms as pages do."""

from __future__ import annotations

import re
from typing import Any

from tests.contributions.people.provider import visit

FORM = {"accept": "text/html", "sec-fetch-site": "same-origin"}


class Browser:
    """A browser. client: of this process, or of httpx. public_url: of the service."""

    def __init__(self, client: Any, public_url: str) -> None:
        self._client, self._public_url = client, public_url
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, cookie: str | None = None, **options: Any) -> Any:
        """Send a request. cookie: the header, in place of the browser's own cookies."""
        self._client.cookies.clear()
        own = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {**FORM, "cookie": own if cookie is None else cookie, "host": self._public_url.partition("://")[2]}
        answer = self._client.request(method, path, headers=headers, follow_redirects=False, **options)
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            if "max-age=0" in line.lower():
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def begin(self, name: str = "orcid", query: str = "") -> str:
        """Begin to sign in, and return the path to which the provider leads back."""
        begun = self.ask("GET", f"/sign-in/{name}{query}")
        assert begun.status_code == 303, begun.text
        return visit(begun.headers["location"]).removeprefix(self._public_url)

    def sign_in(self, name: str = "orcid", query: str = "") -> Any:
        return self.ask("GET", self.begin(name, query))

    def make_token(self) -> str:
        (token,) = re.findall(r"llc_[0-9a-f]{12}_[\w-]{43}", self.ask("POST", "/tokens").text)
        return str(token)
