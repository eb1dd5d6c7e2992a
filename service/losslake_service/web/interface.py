"""The REST interface as OpenAPI has it, and its reference as HTML: long to write, so kept by release and address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from losslake.questions.release_view import ReleaseView
from losslake_service.examples import example
from losslake_service.kept import Kept
from losslake_service.web.reference import Reference
from losslake_service.web.templates import rendered

_MOST_KEPT = 4


class Interface:
    """Shared by threads. document: gives OpenAPI's, always the same."""

    def __init__(self, document: Callable[[], Mapping[str, Any]]) -> None:
        self._document = document
        self._written: Kept[Markup] = Kept(_MOST_KEPT)

    @property
    def document(self) -> Mapping[str, Any]:
        """OpenAPI's."""
        return self._document()

    def reference(self, view: ReleaseView, address: str) -> Markup:
        """A section for each path, with examples of that release; address: of the service."""
        return self._written.get((view.number, view.digest, address), lambda: self._write(view, address))

    def _write(self, view: ReleaseView, address: str) -> Markup:
        sections = Reference(self.document, example(view), view.number, address).sections()
        return Markup(rendered("reference.html", sections=sections))
