"""A run that is being recorded: a queue that the training fills, and a thread that empties it into files."""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from losslake.record.spool import ELAPSED, STEP, Spool, facts_of, new_name, written

Status = Literal["COMPLETE", "INFEASIBLE", "INCOMPLETE"]
Scalar = str | int | float | bool
MOST_QUEUED = 100_000
_SECONDS_BETWEEN_WRITES = 0.25
_SECONDS_TO_FINISH = 30.0
_STATUSES = ("COMPLETE", "INFEASIBLE", "INCOMPLETE")
# The rank of a process, as torchrun, Slurm, Open MPI and MPICH say it.
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_RESERVED = {STEP, ELAPSED, ""}
_SAME = ("collection", "dataset", "model", "optimizer", "batch_size")


def start(
    *,
    workload: str,
    batch_size: int,
    parameters: Mapping[str, Scalar] | None = None,
    licence: str | None = None,
    folder: str | Path = "losslake-runs",
    resume: str | None = None,
) -> Run:
    """Begin to record a run in a folder of its own, below `folder`; only on the process with rank 0.

    workload: collection/dataset/model/optimizer; the collection may have slashes. parameters: metaparameters, such as
    the learning rate. licence: of the measurements, for others. resume: the name of a run that goes on: what is logged
    replaces what was recorded from its first step on. Raises ValueError for what isn't a workload, a batch size, a
    parameter, or a run to resume. A folder that can't be written gives a warning, and nothing is recorded.
    """
    facts = _facts(workload, batch_size, parameters or {}, licence)
    place = Path(folder) / (resume or new_name())
    if resume is not None:
        if place.name != resume:
            raise ValueError(f"resume {resume!r}: give the name of a run's folder, without slashes")
        known = facts_of(place)
        other = next((name for name in _SAME if known.get(name) != facts[name]), None)
        if other is not None:
            raise ValueError(f"{other} is {facts[other]!r}, and {known.get(other)!r} in the run to resume, {place}")
    spool = None
    if next((os.environ[rank] for rank in _RANKS if os.environ.get(rank)), "0") == "0":
        try:
            spool = Spool(place, facts)
        except OSError as error:
            warnings.warn(f"the run isn't recorded: {error}", stacklevel=2)
    return Run(place.name, spool, is_resumed=resume is not None)


def _facts(workload: str, batch_size: int, parameters: Mapping[str, Scalar], licence: str | None) -> dict[str, Any]:
    """Return what a run is, for its folder. Raises ValueError."""
    parts = workload.split("/")
    if len(parts) < 4 or not all(part and part.isprintable() and part == part.strip() for part in parts):
        raise ValueError(f"workload {workload!r}: give collection/dataset/model/optimizer")
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size {batch_size!r}: give a whole number from 1")
    for name, value in parameters.items():
        if not isinstance(name, str) or not isinstance(value, Scalar):
            raise ValueError(f"parameters[{name!r}]: {type(value).__name__}: give a number, a text, or true or false")
    return {
        "collection": "/".join(parts[:-3]),
        "dataset": parts[-3],
        "model": parts[-2],
        "optimizer": parts[-1],
        "batch_size": batch_size,
        "licence": licence,
        "started_at": time.time(),
        "parameters": {name: written(v) if isinstance(v, float) else v for name, v in parameters.items()},
    }


