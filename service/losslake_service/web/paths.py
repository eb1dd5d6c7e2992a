"""The pages, and whether the service answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from losslake.questions.releases import Releases, open_releases
from losslake_service.problems import no_parameters, problem_responses
from losslake_service.web.page import page_handler
from losslake_service.web.pages.kinds import PAGES
from losslake_service.web.static_files import PREFIX, static_file

pages = APIRouter()
for _kind in PAGES:
    pages.add_api_route(
        _kind.path, page_handler(_kind), methods=["GET", "HEAD"], response_class=HTMLResponse, include_in_schema=False
    )
pages.add_api_route(PREFIX + "{digest}/{name:path}", static_file, methods=["GET", "HEAD"], include_in_schema=False)


class Health(BaseModel):
    """The service answers."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    status: Annotated[str, Field(examples=["ok"], json_schema_extra={"x-unit": "none"})]
    """ok"""
    release: Annotated[int, Field(examples=[1], json_schema_extra={"x-unit": "none"})]
    """The release that is answered from by default."""


_Asked = Annotated[Releases, Depends(open_releases)]
_ERRORS = problem_responses(422, 500, 503)


@pages.get("/healthz", dependencies=[Depends(no_parameters)], responses=_ERRORS)
async def get_health(asked: _Asked) -> Health:
    """Whether questions can be answered."""
    view = await asked.opened()
    return Health(status="ok", release=view.number)
