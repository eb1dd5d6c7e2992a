"""A run that is being recorded: a queue that the training fills, and a thread that empties it into files."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Literal

from losslake.record import gaps
from losslake.record.calls import Call, Calls
from losslake.record.columns import Renamed, renamed
from losslake.record.facts import SAME, Scalar, facts
from losslake.record.gaps import Gaps, LeftOut, stated, stated_names
from losslake.record.layout import LARGEST_STEP
from losslake.record.sender import Sender
from losslake.record.spool import Spool, facts_of, new_name
from losslake.record.steps import StepBeside, StepCounter, whole_step
from losslake.record.system import SECONDS_BETWEEN_SAMPLES, Sampler
from losslake.record.values import IMMUTABLE, numbers_of, shown, shown_name
from losslake.record.writer import NEXT, REWIND, SECONDS_TO_FINISH, Queue, Writer

Status = Literal["COMPLETE", "INFEASIBLE", "INCOMPLETE"]
FOLDER = "losslake-runs"
# Numbers and names: of a call with one value five, so that it is 200,000 such calls, or 30 MB.
MOST_QUEUED = 1_000_000
_STATUSES: tuple[Status, ...] = ("COMPLETE", "INFEASIBLE", "INCOMPLETE")
# The variables in which torchrun, Slurm, Open MPI and MPICH state the rank of a process.
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_LOGGER = logging.getLogger("losslake.record")


def start(
    *,
    workload: str,
    batch_size: int | Sequence[Sequence[int]],
    parameters: Mapping[str, Scalar] | None = None,
    licence: str | None = None,
    batch_unit: str = "examples",
    goals: Sequence[Mapping[str, Any]] = (),
    notes: str | None = None,
    folder: str | Path = FOLDER,
    resume: str | None = None,
    rank: int | None = None,
    live: str | None = None,
    metrics: Mapping[str, str | tuple[str, float] | None] | None = None,
    updates_per_log: int | None = None,
    name: str | None = None,
    group: str | None = None,
    tags: Sequence[str] = (),
    system: bool | float = False,
) -> Run:
    """Begin to record a run in a folder of its own, below `folder`; only on the process with rank 0.

    Args:
        workload: collection/dataset/model/optimizer; the collection may have slashes.
        batch_size: of an update: per device x devices x accumulation. If it changes, pairs of a step and the size of
            later updates: with [(0, 64), (1000, 128)], updates 1 to 1000 have 64, and later ones 128.
        parameters: metaparameters, such as the learning rate.
        licence: of the measurements, for others: an identifier of SPDX, such as CC-BY-4.0.
        batch_unit: what a batch counts.
        goals: targets, each with metric and target, and maybe comparator (strict or inclusive) and source.
        notes: a text for readers.
        folder: of all runs.
        resume: the name of a run that goes on. What is logged replaces what was recorded from its first step on; say
            `run.rewind(step)` if the training went back further.
        rank: of this process; by default as torchrun, Slurm or MPI state it.
        live: the URL of a contribution service, to which another process sends the run while it trains. That needs the
            extra `losslake[ingest]`, and a token in LOSSLAKE_TOKEN.
        metrics: what logged names are: {"loss": "train/loss", "acc": ("val/accuracy", 0.01), "lr": None}; with a
            number, values are multiplied by it; None leaves a name out.
        updates_per_log: the updates between two calls of `log` without a step, if it is always the same number.
        name, group, tags: of the run, for readers and filters.
        system: True or a number of seconds: record system metrics every 15 or so many seconds, in another thread. That
            needs the extra `losslake[system]`.

    Raises ValueError for what isn't a workload, a batch size, a parameter, a licence, a goal, a name of a metric, or a
    run to resume. If the folder can't be written, a warning is logged, and nothing is recorded.
    """
    columns = renamed(metrics)
    if updates_per_log is not None and not (type(updates_per_log) is int and 0 < updates_per_log < LARGEST_STEP):
        raise ValueError(f"updates_per_log {shown(updates_per_log)}: give a whole number from 1, or leave it out")
    document = facts(
        workload=workload,
        batch_size=batch_size,
        batch_unit=batch_unit,
        parameters=parameters or {},
        licence=licence,
        goals=goals,
        notes=notes,
        name=name,
        group=group,
        tags=tags,
        metrics=columns,
    )
    if not isinstance(system, int | float) or not 0 <= system < threading.TIMEOUT_MAX:
        raise ValueError(f"system {system!r}: give True, or the seconds between samples")
    folder_name = resume if resume is not None else new_name()
    place = Path(folder) / folder_name
    if resume is not None and (place.name != resume or resume in (".", "..")):
        raise ValueError(f"resume {resume!r}: give the name of a run's folder, without slashes")
    if (rank if rank is not None else _rank()) != 0:
        return Run(folder_name, None)
    if resume is not None:
        _check_same(place, document)
    try:
        spool = Spool(place, document if resume is None else None)
    except OSError as error:
        _warn(f"the run isn't recorded: {error}")
        return Run(folder_name, None)
    steps = StepCounter(spool.last_step, updates_per_log)
    sender = _sender(place, live)
    is_resumed = resume is not None
    run = Run(folder_name, spool, is_resumed=is_resumed, sender=sender, metrics=columns, steps=steps)
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
        if recorded.get(name) != new.get(name):
            was = f"{recorded.get(name)!r} in the run to resume, {place}"
            raise ValueError(f"{name} is {new.get(name)!r}, and {was}: start a new run")


class Run:
    """A run that is being recorded. None of its methods raises, whatever is given.

    name: of its folder.
    """

    def __init__(
        self,
        name: str,
        spool: Spool | None,
        *,
        is_resumed: bool = False,
        sender: Sender | None = None,
        metrics: Mapping[str, Renamed] | None = None,
        steps: StepCounter | None = None,
    ) -> None:
        self.name = name
        self._sender = sender
        self._steps = steps or StepCounter(None, None)
        self._calls = Calls(self._steps, self._leave_out, self._lose_step, _warn)
        self._spool = spool
        self._queue: Queue = deque()
        self._extend = self._queue.extend  # looked up once: log is called often
        self._began = time.monotonic() - (spool.elapsed if spool is not None else 0)
        self._gaps = Gaps()
        self._left_out = LeftOut()
        self._counting = threading.RLock()
        # The latest call while the queue is full; more only while threads log at once.
        self._kept: dict[int, list[Any]] = {}
        self._numbers_of_kept = itertools.count()
        self._status: Status | None = None
        self._ended = threading.Event()
        self._is_recording = spool is not None
        self._has_warned = False
        self._last_step: int | None = None
        self._writer: Writer | None = None
        if spool is not None:
            show_url = self._show_url if sender is not None else lambda: None
            self._writer = Writer(spool, self._queue, is_resumed, self._ended, metrics or {}, show_url)
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
        """The number of measurements that are lost, because the queue was full, or their step is none."""
        return self._gaps.count + (self._writer.gaps.count if self._writer is not None else 0)

    @property
    def n_left_out(self) -> int:
        """The number of values that are no measurements: None, text, images; the run is complete without them."""
        return self._left_out.count + (self._writer.left_out.count if self._writer is not None else 0)

    @property
    def url(self) -> str | None:
        """The page of the run at the service that it is sent to; None until it is known."""
        return self._sender.url if self._sender is not None else None

    @property
    def last_step(self) -> StepBeside | None:
        """The step that was logged last, for what is logged beside it; None before the first one and after a rewind."""
        step = self._last_step
        return None if step is None else StepBeside(max(step, ~step), step < 0)

    @property
    def is_finished(self) -> bool:
        """True after `finish`."""
        return self._ended.is_set()

    def log(
        self, values: Any = None, /, *others: Any, step: Any = None, commit: bool | None = None, **unknown: Any
    ) -> None:
        """Record the values of metrics at a step; of a metric that has one at this step already, the later counts.

        A step below an earlier one of the same metric is taken as a rewind to that step, and the run isn't complete.

        Args:
            values: numbers by name, or what `float` takes, such as tensors with one element; those of an accelerator
                are waited for. Names of metrics are split/quantity, as val/loss, or those that `metrics=` of `start`
                explains. What is no number is left out and counted.
            step: the number of updates so far, from 0. Without one, steps are counted as by W&B: 0 for the first call,
                and one more for each, unless `commit` is False. They count calls, so give the step.
            commit: as by W&B: False stays at the counted step.
            others: the step and commit, by position.
            unknown: ignored with a warning.
        """
        if not self._is_recording:
            self._note_late()
            return
        try:
            elapsed = monotonic() - self._began
            if type(step) is int and 0 <= step <= LARGEST_STEP and commit is None and not others and not unknown:
                self._steps.given = step
            else:
                call = self._calls.usual(Call(elapsed, values, others, step, commit, unknown))
                if call is None:
                    return
                values, step = call
            numbers = {**values}  # a copy, as another thread may change them
            if not IMMUTABLE.issuperset(map(type, numbers.values())):
                numbers = self._numbers(numbers, max(step, ~step))
            self._last_step = step
            queued = [elapsed, step, len(numbers), *numbers, *numbers.values()]
            if len(self._queue) > MOST_QUEUED:
                self._keep(queued)
            else:
                if self._kept:
                    self._queue_kept()
                # At once, so that calls of several threads and of a signal's handler don't mix.
                self._extend(queued)
        except Exception as error:  # noqa: BLE001 - nothing that is logged may end a training
            if isinstance(values, Mapping):
                self._lose_call(error)
            else:
                self._calls.leave_out_whole(values)

    def rewind(self, step: Any = None, /, *others: Any, **unknown: Any) -> None:
        """Record that the training went back to a checkpoint: what is logged next replaces what was from `step` on.

        step: of the first update that is done again; by default the step that is logged next.
        """
        if not self._is_recording:
            return
        try:
            step = unknown.pop("step", step)
            self._calls.note_unknown("rewind", others, unknown)
            at = NEXT if step is None else whole_step(step)
        except Exception:  # noqa: BLE001 - as in log
            self._drop(gaps.BAD_REWIND, 1)
            _warn(f"rewind({shown(step)}): the run won't be COMPLETE, as this is no whole number from 0: give the step")
            return
        self._last_step = None
        if at != NEXT:
            self._steps.rewind(at)
        self._queue_kept()
        self._queue.extend((0.0, at, REWIND))

    def finish(self, status: Any = "COMPLETE", /, *others: Any, **unknown: Any) -> None:
        """End the recording, and wait until everything is written, for at most 30 seconds, and sent, for at most 10.

        status: COMPLETE, INFEASIBLE if the training diverged, or INCOMPLETE. Measurements that were lost, and rewinds
        that nobody announced, turn COMPLETE into INCOMPLETE, and a process that ends without this leaves the run
        INCOMPLETE. Only the first call counts.
        """
        if not self._is_recording:
            return
        status = unknown.pop("status", status)
        if type(unknown.get("exit_code")) is int:  # of W&B
            status = "INCOMPLETE" if unknown.pop("exit_code") else status
        self._calls.note_unknown("finish", others, unknown)
        if not isinstance(status, str) or str.__str__(status) not in _STATUSES:
            _warn(f"finish({shown(status)}) of the run {self.name}: stored as INCOMPLETE; give {', '.join(_STATUSES)}")
            status = "INCOMPLETE"
        self._status = next(each for each in _STATUSES if each == str.__str__(status))
        self._stop()
        assert self._writer is not None
        trouble = self._writer.trouble or ("the disk was too slow" if self._thread.is_alive() else "")
        missing = stated([*self._gaps.rows(), *self._writer.gaps.rows()])
        if trouble or missing:
            _warn(f"the run {self.name} isn't recorded whole: {'; '.join(filter(None, (trouble, missing)))}")
        if self.n_left_out:
            names = stated_names([*self._left_out.rows(), *self._writer.left_out.rows()])
            _warn(f"of the run {self.name}, {self.n_left_out:,} values that are no measurements are left out: {names}")
        unsent = self._sender.wait() if self._sender is not None else ""
        if unsent:
            _warn(f"the run {self.name} is recorded, but {unsent}; 'losslake push' sends it later")

    def __enter__(self) -> Run:
        """Return the run."""
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        """Finish: COMPLETE, or INCOMPLETE after an error."""
        self.finish("COMPLETE" if kind is None else "INCOMPLETE")

    def _numbers(self, values: Mapping[Any, Any], step: int) -> dict[Any, Any]:
        """Return the values that are numbers, as they are now; count the others."""
        return numbers_of(
            values,
            lambda name, kind: self._leave_out(name, kind, step),
            lambda reason: self._drop(reason, 1, step),
        )

    def _leave_out(self, name: object, kind: str, *steps: int) -> None:
        """Count a value that is no measurement, and warn of the first one of its name."""
        if self._left_out.add(shown_name(name), kind, *steps):
            at = f" at step {steps[0]:,}" if steps else ""
            _warn(f"{shown_name(name)}{at} is no number ({kind}): left out, as all such values, and counted")

    def _lose_step(self, values: Any, step: Any, elapsed: float) -> None:
        """Count the values of a call whose step is none, and warn of the first one."""
        names = [shown_name(name) for name in itertools.islice(values, 3)] if isinstance(values, Mapping) else []
        is_first = not self._gaps.has(gaps.BAD_STEP)
        self._drop(gaps.BAD_STEP, max(1, len(values)) if isinstance(values, Mapping) else 1)
        if is_first:
            _warn(
                f"the step {shown(step)} isn't a whole number from 0 to 2^53 - 1: {', '.join(names)} of this call, "
                f"{elapsed:.1f} s after the start, aren't recorded, and the run won't be COMPLETE: log the number of "
                "updates so far as step"
            )

    def _lose_call(self, error: Exception) -> None:
        """Count a call whose values can't be read at all."""
        is_first = not self._gaps.has(gaps.FAILED)
        self._drop(gaps.FAILED, 1)
        if is_first:
            _warn(f"a call of log isn't recorded, and the run won't be COMPLETE: {type(error).__name__}")

    def _show_url(self) -> None:
        """Print the page of the run once, when it is known."""
        if self._sender is not None and self._sender.is_url_new():
            with suppress(Exception):  # there may be no stderr
                sys.stderr.write(f"losslake: this run is shown at {self._sender.url}\n")

    def _keep(self, call: list[Any]) -> None:
        """Keep the latest call beside the full queue, as `finish` may follow it, and drop those kept before.

        A handler of a signal may interrupt this, log and finish: whoever takes a call out counts or queues it.
        """
        number = next(self._numbers_of_kept)
        self._kept[number] = call
        for earlier in [other for other in tuple(self._kept) if other < number]:
            dropped = self._kept.pop(earlier, None)
            if dropped is not None:
                self._drop(gaps.FULL_QUEUE, dropped[2], max(dropped[1], ~dropped[1]))

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
        self._is_recording = False
        self._queue_kept()
        self._ended.set()
        self._thread.join(SECONDS_TO_FINISH)
        _RUNNING.discard(self)

    def _abandon(self) -> None:
        """Stop in a forked child, whose parent goes on recording."""
        self._spool, self._is_recording = None, False

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
        left_out = self._left_out.rows()
        return {**end, "n_dropped": self._gaps.count, "gaps": self._gaps.rows(), "left_out": left_out}


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
