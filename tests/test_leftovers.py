"""What tests leave behind is found at the end of their session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import leftovers
from tests.repository.checkout import ROOT


def session(folder: Path, statement: str, *, workers: int = 1) -> tuple[int, str, Path]:
    """Run a session of one test; return its exit status, its output and its folder for temporary files."""
    root = folder / "root"
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / ".gitignore").write_text("__pycache__/\nbuild\n")
    lines = ["import os, pathlib", "def test_it():", "    own = pathlib.Path(os.environ['TMPDIR'])"]
    lines += [f"    pathlib.Path({str(folder / 'own')!r}).write_text(str(own))", f"    {statement}", ""]
    (root / "test_it.py").write_text("\n".join(lines))
    options = ["-c", os.devnull, "--rootdir", str(root), "-n", str(workers)]
    options += ["--disable-plugin-autoload", "-p", "xdist", "-p", "tests.leftovers", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, str(root / "test_it.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, Path((folder / "own").read_text())


def test_a_session_that_leaves_nothing_passes_and_its_folder_goes(tmp_path: Path) -> None:
    status, _, folder = session(tmp_path, "(own / 'a').touch(); (own / 'a').unlink()")
    assert status == 0
    assert not folder.exists()


def test_a_file_that_is_left_fails_the_session(tmp_path: Path) -> None:
    status, said, _ = session(tmp_path, "(own / 'spooled').touch()")
    assert status == 1
    assert "left behind by a test: file spooled" in said


def test_a_file_that_is_left_in_the_working_tree_fails_the_session(tmp_path: Path) -> None:
    touch = f"[pathlib.Path({str(tmp_path)!r}, 'root', name).touch() for name in ('None-key', 'build')]"
    status, said, _ = session(tmp_path, touch)
    assert status == 1
    left = [line.split(": ")[1] for line in said.splitlines() if line.startswith("left behind")]
    assert left == ["None-key in the working tree"]


@pytest.mark.slow
def test_what_goes_when_a_worker_ends_is_no_fault_of_a_worker_that_was_killed(tmp_path: Path) -> None:
    names = "'losslake-samples-x', 'tmp_x1wandb-media', 'tmp_x1wandb-artifacts', 'polars'"
    status, said, folder = session(tmp_path, f"[(own / name).mkdir() for name in ({names})]")
    assert (status, "left behind" in said) == (0, False)
    assert not folder.exists()


@pytest.mark.slow
def test_a_session_without_workers_may_still_use_its_folder(tmp_path: Path) -> None:
    status, _, folder = session(tmp_path, "(own / 'a').mkdir()", workers=0)
    assert status == 0
    assert not folder.exists()


@pytest.mark.slow
def test_the_folder_of_a_failed_session_stays_until_the_next(tmp_path: Path) -> None:
    status, _, failed = session(tmp_path, "assert not (own / 'log').write_text('x')")
    assert status == 1
    assert failed.is_dir()
    session(tmp_path, "pass", workers=0)
    assert not failed.exists()


@pytest.mark.parametrize("in_command", [True, False])
def test_a_process_that_is_left_is_named_and_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_command: bool
) -> None:
    monkeypatch.setattr(leftovers, "SECONDS_TO_END", 0)
    program = "import sys, time; print(flush=True); time.sleep(300)"
    environment = {} if in_command else {**os.environ, leftovers.SESSION: str(tmp_path)}
    command = [sys.executable, "-c", program, *([str(tmp_path)] if in_command else [])]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (line,) = leftovers.processes_left(tmp_path)
        assert line.startswith(f"process {process.pid}: {sys.executable} -c")
        assert process.wait(60) < 0
    assert list(leftovers.processes_left(tmp_path)) == []
