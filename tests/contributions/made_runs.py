"""Spools of made-up runs, and a lake to compare them with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from losslake.lake.lake import Lake
from losslake.record.layout import digest_entry
from losslake_contributions.client.local_runs import LocalRuns, local_runs
from losslake_contributions.client.prepared_run import prepared
from losslake_ingest.readers.recorded.folder import Spool, read_spool, spools_in
from losslake_ingest.run import ingest

ERROR = "val/classification_error"
FACTS = {
    "format": "losslake-record/1",
    "collection": "small",
    "dataset": "mnist",
    "model": "cnn",
    "optimizer": "sgd",
    "batch_size": 8,
    "batch_unit": "examples",
    "licence": "CC0-1.0",
    "started_at": 1.0,
    "parameters": {},
}
GOALS = [{"metric": ERROR, "target": 0.3, "comparator": "strict", "source": "a paper"}]
Rows = Sequence[Mapping[str, Any]]


def name_of(number: int) -> str:
    """The name of a made-up run."""
    return f"0190a000-0000-7000-8000-{number:012d}"


def curve(values: Sequence[float], metric: str = ERROR, every: int = 10) -> list[dict[str, Any]]:
    """Rows of one metric."""
    return [{"step": row * every, "elapsed_s": float(row), metric: value} for row, value in enumerate(values)]


def write_run(
    folder: Path, number: int, attempts: Rows | Mapping[str, Rows], status: str = "COMPLETE", **facts: Any
) -> Spool:
    """Write a run of one attempt, or of several by the name of their folder, and read it."""
    run = folder / name_of(number)
    by_place = attempts if isinstance(attempts, Mapping) else {"0001": attempts}
    named = {}
    for place, rows in by_place.items():
        data = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()
        (run / place).mkdir(parents=True)
        (run / place / "000001.jsonl").write_bytes(data)
        named[f"{place}/000001.jsonl"] = digest_entry(data)
    (run / "run.json").write_text(json.dumps(FACTS | facts, indent=1))
    end = {"status": status, "ended_at": 2.0, "n_dropped": 0, "segments": named}
    (run / "end.json").write_text(json.dumps(end))
    return read_spool(run)


def lake_of(folder: Path, spools: Path) -> Lake:
    """A lake with some runs, as of its first release."""
    lake = Lake.create(folder)
    summary = ingest(lake, [str(spools)])
    assert not summary.quarantined, summary.quarantined
    return lake


def runs_in(folder: Path, with_unfinished: bool = False) -> LocalRuns:
    """The recorded runs below a folder, as a push finds them."""
    return local_runs([prepared(read_spool(each)) for each in spools_in(folder)], with_unfinished)
