"""Measurements of a run that are lost, and values that are no numbers and were left out."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

FULL_QUEUE = "the queue was full"
NOT_A_NUMBER = "not a number"
TOO_MANY_NAMES = "beyond 10,000 different names of metrics"
BAD_STEP = "not a step: a whole number from 0 to 2^53 - 1"
BAD_REWIND = "rewind() to what isn't a step"
FAILED = "an error in log()"
OUT_OF_RANGE = "beyond the range of float64"
TOO_MANY_REWINDS = "too many steps below earlier ones without rewind()"
REMOVED = "the file was removed"
_MOST_ROWS = 50
_MOST_SHOWN = 10
_OTHER = "other names"


class Gaps:
    """The number of measurements that are missing by reason, with the first and last of their steps, if known."""

    def __init__(self) -> None:
        self._gaps: dict[str, tuple[int, int | None, int | None]] = {}

    def add(self, reason: str, count: int, *steps: int) -> None:
        """Count measurements that are missing at these steps."""
        n_before, first, last = self._gaps.get(reason, (0, None, None))
        if steps:
            first, last = (
                min(steps if first is None else (*steps, first)),
                max(steps if last is None else (*steps, last)),
            )
        self._gaps[reason] = n_before + count, first, last

    def has(self, reason: str) -> bool:
        """Return True if measurements are missing for a reason."""
        return reason in self._gaps

    @property
    def count(self) -> int:
        """The number of measurements that are missing."""
        return sum(count for count, _, _ in list(self._gaps.values()))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each reason, as end.json has them."""
        return [
            {"reason": reason, "n": n, "first_step": first, "last_step": last}
            for reason, (n, first, last) in list(self._gaps.items())
            if n
        ]


class LeftOut:
    """Values that are no measurements, by the name under which they were logged: the run is complete without them.

    Threads of the training and the writer's count in it, and handlers of signals, which may interrupt it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._gaps = Gaps()
        self._kinds: dict[str, str] = {}

    def add(self, name: str, kind: str, *steps: int, count: int = 1) -> bool:
        """Count values; return True if they are the first of their name. Of names beyond fifty, only a sum is kept."""
        with self._lock:
            if name not in self._kinds and len(self._kinds) >= _MOST_ROWS - 1:
                name, kind = _OTHER, "of several kinds"
            is_new = name not in self._kinds
            self._kinds.setdefault(name, kind)
            self._gaps.add(name, count, *steps)
            return is_new

    @property
    def count(self) -> int:
        """The number of values."""
        return self._gaps.count

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each name, as end.json has them."""
        return [
            {"name": row.pop("reason"), "kind": self._kinds.get(name, ""), **row}
            for row in self._gaps.rows()
            for name in [row["reason"]]
        ]


def stated(rows: Iterable[dict[str, Any]]) -> str:
    """Return the gaps as one line for a message."""
    return "; ".join(
        f"{row['n']:,} measurements ({row['reason']}"
        + (f", steps {row['first_step']:,} to {row['last_step']:,})" if row["first_step"] is not None else ")")
        for row in rows
    )


def stated_names(rows: Iterable[dict[str, Any]]) -> str:
    """Return what was left out as one line for a message."""
    listed = [f"{row['n']:,} of {row['name']} ({row['kind']})" for row in rows]
    more = f", and {len(listed) - _MOST_SHOWN:,} more names" if len(listed) > _MOST_SHOWN else ""
    return ", ".join(listed[:_MOST_SHOWN]) + more
