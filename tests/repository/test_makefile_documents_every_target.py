import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.repository.checkout import ROOT

PHONY = re.compile(r"^\.PHONY: (?P<name>\S+)$", re.MULTILINE)
DOCUMENTED = re.compile(r"^(?P<name>[a-z]+):.*## (?P<says>\S.*)$", re.MULTILINE)


def text() -> str:
    return (ROOT / "Makefile").read_text()


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs make as a developer would, untouched by the make that may be running these tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def test_every_command_says_what_it_does() -> None:
    commands = PHONY.findall(text())
    assert commands == [found["name"] for found in DOCUMENTED.finditer(text())]
    assert {"help", "setup", "run", "test", "lint", "fuzz", "bench", "lock", "clean"} <= set(commands)


@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_make_alone_and_make_help_list_every_command(arguments: list[str]) -> None:
    shown = make(*arguments)
    assert shown.returncode == 0, shown.stderr
    for found in DOCUMENTED.finditer(text()):
        assert re.search(rf"^  make {found['name']} +{re.escape(found['says'])}$", shown.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", ["run", "test", "lint", "slow", "fuzz", "bench", "pictures"])
def test_a_command_sets_up_what_it_needs(command: str) -> None:
    assert re.search(rf"^{command}: setup ##", text(), re.MULTILINE)


def test_settings_reach_the_service() -> None:
    planned = make("--dry-run", "run", "PORT=8123", "HOST=::1", "LAKE=elsewhere").stdout
    assert "losslake serve --lake elsewhere --host ::1 --port 8123" in planned
    assert "losslake ingest studies/data/bundled.tar.bz2 --lake elsewhere" in planned


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_a_python_that_is_too_old_or_missing_is_one_line_and_leaves_nothing_behind(tmp_path: Path, python: str) -> None:
    environment = tmp_path / "environment"
    refused = make("setup", f"PYTHON={python}", f"VENV={environment}")
    says, *makes_own = refused.stderr.splitlines()
    assert refused.returncode != 0
    assert says.startswith("LossLake needs Python 3.11 or newer")
    assert python in says
    assert len(makes_own) == 1
    assert not environment.exists()


def test_continuous_integration_runs_the_commands_that_developers_type() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert re.findall(r"^make (\w+)", script.read_text(), re.MULTILINE) == ["lint", "test", "slow"]
    assert "set -euo pipefail" in script.read_text()
