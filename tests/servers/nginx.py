"""nginx over a configuration of a test's, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.processes import ADDRESS, end, program, wait_until_listening


@dataclass(frozen=True)
class Nginx:
    """An nginx that runs, with what it has logged."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}"

    @property
    def errors(self) -> str:
        """What it has complained of, where the configuration sends errors to standard error."""
        return (self.folder / "nginx.log").read_text(errors="replace")


def check(configuration: Path) -> subprocess.CompletedProcess[str]:
    """What `nginx -t` says of a file; skips the test where nginx isn't installed."""
    return subprocess.run([*_command(configuration), "-t"], capture_output=True, text=True, timeout=60)


@contextmanager
def nginx_server(configuration: Path, port: int) -> Iterator[Nginx]:
    """Start nginx over a whole configuration file and end it; relative paths in it are below the file's folder.

    Args:
        configuration: the file, which names no user.
        port: where the configuration says that nginx listens.
    """
    log = configuration.parent / "nginx.log"
    with log.open("wb") as complaints:
        process = subprocess.Popen(
            _command(configuration), stdin=subprocess.DEVNULL, stdout=complaints, stderr=complaints
        )
    try:
        wait_until_listening(process, port, log)
        yield Nginx(port, configuration.parent)
    finally:
        end(process)


def _command(configuration: Path) -> list[str]:
    folder = configuration.parent
    # As root its workers would be nobody, who can't look into the folders of tests.
    directives = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    command = [str(program("nginx", "nginx-light", [Path("/usr/sbin")])), "-p", f"{folder}/", "-c", str(configuration)]
    return [*command, "-e", "stderr", "-g", directives]
