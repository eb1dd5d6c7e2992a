"""Run by a Python with DuckDB 1.5 and its httpfs: answers questions from a database as `test_clients.py` asks them."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import duckdb

spec = find_spec("duckdb_extension_httpfs")
assert spec is not None
assert spec.origin is not None
extension = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / "httpfs.duckdb_extension"
ONE_STUDY = (
    "EXPLAIN SELECT * FROM steps_to('val/classification_error', 0.4) "
    "WHERE collection = 'a/b' AND dataset = 'd' AND model = 'm' AND optimizer = 'o' AND batch_size = 8"
)

connection = duckdb.connect()
connection.execute(f"LOAD '{extension}'")
connection.execute(f"ATTACH '{sys.argv[1]}' AS remote (READ_ONLY)")
connection.execute("USE remote")
if "--plan" in sys.argv:
    answers = {ONE_STUDY: connection.execute(ONE_STUDY).fetchall()[0][1]}
else:
    answers = {question: connection.execute(question).fetchall() for question in json.load(sys.stdin)}
json.dump(answers, sys.stdout)
