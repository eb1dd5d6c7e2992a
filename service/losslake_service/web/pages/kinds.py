"""Every kind of page, by path. What is more special comes first."""

from __future__ import annotations

from losslake_service.web.page import PageKind
from losslake_service.web.pages.compare import COMPARE
from losslake_service.web.pages.docs import DOCS
from losslake_service.web.pages.home import HOME
from losslake_service.web.pages.methods import METHODS
from losslake_service.web.pages.releases import RELEASE, RELEASES
from losslake_service.web.pages.schema import SCHEMA
from losslake_service.web.pages.sql import SQL
from losslake_service.web.pages.study import STUDY
from losslake_service.web.pages.trial import TRIAL
from losslake_service.web.pages.workload import WORKLOAD
from losslake_service.web.pages.workloads import WORKLOADS

PAGES: tuple[PageKind, ...] = (
    COMPARE,
    DOCS,
    HOME,
    METHODS,
    RELEASE,
    RELEASES,
    SCHEMA,
    SQL,
    STUDY,
    TRIAL,
    WORKLOAD,
    WORKLOADS,
)
