"""Logs of one study, a mapping for them, and the curves that a lake has of them."""

from __future__ import annotations

from losslake.lake.lake import Lake
from tests.ingest.stored_rows import stored_rows

MAPPING = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o", batch_size = 8}
metrics = {loss = "val/cross_entropy_error"}
"""


def log(*values: float) -> bytes:
    """Return a CSV with these losses at steps 0, 1, and so on."""
    return b"step,loss\n" + b"".join(b"%d,%r\n" % (step, value) for step, value in enumerate(values))


def curves(lake: Lake) -> dict[int, list[float]]:
    """Return the values of each trial, by step."""
    found: dict[int, list[float]] = {}
    rows = stored_rows(lake, "measurements")
    for row in sorted(rows, key=lambda row: row["step"]):
        found.setdefault(row["trial_id"], []).append(row["value"])
    return dict(sorted(found.items()))
