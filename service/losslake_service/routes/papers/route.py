"""The route of papers' figures: /v1/papers/shallue2018/figures/4 with one of the endings of figures."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from starlette.routing import Match
from starlette.types import Scope

from losslake_service.routes.reading_route import METHODS, ReadingRoute

PREFIX = "/v1/papers/"
PATH = PREFIX + "{paper}/figures/{figure}.{ending}"
_PLACE = re.compile(rf"{PREFIX}([^/]+)/figures/([^/.]+)\.(.+)")


class PaperFigureRoute(ReadingRoute):
    """Takes every path of that shape, so that wrong names are answered with near ones."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Take the path apart; the number of a figure has no dot, an ending may have one."""
        found = _PLACE.fullmatch(scope.get("path", ""))
        if scope["type"] != "http" or found is None:
            return Match.NONE, {}
        place = dict(zip(("paper", "figure", "ending"), map(unquote, found.groups()), strict=True))
        child: dict[str, Any] = {"endpoint": self.endpoint, "path_params": place, "route": self}
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), child
