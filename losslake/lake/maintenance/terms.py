"""What may go, and until when it stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from losslake.lake.lake import Lake
from losslake_schema.database import Release


@dataclass(frozen=True)
class Terms:
    """before: only what nothing has needed since this moment may go. unlisting: releases that go as if unlisted now."""

    before: datetime
    unlisting: frozenset[int] = frozenset()
    only_look: bool = False

    def needs(self, release: Release) -> bool:
        """Whether the files of a release stay: as long as it is listed, and for the grace time after."""
        if release.number in self.unlisting:
            return False
        return release.unlisted_at is None or release.unlisted_at > self.before


def needed_releases(lake: Lake, terms: Terms) -> Sequence[Release]:
    """The releases whose files stay, newest first."""
    return [release for release in lake.releases(unlisted=True) if terms.needs(release)]
