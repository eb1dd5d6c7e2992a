"""The ranked list of what a search finds, and the suggestions of search fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest
from losslake_service.web.search.comparisons import comparisons
from losslake_service.web.search.matching import Entry, Query, query_of, scored
from losslake_service.web.search.release_entries import grouped_entries, workload_entries
from losslake_service.web.search.site_entries import site_entries
from losslake_service.web.templates import with_query

SUGGESTED = 8
# Of one document, with its headings.
_MOST_OF_A_GROUP = 2
# Texts that only mention the words are left out beside what they are about: of the best score.
_LEAST_SHARE = 0.3
_OF_WORKLOADS = ("Workload", "Study")
_SUGGESTIONS = "/suggestions"


@dataclass(frozen=True)
class Match:
    """An entry that was found, and how well it matches."""

    score: float
    entry: Entry

    @property
    def is_of_workload(self) -> bool:
        """True for a workload or a study of it."""
        return self.entry.kind in _OF_WORKLOADS


def search(view: ReleaseView, text: str) -> list[Match]:
    """Return what a search finds, the best first: by its words, then by the number of trials."""
    query = query_of(text)
    if not query.tokens:
        return []
    found = [*comparisons(view, text), *scored(query, site_entries()), *scored(query, grouped_entries(view))]
    matches = [Match(score, entry) for score, entry in (*found, *_workloads(view, query).values())]
    least = _LEAST_SHARE * max((each.score for each in matches), default=0.0)
    good = [each for each in matches if each.score >= least]
    return list(_varied(sorted(good, key=lambda each: (-each.score, each.entry.title))))


def workload_matches(view: ReleaseView, text: str) -> dict[Workload, Match]:
    """Return the workloads that a search finds, those of no words all: each as itself or as a study of a batch size."""
    return {workload: Match(*found) for workload, found in _workloads(view, query_of(text)).items()}


def _workloads(view: ReleaseView, query: Query) -> dict[Workload, tuple[float, Entry]]:
    known = workload_entries(view)
    return {each: known[each].match(query) for each in view.words.matches(query.words) if each in known}


def _varied(matches: Sequence[Match]) -> Iterator[Match]:
    """Yield the matches, of each document few."""
    seen = Counter[str]()
    for match in matches:
        seen[match.entry.group] += 1
        if not match.entry.group or seen[match.entry.group] <= _MOST_OF_A_GROUP:
            yield match


class SuggestionParameters(PageParameters):
    """The query of the suggestions."""

    q: str = ""
    """The text so far."""


def address_of(request: PageRequest, entry: Entry) -> str:
    """Return the address of what was found, in the release of the request."""
    query = [*entry.query, *([("release", request.pinned)] if entry.path != f"/releases/{request.view.number}" else [])]
    return with_query(entry.path, query) + (f"#{entry.anchor}" if entry.anchor else "")


def suggestions_page(request: PageRequest) -> Page:
    """Return the best matches as options of a list, for the script of search fields."""
    found = islice(search(request.view, request.parameters.q), SUGGESTED)
    return Page(
        template="suggestions.html",
        title="Suggestions",
        description="",
        url=request.url(_SUGGESTIONS),
        content={"found": [(each.entry, address_of(request, each.entry)) for each in found]},
    )


SUGGESTIONS = PageKind(_SUGGESTIONS, SuggestionParameters, suggestions_page, is_fragment=True)
