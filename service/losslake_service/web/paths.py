"""The routes of the pages, of the documents that lead to them, the static files and the health check."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from losslake_service.problems import no_parameters, problem_responses
from losslake_service.routes.reading import add_undocumented_route
from losslake_service.web.documentation.site_documents import PICTURES
from losslake_service.web.moved import add_moved
from losslake_service.web.own_run import OWN_RUN
from losslake_service.web.own_run_trials import OWN_RUN_TRIALS
from losslake_service.web.page import PageKind, PageSources, page_handler
from losslake_service.web.pages.batch_size import BATCH_SIZE, EMBEDDED
from losslake_service.web.pages.compare import COMPARE
from losslake_service.web.pages.discovery import add_discovery
from losslake_service.web.pages.documentation import DOCS, DOCUMENT, picture_of_document
from losslake_service.web.pages.home import HOME
from losslake_service.web.pages.laws import LAWS
from losslake_service.web.pages.optimizers import OPTIMIZERS
from losslake_service.web.pages.reference import PATH, REFERENCE
from losslake_service.web.pages.releases import RELEASE, RELEASES
from losslake_service.web.pages.results import RESULTS
from losslake_service.web.pages.schema import SCHEMA
from losslake_service.web.pages.sql import SQL
from losslake_service.web.pages.study import STUDY
from losslake_service.web.pages.trial import TRIAL
from losslake_service.web.pages.viewer import VIEWER
from losslake_service.web.pages.workload import TARGET_STOPS, WORKLOAD
from losslake_service.web.pages.workloads import WORKLOADS
from losslake_service.web.search.search import SUGGESTIONS
from losslake_service.web.static_files import PREFIX, static_file

# More specific paths come first.
PAGES: tuple[PageKind, ...] = (
    BATCH_SIZE, COMPARE, DOCS, EMBEDDED, HOME, LAWS, OPTIMIZERS, OWN_RUN, OWN_RUN_TRIALS, PATH, REFERENCE, RELEASE,
    RELEASES, RESULTS, SCHEMA, DOCUMENT, SQL, STUDY, SUGGESTIONS, TARGET_STOPS, TRIAL, VIEWER, WORKLOAD, WORKLOADS,
)  # fmt: skip


class Health(BaseModel):
    """The health of the service."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    status: Annotated[str, Field(examples=["ok"], json_schema_extra={"x-unit": "none"})]
    """Always ok; an unhealthy service answers with a problem."""
    release: Annotated[int | None, Field(examples=[1], json_schema_extra={"x-unit": "none"})]
    """The newest release, used by default; null while its files are built after the service has started."""


def add_pages(router: APIRouter, sources: PageSources) -> None:
    """Add the routes."""
    releases = sources.releases
    add_undocumented_route(router, PICTURES + "{name:path}", picture_of_document)
    add_discovery(router, releases, sources.public_url)
    add_moved(router)
    for kind in PAGES:
        add_undocumented_route(router, kind.path, page_handler(kind, sources), is_cached=kind.is_of_release)
    add_undocumented_route(router, PREFIX + "{digest}/{name:path}", static_file)

    @router.get("/healthz", dependencies=[Depends(no_parameters)], responses=problem_responses(422, 500, 503))
    async def get_health() -> Health:
        """Report if the service responds."""
        if releases.is_starting:
            return Health(status="ok", release=None)
        view = await releases.view_async()
        return Health(status="ok", release=view.number)
