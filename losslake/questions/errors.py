"""What can be wrong with a question; the command line prints these as a line, the service as a problem document."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from losslake_schema.errors import LossLakeError

MOST_NEAR_MATCHES = 5
_LEAST_LIKENESS = 0.0


class UnknownName(LossLakeError):
    """The release has no workload, study, trial or metric of that name, or the lake no release of that number."""

    def __init__(self, what: str, name: str, near_matches: Sequence[str], where: str) -> None:
        """
        Args:
            what: workload, study, trial, metric or release.
            near_matches: what may have been meant, likeliest first.
            where: what was searched, for the message.
        """
        advice = f"did you mean {' or '.join(near_matches)}?" if near_matches else f"{where} has none at all"
        super().__init__(f"{where} has no {what} '{name}': {advice}")
        self.what = what
        self.near_matches = tuple(near_matches)


class BadParameter(LossLakeError):
    """A parameter of a question has a value that can't be answered."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names most like `name`, likeliest first."""
    return difflib.get_close_matches(name, list(known), MOST_NEAR_MATCHES, _LEAST_LIKENESS)


def near_numbers(number: int, known: Iterable[int]) -> list[int]:
    """The known numbers nearest to `number`, nearest first."""
    return sorted(known, key=lambda other: (abs(other - number), other))[:MOST_NEAR_MATCHES]
