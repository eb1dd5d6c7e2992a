"""Errors in questions; the command line prints them as a line, the service as a problem document."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from losslake_schema.errors import LossLakeError

MOST_NEAR_MATCHES = 5


class UnknownName(LossLakeError):
    """A workload, study, trial, metric or release that does not exist."""

    def __init__(self, what: str, name: str, near_matches: Sequence[str], where: str) -> None:
        """Say what is unknown, and what may have been meant.

        Args:
            what: workload, study, trial, metric or release.
            near_matches: what may have been meant, likeliest first.
            where: what was searched, for the message.
        """
        advice = f": did you mean {' or '.join(near_matches)}?" if near_matches else ", nor one with a similar name"
        super().__init__(f"{where} has no {what} '{name}'{advice}")
        self.what = what
        self.near_matches = tuple(near_matches)


class BadParameter(LossLakeError):
    """A parameter with an invalid value."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the names most like `name`, likeliest first."""
    return difflib.get_close_matches(name, list(names), MOST_NEAR_MATCHES, 0.0)


def near_numbers(number: int, numbers: Iterable[int]) -> list[int]:
    """Return the numbers nearest to `number`, nearest first."""
    return sorted(numbers, key=lambda other: (abs(other - number), other))[:MOST_NEAR_MATCHES]


def reason_of(fault: Mapping[str, Any]) -> str:
    """Return why pydantic refuses a value, to follow the value. fault: one of the errors of a ValidationError."""
    why = str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
    return f"{why[:1].lower()}{why[1:]}"
