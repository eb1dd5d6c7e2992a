"""Strangers' archives leave an ingest its memory, and the service beside it to its users."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from tests.attacks.neighbours import PROXIED, neighbours, wait_until_ready
from tests.attacks.test_sql import check
from tests.ingest.bomb_list import BOMBS
from tests.ingest.test_bombs import MOST_MEGABYTES, peak_megabytes
from tests.service.running import served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
NAMES = {
    "8 x 100 MB of blank lines",
    "a million columns",
    "a cell of 250 MB",
    "csv: a cell of 250 MB",
    "tensorboard: a record of 250 MB",
}


def test_an_ingest_of_bombs_keeps_to_a_gigabyte_beside_a_service(lake: Lake, tmp_path: Path) -> None:
    chosen = [bomb for bomb in BOMBS if bomb.name in NAMES]
    assert len(chosen) == len(NAMES)
    paths = []
    for number, bomb in enumerate(chosen):
        (folder := tmp_path / f"{number}").mkdir()
        paths.append(str(bomb.write(folder)))
    peak = 0.0
    with served(tmp_path, lake=str(lake.folder), sql_enabled=False, **PROXIED) as running:
        wait_until_ready(running)
        with neighbours(running, f"{len(chosen)} bombs into another lake") as seen:
            for path in paths:
                command = [
                    sys.executable,
                    "-m",
                    "losslake",
                    "ingest",
                    path,
                    "--lake",
                    str(tmp_path / "lake"),
                    "--quiet",
                ]
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
                peak = max(peak, peak_megabytes(process))
                assert process.returncode in (0, 1)
    print(f"peak memory of an ingest: {peak:,.0f} MB")
    check(seen)
    assert peak < MOST_MEGABYTES
    assert Lake.open(tmp_path / "lake").release().n_trials >= max(bomb.good for bomb in chosen)
