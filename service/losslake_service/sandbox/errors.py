"""The limits of SQL statements, and the errors of statements without a result."""

from __future__ import annotations

from dataclasses import dataclass

from losslake_schema.errors import LossLakeError


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """The limits of SQL over HTTP; the defaults suit a public service on a small machine."""

    # Maximum seconds per statement.
    seconds: float = 10
    # Maximum MB of memory per statement, in addition to that of an idle worker.
    memory_mb: int = 1024
    # Maximum MB of a result in Arrow; a larger one is truncated.
    result_mb: int = 64
    # Maximum rows of a result; a longer one is truncated.
    result_rows: int = 1_000_000
    # Statements that run concurrently.
    workers: int = 2
    # Statements that may wait in the queue.
    waiting: int = 16
    # Maximum seconds in the queue.
    waiting_seconds: float = 10
    # Seconds per minute that the statements of one client may run; 0: unlimited.
    client_seconds: float = 30
    # Results that may be sent to clients concurrently, each in a file of at most `result_mb`.
    open_results: int = 64
    # Maximum bytes of a statement.
    statement_bytes: int = 100_000
    # Maximum bytes of the parameters as JSON.
    parameter_bytes: int = 1_000_000
    # Threads per statement.
    threads: int = 2
    # A worker is replaced after this number of statements.
    statements_per_worker: int = 5000


NOT_ALLOWED, ERROR, TIME, MEMORY = "sql-not-allowed", "sql-error", "sql-time-limit", "sql-memory-limit"
BUSY, CLIENT, UNAVAILABLE = "sql-busy", "sql-client-limit", "sql-unavailable"
INTERNAL = "sql-internal-error"

# HTTP status and title by kind.
KINDS = {
    NOT_ALLOWED: (422, "The statement is not allowed"),
    ERROR: (422, "The statement has an error"),
    TIME: (422, "The statement took too long"),
    MEMORY: (422, "The statement needed too much memory"),
    BUSY: (503, "Too many statements at once"),
    CLIENT: (429, "Too much SQL from your address"),
    UNAVAILABLE: (503, "SQL is not available now"),
    INTERNAL: (500, "The service failed to run the statement"),
}

ADVICE = "reduce the query, or download the release and run it on your own machine"


@dataclass(eq=False)
class SqlProblem(LossLakeError):
    """A statement was refused, failed, or exceeded a limit."""

    # One of KINDS.
    kind: str
    # One line: what is wrong and what to do, with the name and value of an exceeded limit.
    detail: str
    # The line in the statement, from 1.
    line: int | None = None
    # The column in that line, from 1.
    column: int | None = None
    # Seconds to wait before a retry.
    retry_after: int | None = None

    def __str__(self) -> str:
        return self.detail


def too_slow(limits: SqlLimits) -> SqlProblem:
    """Return the error for an exceeded time limit."""
    return SqlProblem(TIME, f"the statement ran longer than {limits.seconds:g} s, the limit sql_seconds: {ADVICE}")


def too_large(limits: SqlLimits) -> SqlProblem:
    """Return the error for an exceeded memory limit."""
    limit = f"{limits.memory_mb} MB of memory, the limit sql_memory_mb"
    return SqlProblem(MEMORY, f"the statement needs more than {limit}: {ADVICE}")


def crashed(limits: SqlLimits) -> SqlProblem:
    """Return the error for a worker that ended because it lacked memory."""
    why = f"most likely because it needs more than {limits.memory_mb} MB of memory, the limit sql_memory_mb"
    return SqlProblem(MEMORY, f"the statement crashed its worker, {why}: {ADVICE}")


def internal() -> SqlProblem:
    """Return the error for a worker that failed although no limit was reached; the log has the details."""
    return SqlProblem(INTERNAL, "the service failed to run the statement; this has been logged: please report it")


def busy(limits: SqlLimits, why: str, kind: str = BUSY) -> SqlProblem:
    """Return the error for a full queue."""
    seconds = max(1, round(limits.seconds / 2))
    return SqlProblem(kind, f"{why}: try again in {seconds} s", retry_after=seconds)


def unavailable(why: str = "") -> SqlProblem:
    """Return the error for a service without workers; the log has the details. why: without paths of this machine."""
    reason = f" ({why})" if why else ""
    detail = f"the service can't run SQL on this release now{reason}: tell the operator"
    return SqlProblem(UNAVAILABLE, detail, retry_after=60)
