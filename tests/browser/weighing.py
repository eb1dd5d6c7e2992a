"""How heavy a page is and how soon it shows something, as Chromium tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.browser.visit import Visit

DATA = "/v1/"
_FIRST_CONTENT = """() => new Promise((painted) => new PerformanceObserver((list) => {
  for (const entry of list.getEntriesByName('first-contentful-paint')) painted(entry.startTime);
}).observe({ type: 'paint', buffered: true }))"""


def first_content(visit: Visit, path: str) -> float:
    """Milliseconds from asking for a page until something of it is seen, in a window that has loaded nothing yet."""
    visit.page.goto(visit.address + path, wait_until="commit")
    found: float = visit.page.evaluate(_FIRST_CONTENT)
    return found


def weights(visit: Visit, path: str, ready: str) -> Mapping[str, int]:
    """By path, the bytes that came over the network for a page, headers too, without data."""
    protocol = visit.context.new_cdp_session(visit.page)
    protocol.send("Network.enable")
    paths: dict[str, str] = {}
    sizes: dict[str, int] = {}

    def sent(event: Mapping[str, Any]) -> None:
        paths[event["requestId"]] = urlsplit(event["request"]["url"]).path

    def loaded(event: Mapping[str, Any]) -> None:
        asked = paths.get(event["requestId"], "")
        if not asked.startswith(DATA):
            sizes[asked] = sizes.get(asked, 0) + int(event["encodedDataLength"])

    protocol.on("Network.requestWillBeSent", sent)
    protocol.on("Network.loadingFinished", loaded)
    visit.open(path, ready)
    return sizes
