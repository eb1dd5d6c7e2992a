"""Every kind of page. More specific paths come first."""

from __future__ import annotations

from losslake_service.web.page import PageKind
from losslake_service.web.pages.advice import ADVICE
from losslake_service.web.pages.atlas import ATLAS
from losslake_service.web.pages.compare import COMPARE
from losslake_service.web.pages.documentation import DOCS, DOCUMENT
from losslake_service.web.pages.frontier import FRONTIER
from losslake_service.web.pages.home import HOME
from losslake_service.web.pages.methods import METHODS
from losslake_service.web.pages.papers import PAPERS
from losslake_service.web.pages.reference import PATH, REFERENCE
from losslake_service.web.pages.releases import RELEASE, RELEASES
from losslake_service.web.pages.schema import SCHEMA
from losslake_service.web.pages.sql import SQL
from losslake_service.web.pages.study import STUDY
from losslake_service.web.pages.trial import TRIAL
from losslake_service.web.pages.viewer import VIEWER
from losslake_service.web.pages.workload import TARGET_STOPS, WORKLOAD
from losslake_service.web.pages.workloads import WORKLOADS

PAGES: tuple[PageKind, ...] = (
    ADVICE, ATLAS, COMPARE, DOCS, FRONTIER, HOME, METHODS, PAPERS, PATH, REFERENCE, RELEASE, RELEASES, SCHEMA, DOCUMENT,
    SQL, STUDY, TARGET_STOPS, TRIAL, VIEWER, WORKLOAD, WORKLOADS,
)  # fmt: skip
