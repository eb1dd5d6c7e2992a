"""Taking releases out of the list: they can't be opened any more, and their files may go.

What may go, and until when it stays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, patiently
from losslake.lake.lake import Lake
from losslake_schema.database import Release
from losslake_schema.errors import LossLakeError, UnknownRelease


def to_unlist(lake: Lake, keep: int | None, numbers: Collection[int]) -> list[int]:
    """The listed releases to be unlisted, ascending: these, and with `keep` all but so many of the newest.

    Raises UnknownRelease for a number that there never was, and LossLakeError for that of the newest release.
    """
    listed = [release.number for release in lake.releases()]
    for number in sorted(numbers):
        if lake.release_ever(number) is None:
            raise UnknownRelease(f"there is no release {number}: 'losslake releases' lists them")
    if listed and listed[0] in numbers:
        raise LossLakeError(f"release {listed[0]} is the newest, which stays: unlist older ones")
    asked = set(numbers) | (set(listed[keep:]) if keep is not None else set())
    return sorted(asked.intersection(listed))


def unlist(lake: Lake, numbers: Sequence[int]) -> None:
    """Take releases out of the list for good, all at once; the newest never is."""
    newest = select(func.max(Release.number)).scalar_subquery()

    def work() -> None:
        with Session(lake.engine) as session:
            wanted = Release.number.in_(numbers) & Release.unlisted_at.is_(None) & (Release.number < newest)
            session.execute(
                update(Release).where(wanted).values(unlisted_at=datetime.now(UTC)),
                execution_options={"synchronize_session": False},
            )
            session.commit()

    if numbers:
        patiently(work, SECONDS_TO_WRITE)


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
