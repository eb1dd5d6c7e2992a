"""What the SQL shell asks: a release of a lake here, or one that a service answers for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
BATCH = 10_000


@dataclass(frozen=True)
class Rows:
    """The result of a statement: names of its columns, and its rows, many at a time, to be drawn once.

    cut: what the service says of a limit that cut the result short; None if it is whole.
    """

    names: Sequence[str]
    batches: Iterator[list[Row]]
    cut: str | None = None


@dataclass(frozen=True)
class Arrow:
    """The same as Arrow batches."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    cut: str | None = None


class Question(Protocol):
    """A statement, ready to be run; what has no result, such as SET, gives None."""

    def rows(self) -> AbstractContextManager[Rows | None]:
        """Run it for its rows."""

    def arrow(self) -> AbstractContextManager[Arrow | None]:
        """Run it for Arrow batches."""


class Session(Protocol):
    """A release that answers SQL."""

    @property
    def title(self) -> str: ...

    def questions(self, text: str) -> Sequence[Question]:
        """The statements of a text; raises LossLakeError if it is no SQL, or not allowed."""

    def is_complete(self, text: str) -> bool:
        """Whether a text can be run as it is, or goes on in the next line."""

    def carry_out(self, work: Callable[[], None], stop: Callable[[], None]) -> None:
        """Do work that runs a statement; on Ctrl-C call stop, end the statement and raise KeyboardInterrupt."""

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """Name and type of each column of a table."""

    def words(self) -> Sequence[str]:
        """Columns and quoted metrics, for completion."""


def in_a_thread(work: Callable[[], None], *ends: Callable[[], object]) -> None:
    """Do work that waits for a statement; on Ctrl-C, which the main thread hears, call what ends it, and raise."""
    with ThreadPoolExecutor(1, "query") as pool:
        running = pool.submit(work)
        try:
            running.result()
        except KeyboardInterrupt:
            for end in ends:
                end()
            raise
