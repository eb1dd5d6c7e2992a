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


class Scales:
    """By path, the bytes that come over the network in a visit that keeps nothing, headers too, without data."""

    def __init__(self, visit: Visit) -> None:
        self.bytes_by_path: dict[str, int] = {}
        self._paths: dict[str, str] = {}
        protocol = visit.context.new_cdp_session(visit.page)
        protocol.send("Network.enable")
        protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})
        protocol.on("Network.requestWillBeSent", self._sent)
        protocol.on("Network.loadingFinished", self._loaded)

    def _sent(self, event: Mapping[str, Any]) -> None:
        self._paths[event["requestId"]] = urlsplit(event["request"]["url"]).path

    def _loaded(self, event: Mapping[str, Any]) -> None:
        path = self._paths.get(event["requestId"], "")
        if not path.startswith(DATA):
            self.bytes_by_path[path] = self.bytes_by_path.get(path, 0) + int(event["encodedDataLength"])


def first_content(visit: Visit, path: str) -> float:
    """Milliseconds from asking for a page until something of it is seen."""
    visit.page.goto(visit.address + path, wait_until="commit")
    found: float = visit.page.evaluate(_FIRST_CONTENT)
    return found
