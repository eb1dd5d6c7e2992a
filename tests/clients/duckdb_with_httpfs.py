"""Run by a Python that has DuckDB with httpfs: statements as JSON on standard input, the last one's rows as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_httpfs

if __name__ == "__main__":
    found = next(Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension"))
    connection = duckdb.connect()
    connection.execute(f"LOAD '{found}'")
    for statement in json.load(sys.stdin):
        result = connection.execute(statement)
    print(json.dumps([[step, value.hex()] for step, value in result.fetchall()]))
