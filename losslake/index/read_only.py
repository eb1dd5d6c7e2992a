"""Statements that only read: a release is opened read-only, but DuckDB could still write files."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from losslake_schema.errors import LossLakeError

_WRITING_STATEMENTS = {"COPY", "COPY_DATABASE", "EXPORT", "ATTACH"}
_NESTING_STATEMENTS = {"EXPLAIN", "PREPARE", "PRAGMA", "CALL", "SET", "VARIABLE_SET", "MULTI"}
_WRITING_WORDS = {
    "copy", "export", "import", "attach",
    "profiling_output", "profile_output", "log_query_path", "enable_logging", "logging_storage",
}  # fmt: skip


def check_read_only(statement: duckdb.Statement) -> None:
    """Raise LossLakeError for a statement that could write a file, also inside EXPLAIN, PREPARE and similar ones."""
    kind = statement.type.name
    if kind in _WRITING_STATEMENTS or (
        kind in _NESTING_STATEMENTS and _WRITING_WORDS & set(_bare_words(statement.query))
    ):
        raise LossLakeError(
            "statements such as COPY, EXPORT and ATTACH are disabled, since they can write files: save the result"
        )


def gives_only_rows(statement: duckdb.Statement) -> bool:
    """Return True for a statement that only gives rows; a PIVOT over all values is several statements."""
    is_pivot = statement.type == duckdb.StatementType.MULTI
    return is_pivot or statement.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT]


def _bare_words(text: str) -> Iterator[str]:
    """Yield the words of a statement outside of strings and comments, in lower case."""
    tokens = duckdb.tokenize(text)
    ends = [start for start, _ in tokens[1:]] + [len(text.encode())]
    data = text.encode()
    for (start, kind), end in zip(tokens, ends, strict=True):
        if kind in (duckdb.token_type.keyword, duckdb.token_type.identifier):
            yield data[start:end].decode(errors="replace").strip().strip('"').lower()