class Run:
    """A run that is being recorded. None of its methods raises, whatever is given.

    name: of its folder. n_dropped: measurements that were lost because the queue was full, or that were no numbers.
    """

    def __init__(self, name: str, spool: Spool | None, *, is_resumed: bool = False) -> None:
        self.name = name
        self.n_dropped = 0
        self._spool = spool
        self._queue: deque[tuple[float, int, Mapping[str, float] | None]] = deque()
        self._began = time.monotonic() - (spool.elapsed if spool is not None else 0)
        self._pending: list[dict[str, Any]] = []
        # Whether the next line begins an attempt, and from which step on it replaces others: by default its own.
        self._begins, self._replaces = True, is_resumed
        self._from_step: int | None = None
        self._status: Status | None = None
        self._trouble = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="losslake-record", daemon=True)
        if spool is not None:
            _RUNNING.add(self)
            self._thread.start()

    @property
    def folder(self) -> Path | None:
        """The folder of the run; None if nothing is recorded here."""
        return self._spool.folder if self._spool is not None else None

    def log(self, values: Mapping[str, float], *, step: int) -> None:
        """Record the values of metrics at a step; of a metric that has one at this step already, the later counts.

        values: numbers, or what `float` takes, such as arrays with one element. Those of an accelerator are waited for.
        """
        if self._spool is None or self._ended.is_set():
            return
        try:
            elapsed = time.monotonic() - self._began
            numbers = {name: float(value) for name, value in values.items() if name not in _RESERVED}
            self.n_dropped += len(values) - len(numbers)
            if len(self._queue) >= MOST_QUEUED:
                self.n_dropped += len(numbers)
            else:
                self._queue.append((elapsed, int(step), numbers))
        except Exception:  # noqa: BLE001 - nothing that is logged may end a training
            self.n_dropped += 1

    def rewind(self, step: int) -> None:
        """Say that the training went back to a checkpoint: what is logged next replaces what was from `step` on."""
        if self._spool is None or self._ended.is_set():
            return
        try:
            self._queue.append((0.0, int(step), None))
        except Exception:  # noqa: BLE001 - as in log
            self.n_dropped += 1

    def finish(self, status: Status = "COMPLETE") -> None:
        """End the recording, and wait until everything is written, for at most 30 seconds.

        status: COMPLETE, INFEASIBLE if the training diverged, or INCOMPLETE. Measurements that were dropped make it
        INCOMPLETE, and so does a process that ends without this.
        """
        if self._spool is None or self._ended.is_set():
            return
        self._status = status if status in _STATUSES else "INCOMPLETE"
        self._stop()
        if self._trouble or self._thread.is_alive():
            warnings.warn(f"the run {self.name} isn't recorded whole: {self._trouble or 'too slow'}", stacklevel=2)

    def __enter__(self) -> Run:
        """Return the run."""
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        """Finish: COMPLETE, or INCOMPLETE after an error."""
        self.finish("COMPLETE" if kind is None else "INCOMPLETE")

    def _stop(self) -> None:
        """Let the thread write what is queued, and end."""
        self._ended.set()
        self._thread.join(_SECONDS_TO_FINISH)
        _RUNNING.discard(self)

    def _abandon(self) -> None:
        """Stop in a forked child, whose parent goes on recording."""
        self._spool = None

    def _work(self) -> None:
        """Write what is queued, until the run ends."""
        spool = self._spool
        assert spool is not None
        while not self._ended.wait(_SECONDS_BETWEEN_WRITES):
            self._write(spool)
        until = time.monotonic() + _SECONDS_TO_FINISH
        while not self._write(spool) and time.monotonic() < until:
            time.sleep(_SECONDS_BETWEEN_WRITES)
        if self._status is not None and not self._pending:
            status = "INCOMPLETE" if self.n_dropped else self._status
            facts = {"status": status, "ended_at": time.time(), "n_dropped": self.n_dropped}
            self._is_done(lambda: spool.end(facts))

    def _write(self, spool: Spool) -> bool:
        """Write everything that is queued; return False if it can't be written now: it is tried again later."""
        while self._pending or self._queue:
            if not self._pending:
                self._take()
            if self._pending and not self._is_done(lambda: self._append(spool)):
                return False
        return self._is_done(spool.sync_if_due)

    def _take(self) -> None:
        """Take lines from the queue, up to a rewind, after which the next line begins an attempt."""
        while self._queue:
            elapsed, step, values = self._queue[0]
            if values is None:
                if self._pending:
                    return
                self._begins = self._replaces = True
                self._from_step = step if self._from_step is None else min(step, self._from_step)
            else:
                numbers = {name: written(value) for name, value in values.items()}
                self._pending.append({STEP: step, ELAPSED: round(elapsed, 6)} | numbers)
            self._queue.popleft()

    def _append(self, spool: Spool) -> None:
        """Write the taken lines. Raises OSError."""
        if self._begins:
            first = int(self._pending[0][STEP])
            spool.begin_attempt(None if not self._replaces else first if self._from_step is None else self._from_step)
            self._begins, self._from_step = False, None
        spool.append(self._pending)
        self._pending = []

    def _is_done(self, work: Callable[[], None]) -> bool:
        """Return True if it worked; otherwise keep why not."""
        try:
            work()
        except OSError as error:
            self._trouble = str(error)
            return False
        self._trouble = ""
        return True


_RUNNING: weakref.WeakSet[Run] = weakref.WeakSet()


def _stop_all() -> None:
    """Write what is queued when the interpreter ends; a run that wasn't finished stays without an end."""
    for run in list(_RUNNING):
        run._stop()


def _abandon_all() -> None:
    for run in list(_RUNNING):
        run._abandon()
    _RUNNING.clear()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
