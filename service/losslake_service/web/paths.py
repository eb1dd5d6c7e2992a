"""The routes of the pages, of the documents that lead to them, the static files and the health check."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from losslake.questions.release.releases import Releases
from losslake_service.problems import no_parameters, problem_responses
from losslake_service.web.documentation.site_documents import PICTURES
from losslake_service.web.page import page_handler
from losslake_service.web.pages.discovery import add_discovery
from losslake_service.web.pages.documentation import picture_of_document
from losslake_service.web.pages.kinds import PAGES
from losslake_service.web.static_files import PREFIX, static_file

pages = APIRouter()
pages.add_api_route(PICTURES + "{name:path}", picture_of_document, methods=["GET", "HEAD"], include_in_schema=False)
add_discovery(pages)
for _kind in PAGES:
    pages.add_api_route(
        _kind.path, page_handler(_kind), methods=["GET", "HEAD"], response_class=HTMLResponse, include_in_schema=False
    )
pages.add_api_route(PREFIX + "{digest}/{name:path}", static_file, methods=["GET", "HEAD"], include_in_schema=False)


class Health(BaseModel):
    """The health of the service."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    status: Annotated[str, Field(examples=["ok"], json_schema_extra={"x-unit": "none"})]
    """Always ok; an unhealthy service answers with a problem."""
    release: Annotated[int, Field(examples=[1], json_schema_extra={"x-unit": "none"})]
    """The newest release, used by default."""


@pages.get("/healthz", dependencies=[Depends(no_parameters)], responses=problem_responses(422, 500, 503))
async def get_health(request: Request) -> Health:
    """Report if the service can answer questions."""
    releases: Releases = request.app.state.releases
    view = await releases.view_async()
    return Health(status="ok", release=view.number)
