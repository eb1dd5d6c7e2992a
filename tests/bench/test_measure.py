"""The memory of a command includes its child processes; its temporary files are removed."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import PIPE

import psutil

from bench.measure import memory_of, watched

MB = 1_000_000
HOLDING = f"""
import subprocess, sys
held = b"x" * {50 * MB}
child = [sys.executable, "-c", "import sys; held = b'x' * {50 * MB}; print(1, flush=True); sys.stdin.read()"]
if len(sys.argv) > 1:
    subprocess.run(child)
else:
    print(1, flush=True)
    sys.stdin.read()
"""


def holding(*arguments: str) -> int:
    """Return the memory of a process that holds 50 MB, and so does its child if there are arguments."""
    with psutil.Popen([sys.executable, "-c", HOLDING, *arguments], stdin=PIPE, stdout=PIPE) as process:
        process.stdout.readline()
        memory = memory_of(process)
        process.stdin.close()
    return memory


def test_memory_counts_the_processes_that_were_started() -> None:
    assert 50 * MB < holding() < 100 * MB
    assert 100 * MB < holding("with a child") < 200 * MB


def test_temporary_files_of_a_command_are_removed(tmp_path: Path) -> None:
    program = "import pathlib, sys, tempfile; pathlib.Path(sys.argv[1]).write_text(tempfile.mkdtemp()); sys.exit(3)"
    assert watched([sys.executable, "-c", program, str(tmp_path / "made")]).status == 3
    made = Path((tmp_path / "made").read_text())
    assert made.parent.name.startswith("losslake-bench-")
    assert not made.parent.exists()
