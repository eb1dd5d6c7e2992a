from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_cli.main import main
from losslake_ingest.run import ingest
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.without_history import history_is_written

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Create a lake with one release: batch sizes 8 (a NaN and a diverged trial) and 16 (never below 0.3)."""
    folder = tmp_path_factory.mktemp("lake")
    trials = {
        1: TrialOffer(rows=["0,0.9", "10,0.5", "20,0.25"]),
        2: TrialOffer(rows=["0,0.8", "10,0.2", "20,nan"]),
        3: TrialOffer(rows=["0,0.9", "5,0.1"], status="INFEASIBLE"),
    }
    files = study_files(trials) | study_files({1: TrialOffer(rows=["0,0.9", "10,0.4"])}, 16)
    made = Lake.create(folder / "lake")
    with history_is_written():  # processes that tests start verify it
        ingest(made, [unpacked(folder / "logs", files)])
    return made


@pytest.fixture
def losslake(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command in this process, on the session's lake unless --lake is given."""
    monkeypatch.setenv("LOSSLAKE_LAKE", str(lake.folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = ["losslake", *map(str, arguments)]
        out, err = BytesIO(), BytesIO()
        status: object = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", command)
            patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()), "utf-8"))
            patch.setattr(sys, "stdout", TextIOWrapper(out, "utf-8", newline=""))
            patch.setattr(sys, "stderr", TextIOWrapper(err, "utf-8", newline=""))
            try:
                main()
            except SystemExit as leaving:
                status = leaving.code
            sys.stdout.flush()
            sys.stderr.flush()
            said, complained = out.getvalue().decode(errors="replace"), err.getvalue().decode(errors="replace")
        assert "Traceback" not in complained
        assert "internal error" not in complained
        assert isinstance(status, int)
        return subprocess.CompletedProcess(command, status, said, complained)

    return run
