"""Databases as Trackio 0.43 writes them."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing

SCHEMA = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
  config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
"""
CREATED = "2026-11-23T03:28:28+00:00"
CONFIG = {"lr": 0.5, "opt": {"name": "adam"}, "_Username": "someone", "_Created": CREATED, "_Group": None}
# By run id: the calls of log(), each a step and values.
Calls = Mapping[str, Iterable[tuple[object, object]]]


def database(calls: Calls, config: object = CONFIG) -> bytes:
    """A project's database. Values that aren't finite are words, and JSON is stored as bytes."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        for run, logged in calls.items():
            for at, (step, values) in enumerate(logged):
                time = f"2026-11-23T03:28:{30 + at % 30}.500000+00:00"
                row = (run, time, f"name of {run}", step, _json(values))
                connection.execute(
                    "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)", row
                )
            facts = (run, f"name of {run}", _json(config), CREATED)
            connection.execute("INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)", facts)
        connection.commit()
        return connection.serialize()


def _json(value: object) -> object:
    if not isinstance(value, dict):
        return value
    words = {math.inf: "Infinity", -math.inf: "-Infinity"}
    plain = {
        name: ("NaN" if cell != cell else words.get(cell, cell)) if isinstance(cell, float) else cell
        for name, cell in value.items()
    }
    return json.dumps(plain).encode()
