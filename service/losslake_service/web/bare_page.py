"""Pages that are about no release: a problem, a folder of files."""

from __future__ import annotations

from dataclasses import dataclass

from losslake_service.web.templates import rendered

_SITE = "LossLake"


@dataclass(frozen=True)
class _About:
    title: str
    description: str
    styles: tuple[str, ...]


def bare_page(template: str, title: str, description: str, content: object, styles: tuple[str, ...] = ()) -> str:
    """A page as HTML, without scripts. content: what its template finds as `page`; styles: names of static files."""
    about = _About(title, description, styles)
    return rendered(template, site=_SITE, about=about, page=content, asked=None, picture=None)
