"""Links to a submission: itself, the page of its review, and its draft; and to the live page of a run."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import Request

from losslake_contributions.people.links import find_link, link_to
from losslake_contributions.people.signed_links import Kind, link_token, read_token
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Link

CONTRIBUTIONS = "/v1/contributions"
SUBMISSIONS = "/v1/submissions"
REVIEWS = "/reviews"
DRAFTS = "/drafts"
LIVE = "/live"


@dataclass(frozen=True)
class Links:
    """The links of a service. public_url: empty for the address of each request. key: signs links that expire."""

    public_url: str
    database: Database
    key: SigningKey

    def base(self, request: Request) -> str:
        """Return the address of the service, without a slash at the end."""
        return self.public_url or f"{request.url.scheme}://{request.url.netloc}"

    def find(self, kind: Kind, token: str) -> Link | None:
        """Return the link whose token this is; None if it is forged, has expired or was revoked."""
        link = read_token(kind, self.key.read(), token)
        return find_link(self.database, kind, link.hex) if link is not None else None

    def draft(self, identity: Identity, name: str) -> str:
        """Return the path of a link to a draft, with a slash at the end; it ends with the identity's token."""
        return f"{DRAFTS}/{self._token('draft', name, identity)}/"

    def facts(self, request: Request, run: str) -> str:
        """Return the link to the run.json of a run."""
        return f"{self.base(request)}{CONTRIBUTIONS}/{run}/facts"

    def of(self, request: Request, identity: Identity, status: SubmissionStatus) -> dict[str, str]:
        """Return the links of a submission, by what they lead to. One that is decided has no draft."""
        base, name = self.base(request), status.id
        links = {"self": f"{base}{SUBMISSIONS}/{name}", "review": f"{base}{REVIEWS}/{name}"}
        return {**links, "draft": f"{base}{self.draft(identity, name)}"} if status.state == "submitted" else links

    def of_run(self, request: Request, identity: Identity, run: str) -> dict[str, str]:
        """Return the links of a run, by what they lead to: its live page, by a link that ends with the token."""
        return {"live": f"{self.base(request)}{LIVE}/{self._token('live', run, identity)}"}

    def _token(self, kind: Kind, subject: str, identity: Identity) -> str:
        link = link_to(self.database, kind, subject, identity)
        return link_token(kind, self.key.read(), UUID(link.id))
