"""Reports name what a mapping file says without effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import UNUSED, SourceReport
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.run import ingest
from tests.ingest.offers import unpacked, written

MAPPING = """
[collection]
name = "c"
[run]
dataset = "d"
model = "m"
optimizer = "o"
batch_size = 8
[path]
patterns = ["run{seed:int}.csv", "old{seed:int}.csv"]
[[when]]
if = { model = "m", seed = 1 }
parameters = { first = 1 }
[[when]]
if = { modell = ["m", "n"] }
parameters = { never = 1 }
[[when]]
if = { split = "val" }
metrics = { loss = "val/loss" }
"""
NEVER = '[[when]] if = { modell = ["m", "n"] }'
OLD = "[path] pattern 'old{seed:int}.csv'"
LOG = b"step,loss\n0,2\n"
ROWS = b"step,split,loss\n0,train,2\n0,val,3\n"


def unused(reports: Sequence[SourceReport]) -> list[tuple[str, int]]:
    return [(text, count) for report in reports for text, count in report.remarks if text.startswith(UNUSED)]


def test_conditions_and_patterns_that_apply_to_no_log_are_remarked(tmp_path: Path) -> None:
    files = {"losslake.toml": MAPPING.encode(), "run1.csv": LOG, "run2.csv": ROWS}
    logs = unpacked(tmp_path / "logs", files)
    expected = [(f"{UNUSED}: {NEVER}; {OLD}", 2)]
    assert unused(plan_ingest(None, [logs], Request()).sources) == expected
    assert unused(ingest(Lake.create(tmp_path / "lake"), [logs]).sources) == expected


def test_what_applies_to_one_source_of_an_ingest_is_not_remarked(tmp_path: Path) -> None:
    mapping = written(tmp_path / "map.toml", MAPPING.encode())
    one = unpacked(tmp_path / "one", {"run1.csv": ROWS, "old1.csv": LOG})
    two = unpacked(tmp_path / "two", {"run2.csv": LOG})
    assert unused(plan_ingest(None, [two, one], Request(mapping=mapping)).sources) == [(f"{UNUSED}: {NEVER}", 1)]


def test_conditions_of_a_mapping_that_another_builds_on_are_not_remarked(tmp_path: Path) -> None:
    text = 'extends = "modded_nanogpt_records"\n[[when]]\nif = { nothing = 1 }\nfields = { x = 1 }\n'
    logs = unpacked(tmp_path / "logs", {"a/log.csv": LOG})
    mapping = written(tmp_path / "map.toml", text.encode())
    remarks = unused(plan_ingest(None, [logs], Request(mapping=mapping)).sources)
    assert remarks == [(f"{UNUSED}: [[when]] if = {{ nothing = 1 }}", 1)]
    assert unused(plan_ingest(None, [logs], Request(mapping=Path("modded_nanogpt_records"))).sources) == []
