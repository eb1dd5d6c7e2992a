"""Links to a submission: itself, the page of its review, and its draft."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import Request

from losslake_contributions.contract.contributions import IN_REVIEW
from losslake_contributions.contract.submissions import SubmissionStatus
from losslake_contributions.review.draft_links import draft_token

SUBMISSIONS = "/v1/submissions"
REVIEWS = "/reviews"
DRAFTS = "/drafts"


@dataclass(frozen=True)
class Links:
    """The links of a service. public_url: empty for the address of each request. key: signs links to drafts."""

    public_url: str
    key: bytes

    def base(self, request: Request) -> str:
        """Return the address of the service, without a slash at the end."""
        return self.public_url or f"{request.url.scheme}://{request.url.netloc}"

    def draft(self, name: str) -> str:
        """Return the path of a link to a draft, with a slash at the end; it expires."""
        return f"{DRAFTS}/{draft_token(self.key, UUID(name))}/"

    def of(self, request: Request, status: SubmissionStatus) -> dict[str, str]:
        """Return the links of a submission, by what they lead to. One that is decided has no draft."""
        base, name = self.base(request), status.id
        links = {"self": f"{base}{SUBMISSIONS}/{name}", "review": f"{base}{REVIEWS}/{name}"}
        return {**links, "draft": f"{base}{self.draft(name)}"} if status.state in IN_REVIEW else links
