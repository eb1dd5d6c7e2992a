"""`losslake withdraw` says what else of the withdrawn logs is there."""

from __future__ import annotations

from pathlib import Path

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.cli.conftest import Run
from tests.ingest.offers import unpacked

MAPPING = b"""
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o", batch_size = "{size}"}
path = {patterns = ["b{size:int}/{name}.csv"]}
metrics = {loss = "val/cross_entropy_error"}
"""


def test_copies_and_trials_with_the_same_bytes_are_listed(losslake: Run, tmp_path: Path) -> None:
    logs = {f"b{path}.csv": b"step,loss\n0,2\n1,1\n" for path in ("8/a", "8/b", "16/c")}
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", {"losslake.toml": MAPPING, **logs})])
    shown = losslake("withdraw", "c/d/m/o/8/1", "--reason", "wrong", "--by", "ada", "--lake", lake.folder).stdout
    first, stays, trial, copies, copy = shown.splitlines()
    assert first.startswith("published release 2 without 1 trial")
    assert (stays, trial) == ("stored with the same bytes, but other facts: 1 trial, not withdrawn:", "  c/d/m/o/16/1")
    assert "those of another study or collection come in" in copies
    assert copy == f"  {tmp_path / 'logs'}: b8/b.csv"
