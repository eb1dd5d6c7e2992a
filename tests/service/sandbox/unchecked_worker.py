"""A worker that runs every statement, as if the check had failed: what holds then is the confinement."""

from __future__ import annotations

import duckdb

from losslake_service.sandbox.admission import Tables
from losslake_service.sandbox.worker import main


def any_statement(connection: duckdb.DuckDBPyConnection, text: str, _: Tables) -> duckdb.Statement:
    (statement,) = connection.extract_statements(text)
    return statement


if __name__ == "__main__":
    main(any_statement)
