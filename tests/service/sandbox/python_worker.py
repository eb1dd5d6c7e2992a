"""A worker whose own code a stranger runs, as if DuckDB had a hole: the statement is Python, its value the result."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket

import duckdb

from losslake_service.sandbox.admission import Tables
from losslake_service.sandbox.worker import main

KNOWN = {"ctypes": ctypes, "os": os, "resource": resource, "signal": signal, "socket": socket}


def python(connection: duckdb.DuckDBPyConnection, text: str, _: Tables) -> duckdb.Statement:
    try:
        value = repr(eval(text, KNOWN))
    except OSError as error:
        value = type(error).__name__
    (statement,) = connection.extract_statements("SELECT '" + value.replace("'", "''") + "' AS value")
    return statement


if __name__ == "__main__":
    main(python)
