"""The language models on Python's standard library: what the archive holds is what its document says."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.library.lake import opened
from losslake_ingest.run import ingest
from tests.archives import unpack_tar
from tests.repository.checkout import ROOT

ARCHIVE = ROOT / "studies" / "data" / "stdlib_bytes.tar.bz2"
ALL = tuple(2**at for at in range(10))
METRIC, TARGET = "val/cross_entropy_error", 1.8


def stated() -> dict[str, list[int]]:
    """The steps by optimizer in studies/README.md, at batch sizes 1, 2, 4 …"""
    text = (ROOT / "studies" / "README.md").read_text("utf-8").partition("## Language models")[2]
    rows = re.findall(r"^\| (adam|momentum) \|(.+)\|$", text, re.MULTILINE)
    return {name: [int(cell) for cell in cells.split("|")] for name, cells in rows}


def part(folder: Path, batch_sizes: Sequence[int]) -> Path:
    """Return the archive's runs of these batch sizes, unpacked."""
    unpack_tar(ARCHIVE, folder)
    for run in folder.iterdir():
        if json.loads((run / "run.json").read_bytes())["batch_size"] not in batch_sizes:
            shutil.rmtree(run)
    return folder


# One batch size in `make test`, all of the archive in `make slow`.
@pytest.mark.parametrize("batch_sizes", [(512,), pytest.param(ALL, marks=pytest.mark.slow)], ids=["some", "all"])
def test_archive_has_the_studies_and_steps_that_the_document_states(tmp_path: Path, batch_sizes: Sequence[int]) -> None:
    lake = Lake.create(tmp_path / "lake")
    whole = batch_sizes == ALL
    summary = ingest(lake, [ARCHIVE if whole else part(tmp_path / "part", batch_sizes)])
    n_studies = 2 * len(batch_sizes)
    assert (summary.trials_ingested, summary.studies_ingested, summary.quarantined) == (32 * n_studies, n_studies, ())
    answers = opened(lake.folder, None)
    for optimizer, steps in stated().items():
        assert len(steps) == len(ALL)
        workload = f"stdlib_bytes/python_stdlib/transformer_2x64/{optimizer}"
        rows = answers.scaling(workload=workload, metric=METRIC, target=TARGET).to_dicts()
        expected = dict(zip(ALL, steps, strict=True))
        assert {row["batch_size"]: row["steps"] for row in rows} == {size: expected[size] for size in batch_sizes}
    assert set(stated()) == {"adam", "momentum"}
    (row,) = answers.sql("SELECT count(*) AS n FROM measurements WHERE elapsed_s IS NOT NULL").to_dicts()
    assert row["n"] == 0
