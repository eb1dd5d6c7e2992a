import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.repository.checkout import ROOT

PHONY = re.compile(r"^\.PHONY: (?P<name>\S+)$", re.MULTILINE)
DOCUMENTED = re.compile(r"^(?P<name>[a-z-]+):.*## (?P<says>\S.*)$", re.MULTILINE)


def text() -> str:
    return (ROOT / "Makefile").read_text()


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs make as a developer would, untouched by the make that may be running these tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


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


def test_each_command_of_the_documents_has_a_line_of_its_own() -> None:
    lines = [
        line for name in ("README.md", "CONTRIBUTING.md") for line in (ROOT / name).read_text("utf-8").splitlines()
    ]
    commands = [line for line in lines if line.startswith("make ")]
    assert {"run", "test"} <= {line.split()[1] for line in commands}
    assert [line for line in commands if line.count("make ") > 1 or line.split()[1] not in PHONY.findall(text())] == []


@pytest.mark.parametrize("command", ["test", "lint", "slow", "fuzz", "bench", "pictures"])
def test_a_command_sets_up_what_it_needs(command: str) -> None:
    assert re.search(rf"^{command}: setup ##", text(), re.MULTILINE)


def test_run_sets_up_what_running_needs_and_nothing_else(tmp_path: Path) -> None:
    planned = make("--dry-run", "run", f"VENV={tmp_path}/environment").stdout
    assert "packages of requirements.lock" in planned
    assert "requirements-dev.lock" not in planned
    assert "httpfs" not in planned


def test_uv_installs_from_its_cache_then_from_the_index_and_pip_what_it_could_not(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, status in (("uv", 1), ("python", 0)):
        (programs / name).write_text(f"#!/bin/sh\necho {name} $* >>{tmp_path}/calls\nexit {status}\n")
        (programs / name).chmod(0o755)
    (tmp_path / ".made").touch()
    assert make(f"{tmp_path}/.running", f"VENV={tmp_path}").returncode == 0
    from_cache, from_index, by_pip = (tmp_path / "calls").read_text().splitlines()
    assert from_index.startswith("uv pip install ")
    assert from_cache == f"{from_index} --offline"
    assert by_pip.startswith("python -m pip ")
    assert from_index.endswith(hashed := "--require-hashes -r requirements.lock")
    assert by_pip.endswith(hashed)


def test_settings_reach_the_service() -> None:
    planned = make("--dry-run", "run", "PORT=8123", "HOST=::1", "LAKE=elsewhere").stdout
    assert "losslake serve --lake elsewhere --host ::1 --port 8123" in planned
    assert "losslake ingest studies/data/bundled.tar.bz2 --each --lake elsewhere" in planned


def test_every_bundle_is_served_after_the_first_release() -> None:
    *_, first, rest = make("--dry-run", "run").stdout.splitlines()
    assert first.startswith(".venv/bin/losslake ingest studies/data/bundled.tar.bz2 ")
    ingest, _, serve = rest.partition(" & exec ")
    assert {word for word in ingest.split() if word.endswith(".tar")} == {
        path.relative_to(ROOT).as_posix() for path in ROOT.glob("published/*/*.tar")
    }
    assert " --each " in ingest
    assert serve.startswith(".venv/bin/losslake serve ")


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_old_or_missing_python_is_one_line_and_leaves_no_environment(tmp_path: Path, python: str) -> None:
    environment = tmp_path / "environment"
    refused = make("setup", f"PYTHON={python}", f"VENV={environment}")
    says, *makes_own = refused.stderr.splitlines()
    assert refused.returncode != 0
    assert says.startswith("LossLake needs Python 3.11 or newer")
    assert python in says
    assert len(makes_own) == 1
    assert not environment.exists()


@pytest.mark.parametrize("content", [None, '{"tests/a.py::test_b": true, "tests/c.py::test_d": true}'])
def test_failed_tests_are_those_that_pytest_remembers(tmp_path: Path, content: str | None) -> None:
    remembered = tmp_path / "lastfailed"
    if content is not None:
        remembered.write_text(content)
    printed = make("--silent", "failed", f"FAILED={remembered}").stdout
    assert printed.split() == ([] if content is None else ["tests/a.py::test_b", "tests/c.py::test_d"])
