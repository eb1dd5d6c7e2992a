"""One folder for all temporary files of a session, and a look at its end: nothing that tests started or wrote is left.

Libraries keep some until their process ends: PySpark its Java process, wandb its folders. So the look needs tests that
ran in processes of their own: pytest-xdist's workers.

The folder lies in memory where there is room, so that no test waits for a disk. It stays only if a test failed, until
the next session begins.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 2**30
PREFIX = "losslake-tests-"
SESSION = "TEST_SESSION_FOLDER"
SECONDS_TO_END = 60
# What stays by design: pytest deletes old folders at the next session, Polars reuses its cache, multiprocessing deletes
# its folder when this process ends. Samples of corpora and wandb's folders go when a worker ends by itself; a worker
# is killed by pytest-xdist if it takes more than 10 s, as on a busy machine.
KEPT = re.compile("pytest-of-.*|polars|pymp-.*|losslake-samples-.*|tmp.*wandb-(media|artifacts)")
LEFT = pytest.StashKey[list[str]]()
UNTRACKED_BEFORE = pytest.StashKey[set[str]]()


def is_worker(config: pytest.Config) -> bool:
    """Return True in a process to which pytest-xdist distributes tests."""
    return hasattr(config, "workerinput")


def has_workers(config: pytest.Config) -> bool:
    """Return True in the process that distributes tests to workers."""
    return bool(config.getoption("numprocesses", None))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give the session a folder of its own for temporary files; delete those of sessions that are over."""
    if is_worker(config):
        return
    root = MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES else Path(tempfile.gettempdir())
    for old in root.glob(f"{PREFIX}[0-9]*"):
        if not psutil.pid_exists(int(old.name.removeprefix(PREFIX))):
            shutil.rmtree(old, ignore_errors=True)
    config.stash[UNTRACKED_BEFORE] = _untracked(config)
    folder = root / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o755)  # whatever the umask: PostgreSQL runs as another user than root
    os.environ[SESSION] = str(folder)
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
    os.environ["POLARS_TEMP_DIR"] = str(folder / "polars")  # which Polars closes to other users
    tempfile.tempdir = None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session of workers if a process or a file of it is left; keep the files only if it fails."""
    if is_worker(session.config):
        return
    folder = Path(os.environ[SESSION])
    left = []
    if has_workers(session.config):
        before = session.config.stash[UNTRACKED_BEFORE]
        new = sorted(_untracked(session.config) - before)
        left = [*processes_left(folder), *files_left(folder), *(f"{path} in the working tree" for path in new)]
    if left and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    session.config.stash[LEFT] = left
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        for path in folder.iterdir():
            if not path.name.startswith("pymp-"):
                shutil.rmtree(path, ignore_errors=True)
        # What is left when this process ends, as multiprocessing's folder may be, goes with the next session.
        with suppress(OSError):
            folder.rmdir()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what the tests left behind."""
    for each in config.stash.get(LEFT, []):
        terminalreporter.write_line(f"left behind by a test: {each}", red=True)


def processes_left(folder: Path) -> Iterator[str]:
    """Yield the processes of the session that don't end by themselves, and kill them."""
    until = time.monotonic() + SECONDS_TO_END
    while (left := list(_processes_of(folder))) and time.monotonic() < until:
        time.sleep(0.05)
    for process in left:
        try:
            yield f"process {process.pid}: {' '.join(process.cmdline())}"
            process.kill()
        except psutil.NoSuchProcess:
            continue


def _processes_of(folder: Path) -> Iterator[psutil.Process]:
    """Yield the processes with the session's environment, or the folder in their command, but not this one."""
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                continue
            if process.environ().get(SESSION) == str(folder) or str(folder) in " ".join(process.cmdline()):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def _untracked(config: pytest.Config) -> set[str]:
    """Return the files of the working tree that git neither has nor ignores; none where there is no repository."""
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=config.rootpath, capture_output=True, text=True, check=False)
    return set(listed.stdout.splitlines())


def files_left(folder: Path) -> Iterator[str]:
    """Yield what lies in the session's folder, except KEPT."""
    for path in sorted(folder.iterdir()):
        if not KEPT.fullmatch(path.name):
            yield f"{'folder' if path.is_dir() else 'file'} {path.name}"
