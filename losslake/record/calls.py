"""The arguments of `log` as people give them who know other loggers: never an exception, and no silent loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from losslake.record.steps import StepBeside, StepCounter, whole_step
from losslake.record.values import kind_of, shown_name

# The keywords under which W&B and Trackio take the values.
_VALUES = ("values", "data", "metrics")
_NO_NAME = "(no name)"


class Call(NamedTuple):
    """The arguments of a call of `log`. elapsed: seconds since the start of the run."""

    elapsed: float
    values: Any
    others: Sequence[Any]
    step: Any
    commit: Any
    unknown: dict[str, Any]


class Calls:
    """Finds the values and the step of calls that don't have both as `log({…}, step=5)`.

    leave_out: is called with the name and the kind of what is no measurement. lose: with the values, the step and the
    seconds of a call whose step is none.
    """

    def __init__(
        self,
        steps: StepCounter,
        leave_out: Callable[[object, str], None],
        lose: Callable[[Any, Any, float], None],
        warn: Callable[[str], None],
    ) -> None:
        self._steps = steps
        self._leave_out = leave_out
        self._lose = lose
        self._warn = warn
        self._warned: set[str] = set()

    def usual(self, call: Call) -> tuple[Mapping[Any, Any], int] | None:
        """Return the values and the step, ~step if it is a count of calls; None if nothing is to be recorded."""
        call = self._completed(call)
        values = call.values
        if values is None and call.unknown:
            for name, value in call.unknown.items():
                self._leave_out(name, f"a keyword with {kind_of(value)}, and no entry of a dictionary")
            return None
        self.note_unknown("log", call.others, call.unknown)
        if not isinstance(values, Mapping):
            self.leave_out_whole(values)
            return None
        if call.step is None:
            at, is_counted = self._steps.count(_is_true(call.commit, default=True))
            if is_counted:
                self._note_counted(at)
            return values, ~at if is_counted else at
        is_beside = isinstance(call.step, StepBeside)
        try:
            at = whole_step(call.step.at if is_beside else call.step)
        except Exception:  # noqa: BLE001 - an object's own methods can raise anything
            self._lose(values, call.step, call.elapsed)
            return None
        if is_beside:
            return values, ~at if call.step.is_counted else at
        if _is_true(call.commit, default=False):
            self._steps.go_on(at)
        else:
            self._steps.given = at
        return values, at

    def leave_out_whole(self, values: object) -> None:
        """Count a call whose values aren't those of metrics."""
        self._leave_out(_NO_NAME, f"{kind_of(values)}, and no dictionary of metrics")

    def note_unknown(self, method: str, others: Sequence[Any], unknown: Mapping[str, Any]) -> None:
        """Warn, once for each method, of arguments that it doesn't have."""
        if not (others or unknown) or method in self._warned:
            return
        self._warned.add(method)
        names = [shown_name(name) for name in unknown] + [f"{len(others)} more by position"] * bool(others)
        self._warn(f"{method}() ignores arguments that it doesn't have: {', '.join(names[:10])}")

    def _completed(self, call: Call) -> Call:
        """Return a call with what was given by position, and the values under another keyword, in their places."""
        others = list(call.others)
        if others and call.step is None:
            call = call._replace(step=others.pop(0))
        if others and call.commit is None:
            call = call._replace(commit=others.pop(0))
        keyword = next((name for name in _VALUES if isinstance(call.unknown.get(name), Mapping)), None)
        unknown = dict(call.unknown)
        if call.values is None and keyword is not None:
            call = call._replace(values=unknown.pop(keyword))
        return call._replace(others=others, unknown=unknown)

    def _note_counted(self, at: int) -> None:
        """Warn of the first step that is counted."""
        if "counted" in self._warned:
            return
        self._warned.add("counted")
        self._warn(
            f"log() without a step: {at:,} is a count of calls of log, and the ingest asks what it counts, as batch "
            "sizes are compared by updates: give step=, the number of updates so far, or start the run with "
            "updates_per_log=1 if there is one call after each update"
        )


def _is_true(value: Any, default: bool) -> bool:
    """Return the truth of a value, the default for None and for what has none."""
    try:
        return default if value is None else bool(value)
    except Exception:  # noqa: BLE001 - an object's own bool() can raise anything
        return default
