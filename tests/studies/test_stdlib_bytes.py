"""The language models on Python's standard library: what the archive holds is what its document says."""

from __future__ import annotations

import re
from pathlib import Path

from losslake.lake.lake import Lake
from losslake.library.lake import opened
from losslake_ingest.run import ingest
from tests.repository.checkout import ROOT

ARCHIVE = ROOT / "studies" / "data" / "stdlib_bytes.tar.bz2"
METRIC, TARGET = "val/cross_entropy_error", 1.8


def stated() -> dict[str, list[int]]:
    """The steps by optimizer in studies/README.md, at batch sizes 1, 2, 4 …"""
    text = (ROOT / "studies" / "README.md").read_text("utf-8").partition("## Language models")[2]
    rows = re.findall(r"^\| (adam|momentum) \|(.+)\|$", text, re.MULTILINE)
    return {name: [int(cell) for cell in cells.split("|")] for name, cells in rows}


def test_archive_has_the_studies_and_steps_that_the_document_states(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [ARCHIVE])
    assert (summary.trials_ingested, summary.studies_ingested, summary.quarantined) == (640, 20, ())
    answers = opened(lake.folder, None)
    for optimizer, steps in stated().items():
        workload = f"stdlib_bytes/python_stdlib/transformer_2x64/{optimizer}"
        rows = answers.scaling(workload=workload, metric=METRIC, target=TARGET).to_dicts()
        assert {row["batch_size"]: row["steps"] for row in rows} == {2**at: each for at, each in enumerate(steps)}
    assert set(stated()) == {"adam", "momentum"}
    (row,) = answers.sql("SELECT count(*) AS n FROM measurements WHERE elapsed_s IS NOT NULL").to_dicts()
    assert row["n"] == 0
