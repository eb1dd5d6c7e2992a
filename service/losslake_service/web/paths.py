"""The routes of the pages, of the documents that lead to them, the static files and the health check."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from losslake_service.problems import no_parameters, problem_responses
from losslake_service.routes.reading import add_undocumented_route
from losslake_service.web.documentation.site_documents import PICTURES
from losslake_service.web.page import PageSources, page_handler
from losslake_service.web.pages.discovery import add_discovery
from losslake_service.web.pages.documentation import picture_of_document
from losslake_service.web.pages.kinds import PAGES
from losslake_service.web.static_files import PREFIX, static_file


class Health(BaseModel):
    """The health of the service."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    status: Annotated[str, Field(examples=["ok"], json_schema_extra={"x-unit": "none"})]
    """Always ok; an unhealthy service answers with a problem."""
    release: Annotated[int, Field(examples=[1], json_schema_extra={"x-unit": "none"})]
    """The newest release, used by default."""


def add_pages(router: APIRouter, sources: PageSources) -> None:
    """Add the routes."""
    releases = sources.releases
    add_undocumented_route(router, PICTURES + "{name:path}", picture_of_document)
    add_discovery(router, releases, sources.public_url)
    for kind in PAGES:
        add_undocumented_route(router, kind.path, page_handler(kind, sources), is_cached=True)
    add_undocumented_route(router, PREFIX + "{digest}/{name:path}", static_file)

    @router.get("/healthz", dependencies=[Depends(no_parameters)], responses=problem_responses(422, 500, 503))
    async def get_health() -> Health:
        """Report if the service can answer questions."""
        view = await releases.view_async()
        return Health(status="ok", release=view.number)
