"""On a real terminal: the live progress bar, and the interactive shell."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from schema.lake import Lake
from tests.ingest.offers import TrialOffer, study_files, tar_bytes, written


class Terminal:
    """A command on a pseudo-terminal, typed to and read from."""

    def __init__(self, arguments: list[str], lake: Path, state: Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = os.environ | {
            "LOSSLAKE_LAKE": str(lake),
            "XDG_STATE_HOME": str(state),
            "TERM": "xterm",
            "COLUMNS": "120",
        }
        command = [sys.executable, "-m", "losslake", *arguments]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """Read until the text appears after what was waited for before."""
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

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())


def test_the_shell_answers_completes_and_survives_errors(lake: Lake, tmp_path: Path) -> None:
    shell = Terminal(["sql"], lake.folder, tmp_path)
    shell.wait_for("losslake>")
    shell.type("SELECT 40 + 2\r")
    shell.wait_for("...")
    shell.type("AS answer;\r")
    shell.wait_for("42")
    shell.wait_for("losslake>")
    shell.type("SELECT nothing;\r")
    shell.wait_for("losslake: Binder Error")
    shell.wait_for("losslake>")
    shell.type(".tables\r")
    shell.wait_for("steps_to_target")
    shell.wait_for("losslake>")
    shell.type("SELECT count(*) FROM steps_to_res\t")
    shell.wait_for("ult")
    shell.type(";\r")
    shell.wait_for("(1 row)")
    shell.wait_for("losslake>")
    shell.type("\x03")
    shell.type("\x04")
    assert shell.process.wait(20) == 0
    assert "AS answer" in (tmp_path / "losslake/sql_history").read_text()


def test_ingest_draws_a_bar(tmp_path: Path) -> None:
    rows = [f"{step},0.5" for step in range(2000)]
    files = {
        p: d for b in range(6) for p, d in study_files({t: TrialOffer(rows=rows) for t in range(1, 30)}, 2**b).items()
    }
    offer = written(tmp_path / "offer.tar.bz2", tar_bytes(files, "w:bz2"))
    terminal = Terminal(["ingest", str(offer)], tmp_path / "lake", tmp_path)
    terminal.wait_for("rows/s", 60)
    terminal.wait_for("published release 1", 60)
    assert terminal.process.wait(20) == 0
