"""Links to a submission: itself, the page of its review, and its draft; and to the live page of a run."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import Request

from losslake_contributions.contract.contributions import IN_REVIEW
from losslake_contributions.contract.submissions import SubmissionStatus
from losslake_contributions.signed_links import link_token

CONTRIBUTIONS = "/v1/contributions"
SUBMISSIONS = "/v1/submissions"
REVIEWS = "/reviews"
DRAFTS = "/drafts"
LIVE = "/live"


@dataclass(frozen=True)
class Links:
    """The links of a service. public_url: empty for the address of each request. key: signs links that expire."""

    public_url: str
    key: bytes

    def base(self, request: Request) -> str:
        """Return the address of the service, without a slash at the end."""
        return self.public_url or f"{request.url.scheme}://{request.url.netloc}"

    def draft(self, name: str) -> str:
        """Return the path of a link to a draft, with a slash at the end; it expires."""
        return f"{DRAFTS}/{link_token('draft', self.key, UUID(name))}/"

    def facts(self, request: Request, run: str) -> str:
        """Return the link to the run.json of a run."""
        return f"{self.base(request)}{CONTRIBUTIONS}/{run}/facts"

    def of(self, request: Request, status: SubmissionStatus) -> dict[str, str]:
        """Return the links of a submission, by what they lead to. One that is decided has no draft."""
        base, name = self.base(request), status.id
        links = {"self": f"{base}{SUBMISSIONS}/{name}", "review": f"{base}{REVIEWS}/{name}"}
        return {**links, "draft": f"{base}{self.draft(name)}"} if status.state in IN_REVIEW else links

    def of_run(self, request: Request, run: str) -> dict[str, str]:
        """Return the links of a run, by what they lead to: its live page, by a link that expires."""
        return {"live": f"{self.base(request)}{LIVE}/{link_token('live', self.key, UUID(run))}"}
