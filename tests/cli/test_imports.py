"""Commands that only read import little: each library here costs a user tens of milliseconds or more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView

BANNED = (
    "pandas", "polars", "scipy", "sqlalchemy", "pyiceberg", "alembic", "rich", "prompt_toolkit", "vl_convert",
    "fastapi", "starlette", "losslake_ingest",
)  # fmt: skip
WORKLOAD = "root/mnist/cnn/sgd"
METRIC = "val/classification_error"
PROGRAM = """
import sys
from losslake_cli.main import app
try:
    app(sys.argv[2:])
except SystemExit as status:
    assert not status.code, status.code
print([name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["releases"], marks=pytest.mark.slow),
        pytest.param(["workloads"], marks=pytest.mark.slow),
        ["steps", WORKLOAD, "--metric", METRIC, "--target", "0.3"],
        pytest.param(["steps", WORKLOAD, "--metric", METRIC, "--target", "0.3", "--plot"], marks=pytest.mark.slow),
        ["sql", "-c", "SELECT count(*) FROM trials"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[-1:]),
)
def test_a_command_that_reads_imports_nothing_that_it_does_not_need(lake: Lake, arguments: list[str]) -> None:
    ReleaseView.open(lake, lake.release())  # builds the files of the release, for which more is needed
    command = [sys.executable, "-c", PROGRAM, ",".join(BANNED), *arguments, "--lake", str(lake.folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
