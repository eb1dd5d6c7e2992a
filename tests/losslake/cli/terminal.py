"""A command on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import time
from pathlib import Path

from tests.forked import start_on_a_terminal


class Terminal:
    """A command on a pseudo-terminal, with its input and output."""

    def __init__(self, arguments: list[str], lake: Path, state: Path, columns: int = 120) -> None:
        self._ours, theirs = pty.openpty()
        self.process = start_on_a_terminal(
            arguments,
            theirs,
            LOSSLAKE_LAKE=str(lake),
            XDG_STATE_HOME=str(state),
            TERM="xterm",
            COLUMNS=str(columns),
        )
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """Read until the text appears, after the last match."""
        until = time.monotonic() + seconds
        start = len(self.seen)
        while text not in self.seen[start:]:
            assert time.monotonic() < until, f"{text!r} did not appear in {self.seen[start:]!r}"
            if select.select([self._ours], [], [], 0.1)[0]:
                try:
                    data = os.read(self._ours, 65536).decode(errors="replace")
                except OSError:
                    data = ""
                if "\x1b[6n" in data:
                    self.type("\x1b[1;1R")
                self.seen += data

    def ends(self, seconds: float = 30) -> int:
        """Read the remaining output; return the exit status."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                data = os.read(self._ours, 65536) if select.select([self._ours], [], [], 0.1)[0] else b""
            except OSError:
                break
            self.seen += data.decode(errors="replace")
        return self.process.wait(5)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())
