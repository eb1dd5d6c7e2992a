from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.run import ingest
from schema.lake import Lake
from tests.ingest.offers import TrialOffer, study_files, unpacked

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with one release: batch sizes 8 (with a NaN and a diverged trial) and 16 (which never gets below 0.3)."""
    folder = tmp_path_factory.mktemp("lake")
    trials = {
        1: TrialOffer(rows=["0,0.9", "10,0.5", "20,0.25"]),
        2: TrialOffer(rows=["0,0.8", "10,0.2", "20,nan"]),
        3: TrialOffer(rows=["0,0.9", "5,0.1"], status="INFEASIBLE"),
    }
    files = study_files(trials) | study_files({1: TrialOffer(rows=["0,0.9", "10,0.4"])}, 16)
    made = Lake.create(folder / "lake")
    ingest(made, [unpacked(folder / "logs", files)])
    return made


@pytest.fixture
def losslake(lake: Lake, tmp_path: Path) -> Run:
    """Runs the command in a process of its own, on the session's lake unless --lake is given."""

    def run(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "LOSSLAKE_LAKE": str(lake.folder),
            "XDG_STATE_HOME": str(tmp_path),
            "COLUMNS": "200",
        }
        command = [sys.executable, "-m", "losslake", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, input=stdin, env=environment, timeout=120)
        assert "Traceback" not in done.stderr
        return done

    return run
