"""SQL statements, taken apart and checked: none may write a file, so none can harm the lake by accident.

The database is opened read-only, but DuckDB would still write files beside it, the lake's own data files included.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from losslake_schema.errors import LossLakeError

_WRITES_FILES = {"COPY", "COPY_DATABASE", "EXPORT", "ATTACH"}
_HOLDS_ANOTHER = {"EXPLAIN", "PREPARE", "PRAGMA", "CALL", "SET", "VARIABLE_SET", "MULTI"}
_WORDS = {
    "copy", "export", "import", "attach",
    "profiling_output", "profile_output", "log_query_path", "enable_logging", "logging_storage",
}  # fmt: skip


def statements_of(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    """The statements of a text; raises LossLakeError if it is no SQL."""
    with one_line_errors():
        return connection.extract_statements(text)


def check_writes_no_file(statement: duckdb.Statement) -> None:
    """Raise LossLakeError for a statement that could write a file, also from within EXPLAIN, PREPARE and the like."""
    kind = statement.type.name
    if kind in _WRITES_FILES or (kind in _HOLDS_ANOTHER and _WORDS & set(_bare_words(statement.query))):
        raise LossLakeError("COPY, EXPORT, ATTACH and their like are off, they could write into the lake: use --output")


def is_complete(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether a text can be run as it is: a dot command, or statements up to a ';' that is in no string or comment."""
    stripped = text.strip()
    if not stripped or stripped.startswith("."):
        return True
    if not stripped.endswith(";"):
        return False
    try:
        connection.extract_statements(stripped)
    except duckdb.Error as error:
        return "unterminated" not in str(error) and 'near "$' not in str(error)
    return True


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what DuckDB complains of into one line."""
    try:
        yield
    except duckdb.InterruptException:
        raise LossLakeError("stopped") from None
    except (duckdb.Error, RuntimeError, UnicodeError, OverflowError) as error:
        if "interrupted" in str(error):
            raise LossLakeError("stopped") from None
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise LossLakeError(" ".join(line for line in lines[:3] if not set(line) <= set("^ ~"))) from None


def _bare_words(text: str) -> Iterator[str]:
    """The words of a statement outside of strings and comments, in lower case."""
    tokens = duckdb.tokenize(text)
    ends = [start for start, _ in tokens[1:]] + [len(text.encode())]
    data = text.encode()
    for (start, kind), end in zip(tokens, ends, strict=True):
        if kind in (duckdb.token_type.keyword, duckdb.token_type.identifier):
            yield data[start:end].decode(errors="replace").strip().strip('"').lower()
