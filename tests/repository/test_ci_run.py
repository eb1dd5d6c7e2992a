"""`.ci/run` runs what developers run, and tries failed tests once more, alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.repository.checkout import ROOT

# Stands for make and for every program that may be missing: notes how it was called, and ends as the test says.
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$*" in
  "--silent failed") echo "$FAILED" ;;
  test) exit "$TEST" ;;
  again) exit "$AGAIN" ;;
esac
"""
PROGRAMS = ("make", "apt-get", "chromium", "postgres", "Rscript", "zsh", "fish", "nginx", "java")


def run(folder: Path, test: int = 0, again: int = 0, failed: str = "") -> tuple[int, str, list[str]]:
    """Run .ci/run beside programs that only note their calls; return its status, its output and the calls of make."""
    for path in (script := folder / "project/.ci/run", folder / "bin/none"):
        path.parent.mkdir(parents=True)
    script.write_bytes((ROOT / ".ci/run").read_bytes())
    for name in PROGRAMS:
        (folder / "bin" / name).write_text(PROGRAM)
        (folder / "bin" / name).chmod(0o755)
    environment = {
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "CALLS": str(folder / "calls"),
        "TEST": str(test),
        "AGAIN": str(again),
        "FAILED": failed,
    }
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, (folder / "calls").read_text().splitlines()


def test_it_is_set_up_lint_and_test(tmp_path: Path) -> None:
    status, said, calls = run(tmp_path)
    assert status == 0
    assert calls == ["make setup", "make lint", "make test"]
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "Debian's packages", "set-up", "make lint", "make test",
    ]  # fmt: skip
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_what_passes_at_the_second_try_is_named(tmp_path: Path) -> None:
    status, said, calls = run(tmp_path, test=2, failed="tests/a.py::test_b tests/c.py::test_d")
    assert status == 0
    assert calls[-2:] == ["make --silent failed", "make again"]
    assert said.splitlines()[-1] == "passed only at the second try: tests/a.py::test_b tests/c.py::test_d"


def test_what_fails_twice_is_a_failure(tmp_path: Path) -> None:
    status, said, _ = run(tmp_path, test=2, again=2, failed="tests/a.py::test_b")
    assert status == 1
    assert "passed only" not in said


def test_a_failure_of_no_test_is_not_tried_again(tmp_path: Path) -> None:
    status, _, calls = run(tmp_path, test=2)
    assert status == 1
    assert "make again" not in calls
