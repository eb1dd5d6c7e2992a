"""The page of all releases: when each came, and what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from losslake.questions.parameters import Natural
from losslake.questions.release_changes import ReleaseChanges, release_changes
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Page, PageAsked, PageKind, PageNumbers, PageParameters, page_numbers

ROWS_ON_A_PAGE = 20


class ReleasesParameters(PageParameters):
    """The state of the page."""

    page: Annotated[Natural | None, Field(ge=1)] = None


@dataclass(frozen=True)
class ReleaseListed:
    """A release; changes: None where the list of its files, or of those before it, can't be read."""

    release: Release
    changes: ReleaseChanges | None


@dataclass(frozen=True)
class ReleasesShown:
    """What the template shows, newest first."""

    rows: Sequence[ReleaseListed]
    pages: PageNumbers


def releases_page(asked: PageAsked) -> Page:
    """The releases of the lake."""
    releases = asked.releases.lake.releases()
    url = "/releases"
    pages = page_numbers(len(releases), ROWS_ON_A_PAGE, asked.parameters.page, lambda n: asked.url(url, page=n))
    followed = [*releases[1:], None]
    rows = [
        ReleaseListed(release, _changes(asked, before, release))
        for release, before in list(zip(releases, followed, strict=True))[pages.rows]
    ]
    return Page(
        template="releases.html",
        title="Releases",
        description=f"The {len(releases):,} immutable, numbered releases of this LossLake, and what each changed.",
        url=asked.url(url, page=pages.number if pages.number > 1 else None),
        content=ReleasesShown(rows, pages),
        picture=first_chart(asked),
        data="/v1/releases",
    )


def _changes(asked: PageAsked, before: Release | None, release: Release) -> ReleaseChanges | None:
    try:
        return release_changes(asked.releases.lake, before, release)
    except LakeBroken:
        return None


RELEASES = PageKind("/releases", ReleasesParameters, releases_page)
