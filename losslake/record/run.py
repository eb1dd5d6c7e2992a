"""A run that is being recorded: a queue that the training fills, and a thread that empties it into files."""

from __future__ import annotations

import atexit
import itertools
import logging
import operator
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from losslake.record import gaps
from losslake.record.facts import SAME, Scalar, facts
from losslake.record.gaps import Gaps, stated
from losslake.record.layout import LARGEST_STEP
from losslake.record.sender import Sender
from losslake.record.spool import Spool, facts_of, new_name
from losslake.record.system import SECONDS_BETWEEN_SAMPLES, Sampler
from losslake.record.writer import REWIND, SECONDS_TO_FINISH, Queue, Writer

Status = Literal["COMPLETE", "INFEASIBLE", "INCOMPLETE"]
FOLDER = "losslake-runs"
# Numbers and names: of a call with one value five, so that it is 200,000 such calls, or 30 MB.
MOST_QUEUED = 1_000_000
_STATUSES = ("COMPLETE", "INFEASIBLE", "INCOMPLETE")
# The variables in which torchrun, Slurm, Open MPI and MPICH state the rank of a process.
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
# float64 and integers never change, so that they can be read later.
_IMMUTABLE = frozenset((float, int))
_LOGGER = logging.getLogger("losslake.record")


def start(
    *,
    workload: str,
    batch_size: int,
    parameters: Mapping[str, Scalar] | None = None,
    licence: str | None = None,
    batch_unit: str = "examples",
    goals: Sequence[Mapping[str, Any]] = (),
    notes: str | None = None,
    folder: str | Path = FOLDER,
    resume: str | None = None,
    rank: int | None = None,
    live: str | None = None,
    system: bool | float = False,
) -> Run:
    """Begin to record a run in a folder of its own, below `folder`; only on the process with rank 0.

    Args:
        workload: collection/dataset/model/optimizer; the collection may have slashes.
        batch_size: of an update: per device x devices x accumulation.
        parameters: metaparameters, such as the learning rate.
        licence: of the measurements, for others.
        batch_unit: what a batch counts.
        goals: targets, each with metric and target, and maybe comparator (strict or inclusive) and source.
        notes: a text for readers.
        folder: of all runs.
        resume: the name of a run that goes on. What is logged replaces what was recorded from its first step on; say
            `run.rewind(step)` if the training went back further.
        rank: of this process; by default as torchrun, Slurm or MPI state it.
        live: the URL of a contribution service, to which another process sends the run while it trains. That needs the
            extra `losslake[ingest]`, and a token in LOSSLAKE_TOKEN.
        system: True or a number of seconds: record system metrics every 15 or so many seconds, in another thread. That
            needs the extra `losslake[system]`.

    Raises ValueError for what isn't a workload, a batch size, a parameter, a goal, or a run to resume. If the folder
    can't be written, a warning is logged, and nothing is recorded.
    """
    document = facts(
        workload=workload,
        batch_size=batch_size,
        batch_unit=batch_unit,
        parameters=parameters or {},
        licence=licence,
        goals=goals,
        notes=notes,
    )
    if not isinstance(system, int | float) or not 0 <= system < threading.TIMEOUT_MAX:
        raise ValueError(f"system {system!r}: give True, or the seconds between samples")
    name = resume if resume is not None else new_name()
    place = Path(folder) / name
    if resume is not None and (place.name != resume or resume in (".", "..")):
        raise ValueError(f"resume {resume!r}: give the name of a run's folder, without slashes")
    if (rank if rank is not None else _rank()) != 0:
        return Run(name, None)
    if resume is not None:
        _check_same(place, document)
    try:
        spool = Spool(place, document if resume is None else None)
    except OSError as error:
        _warn(f"the run isn't recorded: {error}")
        return Run(name, None)
    run = Run(name, spool, is_resumed=resume is not None, sender=_sender(place, live))
    if system:
        Sampler(run, SECONDS_BETWEEN_SAMPLES if system is True else system)
    return run


def _sender(place: Path, url: str | None) -> Sender | None:
    """Start the process that sends a run; None without a URL, or if it can't be started."""
    if url is None:
        return None
    try:
        return Sender(place, url)
    except OSError as error:
        _warn(f"the run isn't sent while it trains: {error}")
        return None


def _rank() -> int:
    """Return the rank that the environment of this process states; 0 without one."""
    text = next((os.environ[rank] for rank in _RANKS if os.environ.get(rank)), "0")
    return int(text) if text.isdecimal() else 0


