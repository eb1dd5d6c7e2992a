"""Documents of links: those that a contributor or reviewer has been given, and may revoke."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from losslake_contributions.protocol.texts import Document


class LinkFacts(Document):
    """A link that is valid. subject: the submission of a draft, or the run. token: with which it ends."""

    id: str
    kind: Literal["draft", "live"]
    subject: str
    token: str
    created_at: datetime
    expires_at: datetime


class LinkList(Document):
    """Links, by id. next: the id after which the next page begins."""

    links: Annotated[tuple[LinkFacts, ...], Field(strict=False)]
    next: str | None = None
