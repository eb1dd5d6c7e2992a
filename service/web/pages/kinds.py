"""Every kind of page, by path. What is more special comes first."""

from __future__ import annotations

from service.web.page import PageKind
from service.web.pages.compare import COMPARE
from service.web.pages.docs import DOCS
from service.web.pages.home import HOME
from service.web.pages.methods import METHODS
from service.web.pages.release import RELEASE
from service.web.pages.releases import RELEASES
from service.web.pages.schema import SCHEMA
from service.web.pages.sql import SQL
from service.web.pages.study import STUDY
from service.web.pages.trial import TRIAL
from service.web.pages.workload import WORKLOAD
from service.web.pages.workloads import WORKLOADS

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