def _check_same(place: Path, new: Mapping[str, Any]) -> None:
    """Raise ValueError if the run in a folder isn't the one to go on with."""
    recorded = {"batch_unit": "examples", **facts_of(place)}
    for name in SAME:
        if recorded.get(name) != new[name]:
            was = f"{recorded.get(name)!r} in the run to resume, {place}"
            raise ValueError(f"{name} is {new[name]!r}, and {was}: start a new run")


class Run:
    """A run that is being recorded. None of its methods raises, whatever is given.

    name: of its folder.
    """

    def __init__(
        self, name: str, spool: Spool | None, *, is_resumed: bool = False, sender: Sender | None = None
    ) -> None:
        self.name = name
        self._sender = sender
        self._spool = spool
        self._queue: Queue = deque()
        self._began = time.monotonic() - (spool.elapsed if spool is not None else 0)
        self._gaps = Gaps()
        self._counting = threading.RLock()
        # The latest call while the queue is full; more only while threads log at once.
        self._kept: dict[int, tuple[Any, ...]] = {}
        self._numbers_of_kept = itertools.count()
        self._status: Status | None = None
        self._ended = threading.Event()
        self._has_warned = False
        self._last_step: int | None = None
        self._writer = Writer(spool, self._queue, is_resumed, self._ended) if spool is not None else None
        self._thread = threading.Thread(target=self._work, name="losslake-record", daemon=True)
        if spool is not None:
            _RUNNING.add(self)
            self._thread.start()

    @property
    def folder(self) -> Path | None:
        """The folder of the run; None if nothing is recorded here."""
        return self._spool.folder if self._spool is not None else None

    @property
    def n_dropped(self) -> int:
        """The number of measurements that aren't recorded: no numbers, or the queue was full."""
        return self._gaps.count + (self._writer.gaps.count if self._writer is not None else 0)

    @property
    def last_step(self) -> int | None:
        """The step that was logged last; None before the first one and after a rewind."""
        return self._last_step

    @property
    def is_finished(self) -> bool:
        """True after `finish`."""
        return self._ended.is_set()

    def log(self, values: Mapping[str, float], *, step: int) -> None:
        """Record the values of metrics at a step; of a metric that has one at this step already, the later counts.

        A step below an earlier one of the same metric is taken as a rewind to that step.

        Args:
            values: numbers, or what `float` takes, such as tensors with one element; those of an accelerator are
                waited for. Names of metrics are split/quantity, as val/loss.
            step: the number of updates so far, from 0.
        """
        if self._spool is None or self._ended.is_set():
            self._note_late()
            return
        try:
            elapsed = time.monotonic() - self._began
            at = step if type(step) is int else _whole(step)
            numbers: Mapping[str, Any] = dict(values)
            if not 0 <= at <= LARGEST_STEP:
                self._drop(gaps.BAD_STEP, len(numbers))
                return
            if not _IMMUTABLE.issuperset(map(type, numbers.values())):
                numbers = self._numbers(numbers, at)
            self._last_step = at
            call = (elapsed, at, len(numbers), *numbers, *numbers.values())
            if len(self._queue) > MOST_QUEUED:
                self._keep(call)
            else:
                if self._kept:
                    self._queue_kept()
                # At once, so that calls of several threads and of a signal's handler don't mix.
                self._queue.extend(call)
        except Exception:  # noqa: BLE001 - nothing that is logged may end a training
            self._drop(gaps.NOT_A_NUMBER, 1)

    def rewind(self, step: int) -> None:
        """Record that the training went back to a checkpoint: what is logged next replaces what was from `step` on."""
        if self._spool is None or self._ended.is_set():
            return
        try:
            at = _whole(step)
            if not 0 <= at <= LARGEST_STEP:
                raise ValueError(step)
            self._last_step = None
            self._queue_kept()
            self._queue.extend((0.0, at, REWIND))
        except Exception:  # noqa: BLE001 - as in log
            self._drop(gaps.BAD_STEP, 1)

    def finish(self, status: Status = "COMPLETE") -> None:
        """End the recording, and wait until everything is written, for at most 30 seconds, and sent, for at most 10.

        status: COMPLETE, INFEASIBLE if the training diverged, or INCOMPLETE. Measurements that were dropped turn
        COMPLETE into INCOMPLETE, and a process that ends without this leaves the run INCOMPLETE. Only the first call
        counts.
        """
        if self._spool is None or self._ended.is_set():
            return
        if status not in _STATUSES:
            _warn(f"finish({status!r}) of the run {self.name}: stored as INCOMPLETE; give {', '.join(_STATUSES)}")
        self._status = status if status in _STATUSES else "INCOMPLETE"
        self._stop()
        assert self._writer is not None
        trouble = self._writer.trouble or ("the disk was too slow" if self._thread.is_alive() else "")
        missing = stated([*self._gaps.rows(), *self._writer.gaps.rows()])
        if trouble or missing:
            _warn(f"the run {self.name} isn't recorded whole: {'; '.join(filter(None, (trouble, missing)))}")
        unsent = self._sender.wait() if self._sender is not None else ""
        if unsent:
            _warn(f"the run {self.name} is recorded, but {unsent}; 'losslake push' sends it later")

    def __enter__(self) -> Run:
        """Return the run."""
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        """Finish: COMPLETE, or INCOMPLETE after an error."""
        self.finish("COMPLETE" if kind is None else "INCOMPLETE")

    def _numbers(self, values: Mapping[str, Any], step: int) -> dict[str, Any]:
        """Return the values that are numbers, as they are now; count the others."""
        numbers: dict[str, Any] = {}
        for name, value in values.items():
            try:
                numbers[name] = value if type(value) in _IMMUTABLE else _as_float(value)
            except Exception:  # noqa: BLE001 - an object's own float() can raise anything
                self._drop(gaps.NOT_A_NUMBER, 1, step)
        return numbers

    def _keep(self, call: tuple[Any, ...]) -> None:
        """Keep the latest call beside the full queue, as `finish` may follow it, and drop those kept before.

        A handler of a signal may interrupt this, log and finish: whoever takes a call out counts or queues it.
        """
        number = next(self._numbers_of_kept)
        self._kept[number] = call
        for earlier in [other for other in tuple(self._kept) if other < number]:
            dropped = self._kept.pop(earlier, None)
            if dropped is not None:
                self._drop(gaps.FULL_QUEUE, dropped[2], dropped[1])

    def _queue_kept(self) -> None:
        """Queue the call that was kept while the queue was full, if there is one."""
        for number in tuple(self._kept):
            self._queue.extend(self._kept.pop(number, ()))

    def _drop(self, reason: str, count: int, *steps: int) -> None:
        """Count measurements that are lost. Reentrant, since a signal's handler may log as well."""
        with self._counting:
            self._gaps.add(reason, count, *steps)

    def _note_late(self) -> None:
        """Warn once of a measurement after the end."""
        if self._spool is not None and not self._has_warned:
            self._has_warned = True
            _warn(f"the run {self.name} has ended: what is logged now isn't recorded; start with resume={self.name!r}")

    def _stop(self) -> None:
        """Let the thread write what is queued, and end."""
        self._queue_kept()
        self._ended.set()
        self._thread.join(SECONDS_TO_FINISH)
        _RUNNING.discard(self)

    def _abandon(self) -> None:
        """Stop in a forked child, whose parent goes on recording."""
        self._spool = None

    def _work(self) -> None:
        """Write what is queued, until the run ends."""
        writer = self._writer
        assert writer is not None
        try:
            writer.run(self._end, _warn)
        except Exception as error:  # noqa: BLE001 - reported when the run is finished
            writer.trouble = f"{type(error).__name__}: {error}"

    def _end(self) -> Mapping[str, Any] | None:
        """Return how the run ended, None if it wasn't finished."""
        if self._status is None:
            return None
        end = {"status": self._status, "ended_at": time.time()}
        return {**end, "n_dropped": self._gaps.count, "gaps": self._gaps.rows()}


def _as_float(value: Any) -> float:
    """Return a number, or that in an array of one element, as float64. Raises whatever the object raises."""
    if isinstance(value, str | bytes | bytearray):
        raise TypeError(value)
    try:
        return float(value)
    except TypeError:
        return float(value.item())


def _whole(step: Any) -> int:
    """Return a step as an integer. Raises TypeError or ValueError if it isn't whole."""
    if isinstance(step, float):
        if not step.is_integer():
            raise ValueError(step)
        return int(step)
    return operator.index(step)


def _warn(message: str) -> None:
    """Log a warning, whatever the handlers of the program do."""
    with suppress(Exception):  # a handler that raises must not end a training
        _LOGGER.warning("%s", message)


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
