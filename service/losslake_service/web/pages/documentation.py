"""The documentation: its index, and a page for each document."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from losslake.questions.release.errors import UnknownName, near_names
from losslake_service.entity_tags import REVALIDATED, not_modified_response
from losslake_service.web.documentation.markdown import rendered
from losslake_service.web.documentation.site_documents import INDEX, by_name, documents, groups, neighbours, picture
from losslake_service.web.page import DocsPage, Page, PageKind, PageParameters, PageRequest
from losslake_service.web.pages import methods
from losslake_service.web.paper_figures import NAME, paper_figures
from losslake_service.web.reference import REFERENCE_PATH
from losslake_service.web.starting_example import first_chart


class DocsParameters(PageParameters):
    """The query of the index."""

    q: str = ""
    """Words for the filter of paths, which is a page of its own now."""


def index_page(request: PageRequest) -> Page:
    """Return the index; an older address with words leads to the reference."""
    words = request.parameters.q.strip()
    moved = {"location": request.url(REFERENCE_PATH, q=words)} if words else {}
    index = rendered(documents()[INDEX], request.pinned)
    return DocsPage(
        template="documentation.html",
        title=index.title,
        description="How to query LossLake, ingest logs into it and host it: every document, and the reference.",
        url=request.url("/docs"),
        content={"document": index, "before": None, "after": None, "is_index": True, "figures": None},
        picture=first_chart(request),
        status=308 if moved else 200,
        headers=moved,
    )


def document_page(request: PageRequest) -> Page:
    """Return the page of the document that the path names; raises UnknownName."""
    if request.name == methods.NAME:
        return methods.methods_page(request)
    document = by_name().get(request.name)
    if document is None:
        near = near_names(request.name, by_name()) or [group.documents[0][1].name for group in groups()]
        raise UnknownName("path", f"/docs/{request.name}", [f"/docs/{name}" for name in near], "the documentation")
    text = rendered(document, request.pinned)
    before, after = neighbours(document.name)
    figures = paper_figures(request) if document.name == NAME else None
    return DocsPage(
        template="documentation.html",
        title=text.title,
        description=text.description,
        url=request.url(document.address),
        content={"document": text, "before": before, "after": after, "is_index": False, "figures": figures},
        picture=first_chart(request),
        above=(("Docs", request.url("/docs")),),
        styles=("docs.css", "papers.css") if figures else ("docs.css",),
        data=request.url("/v1/papers.json") if figures else None,
    )


async def picture_of_document(request: Request) -> Response:
    """Return a picture that documents show."""
    try:
        file = picture(request.path_params["name"])
    except KeyError:
        raise HTTPException(404) from None
    headers = {"cache-control": REVALIDATED, "etag": file.etag}
    not_modified = not_modified_response(request.headers, headers)
    return not_modified or Response(file.content, headers=headers, media_type=file.media_type)


DOCS = PageKind("/docs", DocsParameters, index_page)
DOCUMENT = PageKind("/docs/{name}", PageParameters, document_page)
