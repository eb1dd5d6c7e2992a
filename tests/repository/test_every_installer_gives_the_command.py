"""The base, installed as users do, into environments that have nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repository.checkout import ROOT, project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment with pip, pipx and uv in its bin."""
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "pipx", "uv")
    return folder / "bin"


def run(*command: object, **environment: object) -> str:
    told = os.environ | {name: str(value) for name, value in environment.items()}
    told.pop("PYTHONPATH", None)
    done = subprocess.run(list(map(str, command)), env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def with_pip(tools: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT)
    return folder / "bin" / "losslake"


def with_pipx(tools: Path, folder: Path) -> Path:
    places = {"PIPX_HOME": folder, "PIPX_BIN_DIR": folder / "bin", "PIPX_MAN_DIR": folder / "man"}
    run(tools / "pipx", "install", "--quiet", "--python", sys.executable, ROOT, **places)
    return folder / "bin" / "losslake"


def with_uv(tools: Path, folder: Path) -> Path:
    places = {"UV_TOOL_DIR": folder / "tools", "UV_TOOL_BIN_DIR": folder / "bin", "UV_SYSTEM_CERTS": 1}
    run(tools / "uv", "tool", "install", "--quiet", "--python", sys.executable, ROOT, **places)
    return folder / "bin" / "losslake"


@pytest.mark.parametrize("install", [with_pip, with_pipx, with_uv])
def test_an_installed_base_is_the_same_command_that_knows_what_it_lacks(
    install: Callable[[Path, Path], Path], tools: Path, tmp_path: Path
) -> None:
    command = install(tools, tmp_path / "installed")
    version = project()["project"]["version"]
    assert run(command, "--version") == f"losslake {version}\n"
    wide = {"COLUMNS": 100}
    assert run(command, "--help", **wide) == run(Path(sys.executable).with_name("losslake"), "--help", **wide)
    refused = subprocess.run([command, "steps"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr == 'losslake: losslake steps needs losslake[lake]: pip install "losslake[lake]"\n'
    python = command.resolve().parent / "python"
    assert run(python, "-I", "-c", "import losslake; print(losslake.__version__)") == f"{version}\n"
    assert not list(tmp_path.glob("lake"))
