"""Pages and documents, and the search among them for a page that isn't there, which has no release."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

from losslake_service.web.documentation.site_documents import Document, groups
from losslake_service.web.search.matching import Entry, Query, query_of, scored
from losslake_service.web.site_pages import site_pages, words_of_documents

# Documents for those who develop LossLake come last.
LAST_GROUP, DEVELOPMENT = "Develop", -0.4
_PAGE, _DOCUMENT = 0.5, 0.2
# How much of a word has to be the same for what was misspelled.
_ALIKE = 0.75


@cache
def page_entries() -> Sequence[Entry]:
    """Return the pages and documents, without their headings."""
    names = words_of_documents()
    pages = [Entry("Page", each.title, each.path, each.about, names=each.words, weight=_PAGE) for each in site_pages()]
    documents = [
        Entry(
            "Document",
            text,
            each.address,
            names=(each.name, each.markdown.partition("\n")[0].lstrip("# "), *names.get(each.name, ())),
            group=each.name,
            weight=DEVELOPMENT if group == LAST_GROUP else _DOCUMENT,
        )
        for group, text, each in listed_documents()
    ]
    return (*pages, *documents)


def listed_documents() -> Iterator[tuple[str, str, Document]]:
    """Yield the documents of the index: the title of the group, the text of the link, and the document."""
    yield from ((group.title, text, document) for group in groups() for text, document in group.documents)


def search_pages(text: str) -> list[Entry]:
    """Return the pages and documents that match any word of a text, such as a path, the best first."""
    scores: dict[str, float] = defaultdict(float)
    entries = {entry.path: entry for entry in page_entries()}
    for token in query_of(text).tokens:
        known = list(scored(Query([token]), entries.values()))
        if not known:
            phrases = {phrase for entry in entries.values() for phrase in entry.phrases}
            near = difflib.get_close_matches(token, phrases, 1, _ALIKE)
            known = [each for phrase in near for each in scored(Query([phrase]), entries.values())]
        for score, entry in known:
            scores[entry.path] += score
    return [entries[path] for path in sorted(scores, key=lambda path: -scores[path])]
