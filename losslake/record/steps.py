"""The steps of `log`: those that are given, and those that are counted where none is given, as W&B counts them."""

from __future__ import annotations

import operator
import threading
from typing import Any, NamedTuple

from losslake.record.layout import LARGEST_STEP


def whole_step(step: Any) -> int:
    """Return a step as an integer. Raises an exception if it isn't a whole number from 0 to 2^53 - 1."""
    if isinstance(step, bool | str | bytes | bytearray):
        raise TypeError(step)
    try:
        at = operator.index(step)
    except TypeError:
        if not float(step).is_integer():
            raise ValueError(step) from None
        at = int(step)
    if not 0 <= at <= LARGEST_STEP:
        raise ValueError(at)
    return at


class StepBeside(NamedTuple):
    """A step of another logger, or that of a sample: `log` takes it, and its own count stays. is_counted: in calls."""

    at: int
    is_counted: bool = False


class StepCounter:
    """The step of the next call without one. given: the last step that was given, by any thread; None for none.

    As in W&B, a call without a step is at the last given step, or after the last counted one, and the counter goes on
    unless the call says `commit=False`; a call with a step leaves it there unless it says `commit=True`.
    per_call: the updates between two calls, None if nobody knows: then steps count calls.
    """

    def __init__(self, last_step: int | None, per_call: int | None) -> None:
        self.given: int | None = None
        self._per_call = per_call
        first = per_call or 0
        self._next = first if last_step is None else last_step + (per_call or 1)
        self._lock = threading.RLock()

    def rewind(self, step: int) -> None:
        """Go on from a step."""
        with self._lock:
            self.given, self._next = None, step

    def go_on(self, step: int) -> None:
        """Count from a given step on, which is complete."""
        with self._lock:
            self.given, self._next = None, step + (self._per_call or 1)

    def count(self, is_complete: bool) -> tuple[int, bool]:
        """Return the step of a call without one, and True if it counts calls, which may not be updates."""
        with self._lock:
            given, self.given = self.given, None
            at = self._next if given is None else given
            is_counted = given is None and self._per_call is None
            self._next = at + (self._per_call or 1) if is_complete else at
            if not is_complete and given is not None:
                self.given = given
            return min(at, LARGEST_STEP), is_counted
