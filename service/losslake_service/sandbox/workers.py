"""A worker as the service sees it: a process that is started, confined to a release, asked, and killed in time."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
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

from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.store.bucket_store import BucketStore
from losslake.lake.store.folder import FolderStore
from losslake_schema.database import Release
from losslake_service.sandbox import errors
from losslake_service.sandbox.channel import LONGEST_REPLY, ChannelClosed, receive, send
from losslake_service.sandbox.confinement import Confinement
from losslake_service.sandbox.errors import SqlLimits, SqlProblem, broken, too_slow, unavailable
from losslake_service.sandbox.stored_data import AnswersForFiles, StoreAway, StoredData, opened_pair

DataFiles = Path | StoredData
"""The folder that holds a release's Parquet files, all below which may be read; or who gives ranges of them."""
PROGRAM = "losslake_service.sandbox.worker"
_SECONDS_TO_OPEN = 30
_GRACE = 0.5
_ENVIRONMENT = {
    # One thread while it is being confined, and little address space for each later one.
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
    """A process for statements. Not to be shared by threads; `kill` may be called by any."""

    def __init__(self, program: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", program],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
                start_new_session=True,
            )
        self._channel = ours
        self._files: AnswersForFiles | None = None
        self.release: Path | None = None
        self.confinement = Confinement()
        self._is_killed = False
        self._statements = 0

    @property
    def process_id(self) -> int:
        return self._process.pid

    def open(self, serving_file: Path, data_files: DataFiles, limits: SqlLimits) -> None:
        """Confine it to a release; raises SqlProblem when that fails, with the reason in the log."""
        opening = {
            "limits": dataclasses.asdict(limits),
            "serving_file": str(serving_file),
            "data_files_root": str(data_files) if isinstance(data_files, Path) else None,
        }
        try:
            if isinstance(data_files, Path):
                send(self._channel, opening)
            else:
                self._files, theirs = opened_pair(data_files)
                with theirs:
                    send(self._channel, opening, theirs.fileno())
            reply = self._reply(time.monotonic() + _SECONDS_TO_OPEN)
        except (ChannelClosed, TimeoutError, StoreAway) as error:
            reply = {"failed": f"it gave no answer ({error}), status {self._process.poll()}"}
        if "failed" in reply:
            _log.error("a worker for SQL could not open %s: %s", serving_file, reply["failed"])
            raise unavailable()
        self.confinement = Confinement([*map(str, reply["in_force"])], [*map(str, reply["missing"])])
        self.release = serving_file

    def ask(self, statement: str, parameters: object, file: int, limits: SqlLimits) -> dict[str, Any]:
        """Run a statement whose result goes to an open file; raises SqlProblem.

        Returns:
            rows, size, truncated and digest, as in `Spooled`.
        """
        self._statements += 1
        deadline = time.monotonic() + limits.seconds + _GRACE
        try:
            self._channel.settimeout(limits.seconds + _GRACE)
            asked = {"statement": statement, "parameters": parameters, "most_rows": limits.result_rows}
            send(self._channel, asked, file)
            reply = self._reply(deadline)
        except TimeoutError:
            self.kill()
            raise too_slow(limits) from None
        except StoreAway as error:
            self.kill()
            _log.error("SQL could not read a data file: %s", error)
            raise unavailable() from None
        except ChannelClosed:
            was_killed = self._is_killed
            self.kill()
            if was_killed:
                raise unavailable() from None
            raise self._why_it_died(limits) from None
        if reply.get("worn", False) or self._statements >= limits.statements_per_worker:
            self.kill()
        if "problem" in reply:
            raise _problem(reply, limits)
        return reply

    def _reply(self, deadline: float) -> dict[str, Any]:
        """Answer what it asks of data files until it replies."""
        ends = select.poll()
        ends.register(self._channel, select.POLLIN)
        if self._files is not None:
            ends.register(self._files, select.POLLIN)
        while True:
            ready = [end for end, _ in ends.poll(max(0.0, deadline - time.monotonic()) * 1000)]
            if not ready:
                raise TimeoutError
            if self._files is None or self._channel.fileno() in ready:
                return receive(self._channel, LONGEST_REPLY, deadline)[0]
            self._files.answer(deadline)

    def is_usable(self) -> bool:
        """Whether it can be asked again."""
        return not self._is_killed and self._process.poll() is None

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self._is_killed = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def discard(self) -> None:
        """End it, and give back what it had in this process."""
        self.kill()
        self._process.wait()
        self._channel.close()
        if self._files is not None:
            self._files.close()

    def _why_it_died(self, limits: SqlLimits) -> SqlProblem:
        status = self._process.wait()
        if status == -signal.SIGXCPU:
            return too_slow(limits)
        _log.warning("a worker for SQL died of a statement, status %s", status)
        return broken(limits)


def _problem(reply: dict[str, Any], limits: SqlLimits) -> SqlProblem:
    """What the worker tells, as far as it makes sense: a statement may have taken it over."""
    kind, detail = str(reply["problem"]), str(reply.get("detail"))
    line, column = reply.get("line"), reply.get("column")
    if kind == errors.UNAVAILABLE:
        _log.error("a worker for SQL could not read its release: %s", detail)
        return unavailable()
    if kind not in errors.KINDS:
        return broken(limits)
    known = isinstance(line, int) and isinstance(column, int)
    return SqlProblem(kind, detail, line if known else None, column if known else None)


class BucketData:
    """The data files of a release in a bucket, by ranges that are kept on this machine; see `StoredData`."""

    def __init__(self, lake: Lake, store: BucketStore, release: Release) -> None:
        self._lake = lake
        self._store = store
        self._release = release

    def size(self, path: str) -> int | None:
        return self._sizes.get(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self._store.range(path, self._sizes[path], start, stop)

    @cached_property
    def _sizes(self) -> Mapping[str, int]:
        return {file.path: file.bytes for file in self._lake.files(self._release)}


def data_files_of(lake: Lake, release: Release) -> DataFiles:
    """The folder of all data files, or who gives ranges of those of the release."""
    store = lake.store
    if isinstance(store, FolderStore):
        return Path(store.folder, WAREHOUSE)
    assert isinstance(store, BucketStore)
    return BucketData(lake, store, release)
