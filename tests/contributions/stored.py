"""What a lake holds: its newest release, read from its files with nothing between, and its submissions."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow.parquet as pq

from losslake.lake.lake import Lake
from losslake_contributions.people.tokens import authenticate
from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.review.submissions import find_any, list_submissions
from losslake_contributions.store.database import Database

Curves = dict[str, list[tuple[int, float]]]


def stored_curves(lake: Lake) -> dict[str, Curves]:
    """Step and value by metric and run, in the order of the rows; the name of a run is the source of its trial."""
    release = lake.release()
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in lake.files(release):
        if file.table in ("trials", "measurements"):
            rows = pq.read_table(lake.store.open(file.path, file.bytes)).to_pylist()
            key = {"batch_size": file.batch_size, "collection": file.collection, "model": file.model}
            tables[file.table] += [{**key, **row} if file.table == "measurements" else row for row in rows]
    runs = {(row["collection"], row["batch_size"], row["trial_id"]): row["source"] for row in tables["trials"]}
    curves: dict[str, Curves] = {source: defaultdict(list) for source in runs.values()}
    for row in tables["measurements"]:
        source = runs[row["collection"], row["batch_size"], row["trial_id"]]
        curves[source][row["metric"]].append((row["step"], row["value"]))
    return curves


def submissions_of(lake: Lake, token: str) -> list[SubmissionStatus]:
    """The submissions of the contributor who has a token."""
    database = Database.open(lake)
    contributor = authenticate(database, f"Bearer {token}").contributor
    return [find_any(database, each.id) for each in list_submissions(database, contributor=contributor).submissions]
