"""The measurements of a run that weren't recorded: how many, why, and between which steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

FULL_QUEUE = "the queue was full"
NOT_A_NUMBER = "not a number"
BAD_NAME = "not the name of a metric: a text, not step or elapsed_s, and at most 10,000 different ones"
BAD_STEP = "not a step: a whole number from 0 to 2^53 - 1"
TOO_MANY_REWINDS = "too many steps below earlier ones without rewind()"
REMOVED = "the file was removed"


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


def stated(rows: Iterable[dict[str, Any]]) -> str:
    """Return the gaps as one line for a message."""
    return "; ".join(
        f"{row['n']:,} measurements ({row['reason']}"
        + (f", steps {row['first_step']:,} to {row['last_step']:,})" if row["first_step"] is not None else ")")
        for row in rows
    )
