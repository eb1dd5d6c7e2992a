"""Shells complete workloads, metrics and releases of the lake."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from tests.servers.processes import SECONDS

WORKLOAD = "root/mnist/cnn/sgd"
METRIC = "val/classification_error"


# Answers one command line after another: to start a process for each takes half a second.
PROGRAM = """
import json, os, sys
asked = json.loads(sys.argv[1])
sys.argv[:] = ["losslake"]
from losslake_cli.main import main
for words in asked:
    os.environ |= {"COMP_WORDS": " ".join(["losslake", *words]), "COMP_CWORD": str(len(words))}
    try:
        main()
    except SystemExit:
        print(end="\\0")
"""


def completed(folder: Path, *asked: tuple[str, ...]) -> list[list[str]]:
    """Return what bash is offered for the last word of each of some command lines."""
    environment = {**os.environ, "LOSSLAKE_LAKE": str(folder), "_LOSSLAKE_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", PROGRAM, json.dumps(asked)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert not run.stderr
    *answers, rest = run.stdout.split("\0")
    assert (len(answers), rest) == (len(asked), "")
    return [answer.split() for answer in answers]


def files_of(lake: Lake) -> list[Path]:
    """All files but those that SQLite has beside its own while a connection is open."""
    return sorted(path for path in lake.folder.rglob("*") if not path.name.startswith("catalog.db-"))


def test_names_of_the_lake_are_completed_without_building_files(lake: Lake) -> None:
    before = files_of(lake)
    workloads, metrics, releases = completed(
        lake.folder, ("steps", "root/m"), ("steps", WORKLOAD, "--metric", "val/"), ("sql", "--release", "")
    )
    assert workloads == [WORKLOAD]
    assert METRIC in metrics
    assert releases == ["1"]
    assert files_of(lake) == before


def test_completion_is_silent_where_there_is_no_lake(tmp_path: Path) -> None:
    assert completed(tmp_path, ("steps", "root")) == [[]]


# How each shell starts without anyone's settings, and what it needs before it reads a script of completions.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], ""),
    "zsh": (["zsh", "--no-rcs", "-i"], "autoload -Uz compinit; compinit -u -D; "),
    "fish": (["fish", "--no-config", "--interactive"], ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_a_workload_in_a_terminal(lake: Lake, shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    command = Path(sys.executable).with_name("losslake")
    script = tmp_path / "completion"
    environment = {**os.environ, "_LOSSLAKE_COMPLETE": f"source_{shell}"}
    script.write_bytes(subprocess.run([command], env=environment, capture_output=True, check=True).stdout)
    arguments, before = SHELLS[shell]
    process, terminal = pty.fork()
    if process == 0:
        path = f"{command.parent}:{os.environ['PATH']}"
        places = {
            "PATH": path,
            "HOME": str(tmp_path),
            "LOSSLAKE_LAKE": str(lake.folder),
            "XDG_RUNTIME_DIR": str(tmp_path),
        }
        os.execvpe(shell, arguments, {**os.environ, **places, "TERM": "dumb", "PS1": "$ "})
    try:
        # What is typed before a shell reads keys may be dropped.
        _read_until(terminal, "ready", typing="echo re''ady\n")
        os.write(terminal, f"{before}source {script}; echo so''urced\n".encode())
        _read_until(terminal, "sourced")
        os.write(terminal, b"losslake steps root/mn\t")
        _read_until(terminal, f"{WORKLOAD} ")
    finally:
        os.kill(process, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(process, 0)


def _read_until(terminal: int, text: str, typing: str = "") -> None:
    """Read until a text appears. typing: what to type whenever nothing happens for a while."""
    seen, until = "", time.monotonic() + SECONDS
    while text not in seen:
        assert time.monotonic() < until, f"{text!r} did not appear in {seen!r}"
        if select.select([terminal], [], [], 0.5)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
        else:
            os.write(terminal, typing.encode())
