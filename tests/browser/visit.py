"""A visit: a browser window that records everything that goes wrong in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Request,
    Response,
    Route,
    WebError,
)

from tests.servers.processes import SECONDS

Scheme = Literal["light", "dark"]
WIDE, NARROW = 1400, 380
HEIGHT, NARROW_HEIGHT = 900, 800
MILLISECONDS = 1000 * SECONDS
_NAVIGATED = "Execution context was destroyed"  # the page gives way to another
_ABORTED = "net::ERR_ABORTED"  # the page or its visitor no longer wants it
_REPORT_VIOLATIONS = """
addEventListener('securitypolicyviolation', (event) =>
  reportViolation(`${event.effectiveDirective} forbids ${event.blockedURI} ${event.sample}`));
"""


# What is drawn only once it is about to be seen is drawn by the time that a test looks.
_PASS_FIGURES = """async () => {
  // The script of charts waits for those that come into view, once it is there.
  const script = document.querySelector('script[src$="/page.js"]');
  const isRun = script && document.querySelector('figure.chart') && matchMedia('(scripting: enabled)').matches;
  if (isRun) await import(script.src.replace('page.js', 'chart.js'));
  for (const figure of document.querySelectorAll('figure, img')) {
    figure.scrollIntoView({ behavior: 'instant' });
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  }
  scrollTo({ top: 0, behavior: 'instant' });
}"""
# After a frame, whether every chart is drawn: all, or those in the window.
_IS_DRAWN = """async (isWhole) => {
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 10)));
  const isSeen = (figure) => {
    const { top, bottom } = figure.getBoundingClientRect();
    return figure.checkVisibility() && (isWhole || (bottom > 0 && top < innerHeight));
  };
  return [...document.querySelectorAll('figure.chart[data-live]')].filter(isSeen)
    .every((figure) => 'trouble' in figure.dataset || figure.dataset.drawn === figure.dataset.live);
}"""


class Visit:
    """A window and its faults. address: the server's base URL, the only host that it may call."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address = address
        self.context = context
        self.faults: list[str] = []
        self.expected_statuses: set[int] = set()
        """Statuses from 400 that the test asks for, as that of a page that isn't there."""
        self._waiting_for: set[Request] = set()
        context.set_default_timeout(MILLISECONDS)
        context.expose_binding("reportViolation", lambda _, text: self._fault("policy", text))
        context.add_init_script(_REPORT_VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", self._web_error)
        context.on("dialog", self._dialog)
        context.on("request", self._requested)
        context.on("requestfinished", self._finished)
        context.on("requestfailed", self._failed)
        context.on("response", self._answered)
        self.page: Page = context.new_page()

    def open(self, path: str, ready: str = "main") -> Page:
        """Open a page, scroll past its figures, and wait until `ready`, a selector, is visible."""
        self._waiting_for.clear()
        self.page.goto(self.address + path)
        self.page.evaluate(_PASS_FIGURES)
        self.settle(ready, is_whole=True)
        return self.page

    def settle(self, ready: str = "main", *, is_whole: bool = False) -> None:
        """Wait until the element is visible, nothing is being loaded, and charts in the window, or all, are drawn."""
        self.page.locator(ready).first.wait_for()
        ends = time.monotonic() + SECONDS
        quiet = 0
        while quiet < 2:
            assert time.monotonic() < ends, f"not drawn, or loading {[request.url for request in self._waiting_for]}"
            try:
                is_drawn = self.page.evaluate(_IS_DRAWN, is_whole)
            except Error as error:
                if _NAVIGATED not in error.message:
                    raise
                is_drawn = False
            quiet = quiet + 1 if is_drawn and not self._waiting_for else 0

    def type_words(self, field: str, words: str) -> None:
        """Type words into a search field, and wait for what is suggested for all of them: nothing replaces it later."""
        with self.page.expect_response(lambda answer: parse_qs(urlsplit(answer.url).query).get("q") == [words]):
            self.page.locator(field).press_sequentially(words)
        self.settle()

    def _fault(self, kind: str, text: str) -> None:
        self.faults.append(f"{kind}: {text} (on {self.page.url})")

    def _console(self, message: ConsoleMessage) -> None:
        expected = any(f"status of {status} " in message.text for status in self.expected_statuses)
        if message.type in {"error", "warning"} and not expected:
            self._fault(f"console {message.type}", message.text)

    def _web_error(self, error: WebError) -> None:
        self._fault("script", str(error.error))

    def _dialog(self, dialog: Dialog) -> None:
        self._fault("dialog", dialog.message)
        dialog.dismiss()

    def _requested(self, request: Request) -> None:
        self._waiting_for.add(request)
        address = urlsplit(request.url)
        is_local = f"{address.scheme}://{address.netloc}" == self.address
        if not is_local and address.scheme not in {"data", "blob"}:
            self._fault("another host", request.url)

    def _finished(self, request: Request) -> None:
        self._waiting_for.discard(request)

    def _failed(self, request: Request) -> None:
        self._waiting_for.discard(request)
        if request.failure != _ABORTED:
            self._fault("request", f"{request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected_statuses:
            self._fault("answer", f"{response.url}: {response.status}")


@dataclass(frozen=True)
class Site:
    """A running service. address: base URL for the browser. url: base URL for other clients."""

    browser: Browser
    address: str
    url: str

    @contextmanager
    def visiting(self, width: int = WIDE, scheme: Scheme = "light", javascript: bool = True) -> Iterator[Visit]:
        """Yield a visit in a new window of a width in px; fail on any fault."""
        context = self.browser.new_context(
            viewport={"width": width, "height": NARROW_HEIGHT if width == NARROW else HEIGHT},
            color_scheme=scheme,
            reduced_motion="reduce",
            java_script_enabled=javascript,
            locale="en-GB",
            timezone_id="UTC",
            permissions=["clipboard-read", "clipboard-write"],
        )
        try:
            yield Visit(context, self.address)
        finally:
            context.close()


def change_answers(page: Page, site: Site, path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the JSON answers of the service that a page gets at a path, such as /v1/trials.json."""

    def answer(route: Route) -> None:
        # Only the browser knows the host of the site.
        body = route.fetch(url=route.request.url.replace(site.address, site.url)).json()
        change(body)
        route.fulfill(json=body)

    page.route(lambda url: urlsplit(url).path == path, answer)
