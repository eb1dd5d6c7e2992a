"""Folders of runs, as losslake.record writes them, and what plain Python makes of their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from losslake.record.layout import END, FORMAT, RUN, SegmentName, document_bytes, segment_bytes

FACTS: Mapping[str, Any] = {
    "collection": "local", "dataset": "digits", "model": "mlp", "optimizer": "sgd", "batch_size": 64,
    "batch_unit": "examples", "licence": None, "started_at": 1.7e9, "parameters": {},
}  # fmt: skip


def begin(folder: Path, **facts: Any) -> Path:
    """Write the run.json of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RUN).write_bytes(document_bytes({"format": FORMAT, **FACTS, **facts}))
    return folder


def write(
    folder: Path, rows: Iterable[Mapping[str, Any]], attempt: int = 1, number: int = 1, from_step: int | None = None
) -> None:
    """Add rows to a segment of a run."""
    file = folder / SegmentName(attempt, number, from_step).path
    file.parent.mkdir(exist_ok=True)
    with file.open("ab") as opened:
        opened.write(segment_bytes(rows))


def end(folder: Path, status: str = "COMPLETE") -> None:
    """Write the end.json of a run."""
    (folder / END).write_bytes(document_bytes({"status": status, "segments": {}}))


def loss_rows(steps: Iterable[int], name: str = "val/loss") -> list[dict[str, Any]]:
    """Return a row for each step, whose loss says which it is."""
    return [{"step": step, "elapsed_s": step / 10, name: 1 / (1 + step)} for step in steps]
