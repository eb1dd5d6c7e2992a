"""No statement may make a worker for SQL fail unless a limit explains it: a test in which one did so fails.

That also holds for services in processes of their own, whose standard error is looked through when they have ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

import pytest

# By name, as most tests load no service.
_LOGGER = logging.getLogger("losslake_service.sandbox.workers")


class _Failures(logging.Handler):
    """A handler that reports the messages on failed workers."""

    def __init__(self, report: Callable[[str], object]) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        for message in failures_in([record.getMessage()]):
            self._report(message)


@pytest.fixture(autouse=True)
def failed_workers() -> Iterator[list[str]]:
    """The messages on workers that failed in this test; a test that expects some clears them."""
    messages: list[str] = []
    handler = _Failures(messages.append)
    _LOGGER.addHandler(handler)
    try:
        yield messages
    finally:
        _LOGGER.removeHandler(handler)
    assert not messages, messages


def write_failures(write: Callable[[str], object]) -> None:
    """Write the messages on failed workers of this process, also where it logs nothing else."""
    _LOGGER.addHandler(_Failures(lambda message: write(f"{message}\n")))


def failures_in(lines: Iterable[str]) -> list[str]:
    """Return the lines of a log that say that a worker failed."""
    from losslake_service.sandbox.workers import FAILED

    return [line for line in lines if FAILED in line]
