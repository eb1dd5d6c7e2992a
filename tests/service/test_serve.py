"""`serve` prints questions that work, shares a port among workers, and ends and fails in one line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from schema.errors import LossLakeError, UnknownRelease
from schema.lake import Lake
from service.serve import serve

ROOT = Path(__file__).parents[2]
SECONDS_TO_START = 60
_PROGRAM = """
import sys
from schema.lake import Lake
from service.serve import serve
if __name__ == "__main__":
    serve(Lake.open(sys.argv[1]), "127.0.0.1", 0, int(sys.argv[2]))
"""


@contextmanager
def served(lake: Lake, workers: int, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A running service in processes of its own, and the URLs that it printed."""
    program = folder / "program.py"
    program.write_text(_PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(program), str(lake.folder), str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        yield process, [line.strip() for line in lines if line.startswith("  http")]
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(SECONDS_TO_START)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_printed_questions_work_and_it_ends_without_a_traceback(
    lake: Lake, tmp_path: Path, workers: int, end: signal.Signals
) -> None:
    with served(lake, workers, tmp_path) as (process, urls):
        assert len(urls) == 3
        answers = [json.load(urlopen(url, timeout=SECONDS_TO_START)) for url in urls]
        assert all(answer["rows"] for answer in answers)
        assert any(row["steps"] is not None for row in answers[0]["rows"])
        process.send_signal(end)
        output, _ = process.communicate(timeout=SECONDS_TO_START)
        assert output == ""
        assert process.returncode in (0, -end if end == signal.SIGTERM else 0)


def test_a_taken_port_is_told_in_one_line(lake: Lake) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LossLakeError) as caught:
            serve(lake, "127.0.0.1", port, 1)
    assert (
        str(caught.value) == f"can't listen on 127.0.0.1:{port} (Address already in use): give another --host or --port"
    )


def test_an_unknown_host_is_told_in_one_line(lake: Lake) -> None:
    with pytest.raises(LossLakeError, match=r"can't listen on no\.such\.invalid:1 \("):
        serve(lake, "no.such.invalid", 1, 1)


def test_a_lake_without_a_release_can_t_be_served(tmp_path: Path) -> None:
    with pytest.raises(UnknownRelease, match="ingest something first"):
        serve(Lake.create(tmp_path / "empty"), "127.0.0.1", 0, 1)
