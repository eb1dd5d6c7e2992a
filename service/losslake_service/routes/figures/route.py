"""The route of a kind of figure: /v1/figures/scaling with one of the endings."""

from __future__ import annotations

from typing import Any

from starlette.routing import Match
from starlette.types import Scope

from losslake.figures.figure import MEDIA_TYPES
from losslake_service.routes.reading_route import METHODS, ReadingRoute

ENDING = "losslake.figure"


class FigureRoute(ReadingRoute):
    """Takes the endings that figures have, and no others."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Compare the path with each ending."""
        start = self.path.removesuffix("{ending}")
        path: str = scope.get("path", "")
        ending = path.removeprefix(start)
        if scope["type"] != "http" or not path.startswith(start) or ending not in MEDIA_TYPES:
            return Match.NONE, {}
        child: dict[str, Any] = {"endpoint": self.endpoint, "path_params": {}, ENDING: ending, "route": self}
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), child
