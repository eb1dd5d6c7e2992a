"""What one stranger's statement may take, how many of them there may be, and why a statement has no result."""

from __future__ import annotations

from dataclasses import dataclass

from losslake_schema.errors import LossLakeError


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """The limits of SQL over HTTP; the defaults suit a public service on a small machine."""

    seconds: float = 10
    """Most seconds that a statement may run."""
    memory_mb: int = 1024
    """Most MB of memory that a statement may take, beside what an idle worker has."""
    result_mb: int = 64
    """Most MB of a result, as Arrow has it; a longer one is cut."""
    result_rows: int = 1_000_000
    """Most rows of a result; a longer one is cut."""
    workers: int = 2
    """How many statements run at once."""
    waiting: int = 16
    """How many more may wait for their turn."""
    waiting_seconds: float = 10
    """Most seconds that a statement waits for its turn."""
    open_results: int = 64
    """How many results may be on their way to clients at once, each in a file of at most `result_mb`."""
    statement_bytes: int = 100_000
    """Most bytes of a statement."""
    parameter_bytes: int = 1_000_000
    """Most bytes of its parameters, as JSON."""
    threads: int = 2
    """Threads of one statement."""
    statements_per_worker: int = 500
    """After so many statements a worker is replaced."""


NOT_ALLOWED, ERROR, TIME, MEMORY = "sql-not-allowed", "sql-error", "sql-time-limit", "sql-memory-limit"
BUSY, UNAVAILABLE = "sql-busy", "sql-unavailable"

KINDS = {
    NOT_ALLOWED: (422, "The statement is not allowed"),
    ERROR: (422, "The statement has an error"),
    TIME: (422, "The statement took too long"),
    MEMORY: (422, "The statement took too much memory"),
    BUSY: (503, "Too many statements at once"),
    UNAVAILABLE: (503, "SQL can't be run now"),
}
"""By kind, the HTTP status and the title."""

_INSTEAD = "ask for less, or download the release and ask it on your own machine"


@dataclass(eq=False)
class SqlProblem(LossLakeError):
    """A statement was refused, failed, or met a limit."""

    kind: str
    """One of KINDS."""
    detail: str
    """One line: what is wrong and what to do; it names the limit that was met and its value."""
    line: int | None = None
    """Where in the statement, from 1."""
    column: int | None = None
    """Where in that line, from 1."""
    retry_after: int | None = None
    """In how many seconds to ask again."""

    def __str__(self) -> str:
        return self.detail


class AskerLeft(Exception):
    """The client closed its connection before its statement was done."""


def too_slow(limits: SqlLimits) -> SqlProblem:
    """The statement ran out of time."""
    return SqlProblem(TIME, f"the statement ran longer than {limits.seconds:g} s, the limit of sql_seconds: {_INSTEAD}")


def too_large(limits: SqlLimits) -> SqlProblem:
    """The statement ran out of memory."""
    limit = f"{limits.memory_mb} MB of memory, the limit of sql_memory_mb"
    return SqlProblem(MEMORY, f"the statement needs more than {limit}: {_INSTEAD}")


def broken(limits: SqlLimits) -> SqlProblem:
    """Its worker died; want of memory shows as an abort, a stack that can't grow, or the system's own killer."""
    why = f"most likely it needs more than {limits.memory_mb} MB of memory, the limit of sql_memory_mb"
    return SqlProblem(MEMORY, f"the statement broke its worker, {why}: {_INSTEAD}")


def busy(limits: SqlLimits, why: str) -> SqlProblem:
    """There are too many statements already."""
    seconds = max(1, round(limits.seconds / 2))
    return SqlProblem(BUSY, f"{why}: ask again in {seconds} s", retry_after=seconds)


def unavailable() -> SqlProblem:
    """No worker could be had; the log says why."""
    return SqlProblem(UNAVAILABLE, "the service can't run SQL on this release now: ask its operator", retry_after=60)
