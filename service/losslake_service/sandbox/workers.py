"""The service's side of worker processes: start, confinement, statements and timeouts."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from losslake.lake.lake import Lake
from losslake_schema.release import Release
from losslake_service.sandbox import errors
from losslake_service.sandbox.channel import MAX_REPLY_BYTES, ChannelClosed, receive, send
from losslake_service.sandbox.confinement import Confinement
from losslake_service.sandbox.errors import SqlLimits, SqlProblem, crashed, internal, too_slow, unavailable
from losslake_service.sandbox.stored_data import DataFileServer, LocalFiles, StoredData, StoreUnavailable, open_pair

# A release's Parquet files, or a source of their ranges.
DataFiles = LocalFiles | StoredData
PROGRAM = "losslake_service.sandbox.worker"
# Beyond this number of files, at which a worker takes 1 s to open the release, workers may read the whole folder.
MOST_LISTED_FILES = 100_000
_OPEN_SECONDS = 30
_GRACE_SECONDS = 0.5
_LONGEST_REPORT = 1000
_LONGEST_TRACEBACK = 3000
# The beginning of the log's message on a worker that failed although no limit was reached. No statement may cause that.
FAILED = "an SQL worker failed, and no limit explains it"
# What libraries write to standard error before they abort for lack of memory.
_NO_MEMORY = re.compile(
    r"bad_alloc|MemoryError|out of memory|cannot allocate memory|memory allocation of|resource temporarily unavailable",
    re.IGNORECASE,
)
_ENVIRONMENT = {
    # A single thread during confinement, and little address space for later threads.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}
_log = logging.getLogger(__name__)


class Worker:
    """A worker process; used by one thread, except that any thread may call `kill`."""

    def __init__(self, program: str) -> None:
        """Start the process; log the reason and raise SqlProblem if the system has no room for it."""
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-s", "-m", program],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,  # read when it has ended
                    env=_ENVIRONMENT | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
                    start_new_session=True,
                )
        except OSError as error:
            _log.error("an SQL worker could not start: %s", error)
            raise unavailable(f"its worker can't start: {error.strerror}") from None
        self._channel = ours
        self._files: DataFileServer | None = None
        self.release: Path | None = None
        self.confinement = Confinement()
        self._is_killed = False
        self._statements = 0

    def open(self, serving_file: Path, data_files: DataFiles, limits: SqlLimits) -> None:
        """Confine the worker to a release; raise SqlProblem if that fails, and log why unless it was killed."""
        opening = {
            "limits": dataclasses.asdict(limits),
            "serving_file": str(serving_file),
            "data_files": vars(data_files) if isinstance(data_files, LocalFiles) else None,
        }
        try:
            if isinstance(data_files, LocalFiles):
                send(self._channel, opening)
            else:
                self._files, theirs = open_pair(data_files)
                with theirs:
                    send(self._channel, opening, theirs.fileno())
            reply = self._reply(time.monotonic() + _OPEN_SECONDS)
        except TimeoutError:
            reply = {"failed": f"no reply within {_OPEN_SECONDS} s"}
        except StoreUnavailable as error:
            reply = {"failed": f"the store is unavailable: {error}"}
        except ChannelClosed:
            if self._is_killed:
                raise unavailable() from None
            status, line = self._end()
            reply = {"failed": f"exit status {status}: {line}"}
        if "failed" in reply:
            failed = str(reply["failed"])
            _log.error("an SQL worker could not open %s: %s", serving_file, failed)
            raise unavailable(f"its worker can't start: {failed.partition(':')[0]}")
        self.confinement = Confinement([*map(str, reply["in_force"])], [*map(str, reply["missing"])])
        self.release = serving_file

    def run(self, job: Mapping[str, Any], spooled: int, file: int, limits: SqlLimits) -> dict[str, Any]:
        """Run a statement whose result goes to an open file; raises SqlProblem.

        Args:
            job: statement, parameters, the format of the result and the facts of the answer.
            spooled: an open file, for the result as it comes.
            file: an open file, for the result in its format.
            limits: of this statement.

        Returns:
            rows, truncated and digest, as in `SpooledResult`.
        """
        self._statements += 1
        deadline = time.monotonic() + limits.seconds + _GRACE_SECONDS
        try:
            self._channel.settimeout(limits.seconds + _GRACE_SECONDS)
            send(self._channel, {**job, "max_rows": limits.result_rows}, spooled, file)
            reply = self._reply(deadline)
        except TimeoutError:
            self.kill()
            raise too_slow(limits) from None
        except StoreUnavailable as error:
            self.kill()
            _log.error("an SQL worker could not read a data file: %s", error)
            raise unavailable() from None
        except ChannelClosed:
            was_killed = self._is_killed
            status, line = self._end()
            if was_killed:
                raise unavailable() from None
            raise _death_problem(status, line, limits) from None
        if reply.get("worn", False) or self._statements >= limits.statements_per_worker:
            self.kill()
        if "problem" in reply:
            raise _problem(reply)
        return reply

    def _reply(self, deadline: float) -> dict[str, Any]:
        """Serve the worker's requests for data files until it replies."""
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        if self._files is not None:
            poller.register(self._files, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poller.poll(max(0.0, deadline - time.monotonic()) * 1000)]
            if not ready:
                raise TimeoutError
            if self._files is None or self._channel.fileno() in ready:
                return receive(self._channel, MAX_REPLY_BYTES, deadline)[0]
            self._files.respond(deadline)

    def is_usable(self) -> bool:
        """Return True if the worker can run another statement."""
        return not self._is_killed and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process."""
        self._is_killed = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def close(self) -> None:
        """Kill the process and close its sockets."""
        self.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._channel.close()
        if self._files is not None:
            self._files.close()

    def _end(self) -> tuple[int | None, str]:
        """Kill a worker that closed its channel; return its own exit status, None if it had none, and its last line."""
        try:
            status = self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        self.kill()
        assert self._process.stderr is not None
        last = self._process.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        return status, last[:_LONGEST_REPORT]


def _death_problem(status: int | None, line: str, limits: SqlLimits) -> SqlProblem:
    """Return the problem of a statement whose worker ended, and log it; an end that no limit explains is our error."""
    if status == -signal.SIGXCPU:
        return too_slow(limits)
    # Without memory, the kernel kills a process, and libraries abort and say why.
    if status == -signal.SIGKILL or _NO_MEMORY.search(line):
        _log.warning("a statement killed an SQL worker, exit status %s: %s", status, line)
        return crashed(limits)
    _log.error("%s: exit status %s: %s", FAILED, status, line)
    return internal()


def _problem(reply: dict[str, Any]) -> SqlProblem:
    """Return the problem that a worker reports; don't trust it, as a statement may have taken it over."""
    kind, detail = str(reply["problem"]), str(reply.get("detail"))
    line, column = reply.get("line"), reply.get("column")
    if kind == errors.UNAVAILABLE:
        _log.error("an SQL worker could not read its release: %s", detail)
        return unavailable()
    if kind == errors.INTERNAL or kind not in errors.KINDS:
        _log.error("%s: %s", FAILED, detail[-_LONGEST_TRACEBACK:])
        return internal()
    has_position = isinstance(line, int) and isinstance(column, int)
    return SqlProblem(kind, detail, line if has_position else None, column if has_position else None)


class RemoteFiles:
    """The data files of a release elsewhere, read through the cache of this machine; see `StoredData`."""

    def __init__(self, lake: Lake, release: Release) -> None:
        self._lake = lake
        self._release = release

    def size(self, path: str) -> int | None:
        """Return the size of a file, or None."""
        return self._sizes.get(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Return a range of a file; raise OSError."""
        return self._lake.store.range(path, self._sizes[path], start, stop)

    @cached_property
    def _sizes(self) -> Mapping[str, int]:
        return {file.path: file.bytes for file in self._lake.files(self._release)}


def data_files_of(lake: Lake, release: Release) -> DataFiles:
    """Return the release's files, or a source of their ranges; raise LakeBroken."""
    folder = lake.store.local_folder
    if folder is None:
        return RemoteFiles(lake, release)
    files = LocalFiles(str(folder), [file.path for file in lake.files(release)])
    paths = files.paths()
    return files if len(paths) <= MOST_LISTED_FILES else LocalFiles(os.path.commonpath(paths), None)
