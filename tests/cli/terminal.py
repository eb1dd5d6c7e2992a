"""A command on a pseudo-terminal."""

from __future__ import annotations

import codecs
import os
import pty
import select
import time
from pathlib import Path

from tests.forked import start_on_a_terminal
from tests.servers.processes import SECONDS

# The shell asks for the position of the cursor once for each prompt, when it reads keys and Ctrl-C is one of them.
PROMPT = "\x1b[6n"
_POSITION = "\x1b[1;1R"


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
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._matched = 0
        self._n_prompts = 0
        self.seen = ""

    def wait_for(self, text: str, *, typing: str = "") -> None:
        """Read until the text appears, after the last match. typing: keys to press again whenever nothing happens."""
        until = time.monotonic() + SECONDS
        while text not in self.seen[self._matched :]:
            assert time.monotonic() < until, f"{text!r} did not appear in {self._last()}"
            if self._happens():
                assert self._read(), f"the command ended before {text!r} appeared in {self._last()}"
            else:
                self.type(typing)
        self._matched = self.seen.index(text, self._matched) + len(text)

    def ends(self) -> int:
        """Read the remaining output; return the exit status."""
        until = time.monotonic() + SECONDS
        while not self._happens() or self._read():
            assert time.monotonic() < until, f"the command did not end: {self._last()}"
        return self.process.wait(SECONDS)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def _last(self) -> str:
        return repr(self.seen[self._matched :][-2000:])

    def _happens(self) -> bool:
        return bool(select.select([self._ours], [], [], 0.1)[0])

    def _read(self) -> bool:
        """Read what there is; return False if the command has ended."""
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += self._decoder.decode(data)
        for _ in range(self.seen.count(PROMPT) - self._n_prompts):
            self._n_prompts += 1
            self.type(_POSITION)
        return True
