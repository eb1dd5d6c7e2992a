"""The entries that all releases share: pages, documents with their headings, and questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from losslake.questions.questions import QUESTIONS
from losslake_service.web.documentation.markdown import rendered
from losslake_service.web.reference import first_sentence, page_address
from losslake_service.web.search.matching import Entry
from losslake_service.web.search.pages import DEVELOPMENT, LAST_GROUP, listed_documents, page_entries

_QUESTION = 0.1


@cache
def site_entries() -> Sequence[Entry]:
    """Return the pages, documents with their headings, and questions."""
    return (*page_entries(), *_sections(), *_questions())


def _sections() -> Iterator[Entry]:
    for group, title, document in listed_documents():
        contents, lines = rendered(document, None).contents, document.markdown.splitlines()
        is_last = group == LAST_GROUP
        for heading, after in pairwise([*contents, None]):
            assert heading is not None
            end = after.line if after is not None else len(lines)
            yield Entry(
                "Document",
                heading.text,
                document.address,
                title,
                anchor=heading.anchor,
                details=(title,),
                body="" if is_last else "\n".join(lines[heading.line : end]),
                group=document.name,
                weight=DEVELOPMENT if is_last else 0.0,
            )


def _questions() -> Iterator[Entry]:
    for question in QUESTIONS:
        subject = question.path.rpartition("/")[2].replace("-", " ")
        about = first_sentence(question.doc)
        address = page_address(question.path)
        yield Entry(
            "REST question", subject.capitalize(), address, about, names=(question.path,), details=(about,),
            weight=_QUESTION,
        )  # fmt: skip
