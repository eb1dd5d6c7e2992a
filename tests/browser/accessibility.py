"""What axe-core finds on a page."""

from __future__ import annotations

from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_RUN = (Path(__file__).parent / "scripts" / "accessibility.js").read_text().strip().rstrip(";")


def violations(page: Page, contrast_only: bool = False) -> list[str]:
    """A sentence for each rule of WCAG 2 (A and AA) and of good practice that the page breaks, and where."""
    # By the debugger's protocol: the page's own policy forbids scripts of others.
    page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(_RUN, {"tags": _TAGS, "contrast_only": contrast_only})
    return found
