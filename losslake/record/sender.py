"""The process that sends a run to a contribution service while it is recorded.

It reads the folder of the run, so the training shares no thread, lock or memory with it: a service that is slow, or
gone, costs the training nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from losslake.record.layout import LIVE_URL

SECONDS_TO_SEND = 10.0
LOG = "live.log"


class Sender:
    """A process that sends a run. Raises OSError if it can't be started."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._page: str | None = None
        (folder / LIVE_URL).unlink(missing_ok=True)  # of an earlier start: such links expire
        command = [sys.executable, "-m", "losslake", "live", str(folder), "--url", url, "--until-end"]
        with (folder / LOG).open("ab") as log:
            # In a session of its own, a Ctrl-C that ends the training leaves it time to send the rest.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def url(self) -> str | None:
        """The page of the run, None until the service has named it."""
        self.is_url_new()
        return self._page

    def is_url_new(self) -> bool:
        """Return True if the page of the run is known only now."""
        if self._page is not None:
            return False
        with suppress(OSError):
            self._page = (self._folder / LIVE_URL).read_text("utf-8", "replace").strip() or None
        return self._page is not None

    def wait(self) -> str:
        """Wait until the end of the run is sent, for at most ten seconds; return why it isn't, empty if it is."""
        try:
            code = self._process.wait(SECONDS_TO_SEND)
        except subprocess.TimeoutExpired:
            return f"it isn't sent to {self._url} yet, and {os.fspath(self._folder / LOG)} says why"
        with suppress(OSError):
            if code:
                last = (self._folder / LOG).read_text("utf-8", "replace").strip().rpartition("\n")[2]
                return f"it isn't sent to {self._url}: {last}"
        return ""
