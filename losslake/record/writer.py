"""The thread that empties a run's queue into its files, and never holds up the thread that trains.

Python runs one thread at a time. A thread that waits to run asks the other one to stop only after 5 ms
(`sys.getswitchinterval`), so this one stops by itself after every tenth of a millisecond of work. Writing, flushing and
hashing of files run beside the training.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from losslake.record import gaps
from losslake.record.columns import Column, Columns, Renamed, is_usable
from losslake.record.ends import with_earlier
from losslake.record.gaps import Gaps, LeftOut
from losslake.record.layout import CALLS, ELAPSED, LARGEST_STEP, STEP, SYSTEM
from losslake.record.numbers import json_number
from losslake.record.other_counters import OtherCounters
from losslake.record.spool import SegmentRemoved, Spool, Superseded
from losslake.record.values import kind_of, shown_name

SECONDS_TO_FINISH = 30.0
MOST_NAMES = 10_000  # of metrics that a log can have
MOST_ASSUMED_REWINDS = 1_000
_SECONDS_BETWEEN_WRITES = 0.1
_SECONDS_BETWEEN_TRIES = 0.25
# Seconds of work between two pauses, and where much is queued. Metrics until the clock is looked at.
_WORK, _MORE_WORK = 0.0001, 0.0002
_MUCH = 200_000
_PIECE = 32
_PAUSE = 0.0001
_LARGEST_WRITE = 1 << 16
# What log puts into the queue: seconds, step, number of metrics, their names, their values; or seconds, step, REWIND.
# A step that was counted is ~step, which is negative; one of a rewind is NEXT for the step that is logged next.
# Only numbers and texts, as the garbage collector looks through every tuple and dictionary again and again: with
# 200,000 of them, a call of log took 40 ms now and then.
Queue = deque[Any]
REWIND = -1
NEXT = -1


class _Line(NamedTuple):
    """A line of measurements. is_rewind: it is below an earlier step, or, without measurements, rewind was called."""

    step: int
    text: bytes
    n: int
    is_rewind: bool


class Writer:
    """Writes the entries of a queue. Only its thread calls its methods, and writes its attributes.

    gaps: measurements that it couldn't write. left_out: values that are no measurements. trouble: why files can't be
    written now; empty if they can. assumed_rewinds, began_again: see docs/recording.md. while_waiting: is called now
    and then while the run is recorded.
    """

    def __init__(
        self,
        spool: Spool,
        queue: Queue,
        is_resumed: bool,
        ended: threading.Event,
        metrics: Mapping[str, Renamed],
        while_waiting: Callable[[], object] = lambda: None,
    ) -> None:
        self.gaps = Gaps()
        self.left_out = LeftOut()
        self.trouble = ""
        self.assumed_rewinds = 0
        self.began_again = 0
        self._spool = spool
        self._queue = queue
        self._ended = ended
        self._is_lost = self._is_superseded = False
        self._held: _Line | None = None
        self._text: list[bytes] = []
        self._in_text = self._in_segment = (0, 0, 0)  # measurements, first step, last step
        # Whether the next line begins an attempt, and from which step on it replaces others: by default its own.
        self._begins, self._replaces = True, is_resumed
        self._from_step: int | None = None
        self._replaced_from: int | None = None  # the first step that any attempt of this process replaces
        self._columns: dict[str, Column | None] = {}
        self._kinds = Columns(metrics, self._warn_of)
        self._warned_too_large: set[str] = set()
        self._others = OtherCounters(self._warn_of)
        self._counts_calls = False
        self._is_announced = False  # the next line is at the step of a rewind
        self._while_waiting = while_waiting
        self._last: dict[str, int] = {}
        self._lowest = 0 if is_resumed else LARGEST_STEP  # step of the run, as far as it is known
        self._warn: Callable[[str], None] = lambda _: None
        self._worked_since = time.perf_counter()

    def run(self, end: Callable[[], Mapping[str, Any] | None], warn: Callable[[str], None]) -> None:
        """Write what is queued until the run ends, and then how it ended.

        end: returns the facts of the end without gaps and segments; None if the run wasn't finished.
        """
        self._warn = warn
        while not self._ended.wait(_SECONDS_BETWEEN_TRIES if self.trouble else _SECONDS_BETWEEN_WRITES):
            self._spool.beat_if_due()
            self._while_waiting()
            was_well = not self.trouble
            self._write_all()
            if self.trouble and was_well:
                warn(f"measurements wait, since they can't be written: {self.trouble}")
        until = time.monotonic() + SECONDS_TO_FINISH
        while not (self._write_all() and self._is_done(lambda: self._end(end()))) and time.monotonic() < until:
            if self._is_lost or self._is_superseded:
                return
            time.sleep(_SECONDS_BETWEEN_TRIES)

    def _end(self, facts: Mapping[str, Any] | None) -> None:
        """Write how the run ended. Raises OSError."""
        self._spool.close()
        if facts is None:
            return
        segments, missing = self._spool.digests()
        if missing and not self.gaps.count:
            self.gaps.add(gaps.REMOVED, len(missing))
        document = with_earlier(
            {
                **facts,
                "gaps": [*facts["gaps"], *self.gaps.rows()],
                "left_out": [*facts["left_out"], *self.left_out.rows()],
                "assumed_rewinds": self.assumed_rewinds,
                "began_again": self.began_again,
                "other_counters": self._others.names(),
                "steps_counted": "calls" if self._counts_calls else None,
            },
            self._spool.earlier,
            self._replaced_from,
        )
        is_lost = document["n_dropped"] or document["assumed_rewinds"] or document["other_counters"]
        if is_lost and document["status"] == "COMPLETE":
            document["status"] = "INCOMPLETE"
        # began_again is stated with assumed_rewinds, also if it is 0.
        needed = {"status", "ended_at", "n_dropped"} | ({"began_again"} if document["assumed_rewinds"] else set())
        document = {name: value for name, value in document.items() if value or name in needed}
        self._spool.end({**document, "segments": segments})

    def _write_all(self) -> bool:
        """Write everything that is queued; return False if it can't be written now: it is tried again later."""
        while self._text or self._held or self._queue:
            if not self._text:
                self._take()
            if self._text and not self._is_done(self._append):
                return False
        return self._is_done(self._spool.sync_if_due)

    def _append(self) -> None:
        """Write the lines that were taken. Raises OSError."""
        if self._is_lost:
            self.gaps.add(gaps.REMOVED, *self._in_text)
        else:
            if self._begins:
                first = self._in_text[1]
                at = None if not self._replaces else first if self._from_step is None else self._from_step
                if at is not None:
                    self._replaced_from = at if self._replaced_from is None else min(at, self._replaced_from)
                self._spool.begin_attempt(at)
                self._begins, self._from_step = False, None
            is_new = self._spool.append(b"".join(self._text))
            self._in_segment = self._in_text if is_new else _together(self._in_segment, self._in_text)
        self._text, self._in_text = [], (0, 0, 0)

    def _take(self) -> None:
        """Take lines from the queue, up to a rewind, after which the next line begins an attempt."""
        size = 0
        while size < _LARGEST_WRITE:
            line = self._held or self._next_line()
            self._held = None
            if line is None:
                return
            if line.is_rewind and self._text:
                self._held = line
                return
            if line.is_rewind:
                self._rewind(line.step)
            if line.n:
                size += len(line.text)
                self._text.append(line.text)
                self._in_text = _together(self._in_text, (line.n, line.step, line.step))

    def _next_line(self) -> _Line | None:
        """Return the line of the queue's next call; None if the queue is empty."""
        if not self._queue:
            return None
        take = self._queue.popleft
        elapsed, step, n = take(), take(), take()
        if n == REWIND:
            self._is_announced |= step == NEXT
            return _Line(max(step, 0), b"", 0, step != NEXT)
        line = self._line(elapsed, step, n)
        if line.n and self._is_announced:
            self._is_announced, line = False, line._replace(is_rewind=True)
        elif line.is_rewind and line.n:
            if self.assumed_rewinds >= MOST_ASSUMED_REWINDS:
                self.gaps.add(gaps.TOO_MANY_REWINDS, line.n, line.step)
                line = _Line(line.step, b"", 0, False)
            else:
                self._assume_rewind(line.step)
        if line.n:
            self._lowest = min(self._lowest, line.step)
        return line

    def _assume_rewind(self, step: int) -> None:
        """Count a rewind that nobody announced, and warn of the first one, and of the first to where the run began."""
        advice = "log the number of updates so far as step, in all epochs"
        self.assumed_rewinds += 1
        if step <= self._lowest:
            self.began_again += 1
            if self.began_again == 1:
                self._warn(
                    f"step {step:,} is where the run began, so this replaces all that is recorded, and the run won't "
                    f"be COMPLETE: {advice}; if the training started over, call run.rewind({step}) before"
                )
        elif self.assumed_rewinds == 1:
            self._warn(
                f"step {step:,} is below earlier ones, so this replaces what is recorded from there on, and the run "
                f"won't be COMPLETE: {advice}; if the training went back, call run.rewind({step}) before"
            )

    def _line(self, elapsed: float, step: int, n: int) -> _Line:
        """Return the line of the next n measurements in the queue; count those that can't be recorded."""
        take, columns, last = self._queue.popleft, self._columns, self._last
        names = [take() for _ in range(n)]
        is_counted, step = step < 0, step if step >= 0 else ~step
        texts = [f'{{"{STEP}":{step},"{ELAPSED}":{round(elapsed, 6)!r}']
        if is_counted:
            texts[0] += f',"{CALLS}":{step}'
            self._counts_calls = True
        n_before, is_below = len(texts), False
        for name in names:
            value = take()
            column = columns.get(name, ...) if type(name) is str else self._other_column(name, step)
            if column is ...:
                column = self._new_column(name, step)
            if isinstance(value, int):
                value = _as_float(value)
            if column is None or value is None:
                self._count_unwritten(name, step, is_name=column is None)
                continue
            if not column.key:
                continue
            if column.scale != 1:
                value = column.scaled(value)
            if value > column.largest and isfinite(value) and name not in self._warned_too_large:
                self._warned_too_large.add(name)
                self._kinds.note_too_large(name, column, value, step)
            texts.append(f"{column.key}{value!r}" if isfinite(value) else f'{column.key}"{json_number(value)}"')
            if last.get(name, -1) > step:
                # A sample may come late, after a rewind.
                is_below = is_below or not name.startswith(SYSTEM)
            else:
                last[name] = step
            if len(texts) % _PIECE == 0:
                self._pause()
        self._others.add(names, step)
        self._pause()
        return _Line(step, (",".join(texts) + "}\n").encode(), len(texts) - n_before, is_below)

    def _new_column(self, name: str, step: int) -> Column | None:
        """Return the column of a new name; None if it can't be that of a metric."""
        if not is_usable(name) or len(self._columns) >= MOST_NAMES:
            return None
        column = self._columns[name] = self._kinds.column(name)
        return column

    def _other_column(self, name: object, step: int) -> Column | None:
        """Return the column of a name that isn't simply a text; None if it isn't one at all."""
        if not isinstance(name, str):
            return None
        plain = str.__str__(name)
        return self._columns[plain] if plain in self._columns else self._new_column(plain, step)

    def _count_unwritten(self, name: object, step: int, is_name: bool) -> None:
        """Count a value that isn't recorded: its name can't be one, is one too many, or it is no float64."""
        if not is_name:
            self.gaps.add(gaps.OUT_OF_RANGE, 1, step)
        elif isinstance(name, str) and is_usable(name):
            self.gaps.add(gaps.TOO_MANY_NAMES, 1, step)
        elif self.left_out.add(shown_name(name), "a name that no metric can have", step):
            what = "a word of the layout" if isinstance(name, str) and name else f"a name of kind {kind_of(name)}"
            advice = "log(values, step=…) takes it" if name == STEP else "give the metric another name"
            self._warn(f"{shown_name(name)!r} isn't recorded, as it is {what}: {advice}")

    def _warn_of(self, message: str) -> None:
        """Warn, once the run has begun to be written."""
        self._warn(message)

    def _rewind(self, step: int) -> None:
        """Let the next line begin an attempt."""
        self._begins = self._replaces = True
        self._from_step = step if self._from_step is None else min(step, self._from_step)
        items = iter(self._last.items())
        last: dict[str, int] = {}
        while piece := list(islice(items, _PIECE)):
            last |= {name: min(at, step) for name, at in piece}
            self._pause()
        self._last = last
        self._others.rewind(step)

    def _pause(self) -> None:
        """Let other threads run after a piece of work, unless the run has ended: then the training waits for this."""
        work = _WORK if len(self._queue) < _MUCH else _MORE_WORK
        if time.perf_counter() - self._worked_since > work and not self._ended.is_set():
            time.sleep(_PAUSE)
            self._worked_since = time.perf_counter()

    def _is_done(self, work: Callable[[], None]) -> bool:
        """Return True if the work succeeded; otherwise store the reason in `trouble`."""
        try:
            work()
        except SegmentRemoved as error:
            self.gaps.add(gaps.REMOVED, *self._in_segment)
            self._in_segment, self._is_lost = (0, 0, 0), error.is_run
            self.trouble = str(error)
            return False
        except OSError as error:
            self.trouble, self._is_superseded = str(error), isinstance(error, Superseded)
            return False
        self.trouble = "" if not self._is_lost else self.trouble
        return True


def _together(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the number of measurements and the first and last step of two pieces."""
    if not one[0]:
        return other
    return one[0] + other[0], min(one[1], other[1]), max(one[2], other[2])


def _as_float(value: int) -> float | None:
    """Return an integer as the nearest float64; None if it is beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return None
