"""Runs as the recorder leaves them, written at once, and what a lake has to hold of them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from losslake.record.spool import new_name
from tests.losslake.record import runs

Rows = Sequence[Mapping[str, Any]]
COLLECTION, WORKLOAD = "given", ("mnist", "cnn", "sgd")


def rows(steps: Sequence[int], scale: float = 1.0) -> list[dict[str, Any]]:
    """Lines of a spool: a loss that falls, and at every third step a value that is no number."""
    odd = ("NaN", "Infinity", "-Infinity")
    return [
        {"step": step, "elapsed_s": step / 8, "val/loss": scale / (step + 1), "train/loss": odd[step // 3 % 3]}
        if step % 3 == 0
        else {"step": step, "elapsed_s": step / 8, "val/loss": scale / (step + 1)}
        for step in steps
    ]


@dataclass
class SpooledRun:
    """A run: its run.json, and the lines of each segment by its path."""

    id: str = field(default_factory=new_name)
    batch_size: int = 64
    licence: str | None = "CC-BY-4.0"
    parameters: dict[str, Any] = field(default_factory=lambda: {"learning_rate": 0.1})
    segments: dict[str, Rows] = field(default_factory=lambda: {"0001/000001.jsonl": rows(range(12))})
    status: str = "COMPLETE"
    more: dict[str, Any] = field(default_factory=dict)  # of run.json

    @property
    def facts(self) -> dict[str, Any]:
        dataset, model, optimizer = WORKLOAD
        return {
            "format": "losslake-record/1", "collection": COLLECTION, "dataset": dataset, "model": model,
            "optimizer": optimizer, "batch_size": self.batch_size, "licence": self.licence,
            "started_at": 1_790_000_000.25, "parameters": self.parameters,
            **self.more,
        }  # fmt: skip

    def data(self, path: str) -> bytes:
        return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in self.segments[path])

    def place(self, path: str) -> dict[str, Any]:
        """A segment as the protocol names it."""
        attempt, _, name = path.partition("/")
        number, _, step = attempt.partition("-from-")
        data = self.data(path)
        return {
            "attempt": int(number), "n": int(name.partition(".")[0]), "from_step": int(step) if step else None,
            "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(),
        }  # fmt: skip

    def piece(self, path: str, start: int = 0, stop: int | None = None) -> dict[str, Any]:
        """Lines of a segment as a piece. start, stop: their numbers."""
        lines = self.data(path).splitlines(keepends=True)
        place = {name: value for name, value in self.place(path).items() if name in ("attempt", "n", "from_step")}
        text = b"".join(lines[start:stop]).decode()
        return {"run": self.id, **place, "offset": len(b"".join(lines[:start])), "lines": text}

    @property
    def end(self) -> dict[str, Any]:
        """The body of its finish."""
        places = [self.place(path) for path in self.segments]
        return {"status": self.status, "ended_at": 1_790_000_100, "n_dropped": 0, "segments": places}

    def write(self, folder: Path, *, is_finished: bool = True) -> Path:
        """Write the folder of the run."""
        place = folder / self.id
        place.mkdir(parents=True)
        (place / "run.json").write_text(json.dumps(self.facts, indent=1))
        for path in self.segments:
            (place / path).parent.mkdir(exist_ok=True)
            (place / path).write_bytes(self.data(path))
        if is_finished:
            named = {path: self.place(path) for path in self.segments}
            digests = {path: {name: each[name] for name in ("bytes", "sha256")} for path, each in named.items()}
            (place / "end.json").write_text(json.dumps({**self.end, "segments": digests}, indent=1))
        return place


def remaining(segments: Mapping[str, Rows]) -> dict[str, list[tuple[int, float]]]:
    """Step and value by metric, in order, of what no later attempt supersedes: slow and obvious."""
    lines: list[runs.Line] = []
    for path in sorted(segments):
        attempt, _, step = path.partition("/")[0].partition("-from-")
        lines += [(int(attempt), int(step) if step else None, row) for row in segments[path]]
    return {name: sorted(values.items()) for name, values in runs.remaining(lines).items()}


def same(first: float, second: float) -> bool:
    """Equal bit for bit, but for the kind of NaN."""
    return first == second or (math.isnan(first) and math.isnan(second))
