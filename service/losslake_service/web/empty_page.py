"""What a browser shows while the lake has no release: what this is, and how something gets into it."""

from __future__ import annotations

from losslake_service.web.bare_page import bare_page


def empty_page() -> str:
    """The page as HTML."""
    title, description = "Nothing is here yet", "A LossLake without data: nothing has been ingested yet."
    return bare_page("empty.html", title, description, None)
