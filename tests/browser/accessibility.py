"""Accessibility checks of a page by axe-core."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

Scope = Literal["everything", "layout", "colours"]
_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_CONTRAST = "color-contrast"
_RULES: Mapping[Scope, object] = {
    "everything": {"type": "tag", "values": _TAGS},
    "layout": {
        "type": "rule",
        "values": (_CONTRAST, "target-size", "scrollable-region-focusable", "link-in-text-block"),
    },
    "colours": {"type": "rule", "values": (_CONTRAST,)},
}
_RUN = (Path(__file__).parent / "scripts" / "accessibility.js").read_text().strip().rstrip(";")


def violations(page: Page, scope: Scope = "everything") -> list[str]:
    """Return a sentence for each WCAG 2 (A and AA) or best-practice rule that the page breaks, and where.

    scope: layout for rules that depend on the width of the window, and contrast; colours for contrast alone.
    """
    # By the debugger's protocol: the page's own policy forbids scripts of others.
    page.evaluate(AXE_SCRIPT)
    sentences: list[str] = page.evaluate(_RUN, _RULES[scope])
    return sentences
