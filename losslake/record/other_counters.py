"""Metrics whose steps count something else than those of the others, such as a validation loss by epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from losslake.record.values import shown_name

_MOST_NAMES = 100


class _Behind(NamedTuple):
    """The last value of a metric that was logged below the run's highest step. n: values; n_by_one: as below."""

    step: int
    highest: int
    n: int
    n_by_one: int


class OtherCounters:
    """Finds metrics whose step rises by one while that of others rises by more, and stays below it.

    So it is if a validation metric is logged with the number of the epoch, beside a loss with that of the update. An
    evaluation of checkpoints that runs behind the training logs their steps, which rise as much as the others.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._highest = -1
        self._behind: dict[object, _Behind] = {}

    def add(self, names: Sequence[object], step: int) -> None:
        """Add the names of metrics that are logged at a step."""
        if step >= self._highest:
            self._highest = step
            return
        for name in names[:_MOST_NAMES]:
            if type(name) is not str:
                continue
            before = self._behind.get(name)
            if before is None:
                self._behind[name] = _Behind(step, self._highest, 1, 0)
                continue
            is_by_one = step == before.step + 1 and self._highest > before.highest + 1
            after = _Behind(step, self._highest, before.n + 1, before.n_by_one + is_by_one)
            self._behind[name] = after
            if is_by_one and after.n == 2:
                self._warn(
                    f"{shown_name(name)} is at steps {before.step:,} and {step:,}, while other metrics are at "
                    f"{before.highest:,} and {self._highest:,}: if its step counts epochs, the run won't be COMPLETE; "
                    "log the number of updates so far as step"
                )

    def rewind(self, step: int) -> None:
        """Go back to a step."""
        self._highest = min(self._highest, step)
        self._behind = {name: each._replace(highest=min(each.highest, step)) for name, each in self._behind.items()}

    def names(self) -> list[str]:
        """Return the metrics whose every value was one step after the one before, as those of an epoch are."""
        found = (name for name, each in self._behind.items() if each.n > 1 and each.n_by_one == each.n - 1)
        return sorted(map(shown_name, found))[:_MOST_NAMES]
