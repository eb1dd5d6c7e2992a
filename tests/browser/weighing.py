"""Bytes, first and largest contentful paint of a page, as measured by Chromium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.browser.visit import Visit

DATA = "/v1/"
_FIRST_CONTENT = """() => new Promise((painted) => new PerformanceObserver((list) => {
  for (const entry of list.getEntriesByName('first-contentful-paint')) painted(entry.startTime);
}).observe({ type: 'paint', buffered: true }))"""

_LARGEST_CONTENT = """() => new Promise((painted) => new PerformanceObserver((list) => {
  painted(list.getEntries().at(-1).startTime);
}).observe({ type: 'largest-contentful-paint', buffered: true }))"""


class Scales:
    """Network bytes by path, headers included, in a visit without cache; answers with data are left out."""

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


def paints(visit: Visit, path: str) -> dict[str, float]:
    """Return the milliseconds from the request of a page to its first and to its largest contentful paint."""
    visit.page.goto(visit.address + path)
    visit.settle()
    names = {"first content": _FIRST_CONTENT, "largest content": _LARGEST_CONTENT}
    return {name: visit.page.evaluate(script) for name, script in names.items()}
