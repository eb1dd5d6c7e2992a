"""A script for a Python with DuckDB and httpfs: run JSON statements from stdin, print the rows of the last one."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import duckdb

if __name__ == "__main__":
    package = find_spec("duckdb_extension_httpfs")
    assert package is not None
    assert package.origin is not None
    extension = next(Path(package.origin).parent.rglob("httpfs.duckdb_extension"))
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    for statement in json.load(sys.stdin):
        result = connection.execute(statement)
    print(json.dumps([[step, value.hex()] for step, value in result.fetchall()]))
