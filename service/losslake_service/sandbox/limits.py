"""What one stranger's statement may take, and how many of them there may be."""

from __future__ import annotations

from dataclasses import dataclass


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
