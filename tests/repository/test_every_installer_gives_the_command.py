"""The base, installed as users do, into environments that have nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repository.checkout import ROOT, project
from tests.repository.extras import brought, required
from tests.repository.wheels import installer_environment, wheels_of_installed

pytestmark = pytest.mark.slow

SECONDS = 180
SEARCHED = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheels of the base, of what builds it, and of what installers install for themselves."""
    folder = tmp_path_factory.mktemp("wheels")
    wheels_of_installed({*brought(), *required("hatchling"), "pip"}, folder)
    return folder


def run(wheels: Path, *command: object, **environment: object) -> str:
    told = installer_environment(wheels) | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(list(map(str, command)), env=told, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def installer(name: str) -> str:
    """Return the path of an installer, here or where the shell looks; skip the test where it is missing."""
    found = shutil.which(name, path=SEARCHED)
    if found is None:
        pytest.skip(f"{name} isn't installed")
    return found


def with_pip(wheels: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    run(wheels, folder / "bin" / "pip", "install", "--quiet", ROOT)
    return folder / "bin" / "losslake"


def with_pipx(wheels: Path, folder: Path) -> Path:
    places: dict[str, object] = {"PIPX_HOME": folder, "PIPX_BIN_DIR": folder / "bin", "PIPX_MAN_DIR": folder / "man"}
    # Newer ones install with uv where they find it, and otherwise want a newer pip than there may be.
    places["PATH"] = SEARCHED
    run(wheels, installer("pipx"), "install", "--python", sys.executable, ROOT, **places)
    return folder / "bin" / "losslake"


def with_uv(wheels: Path, folder: Path) -> Path:
    places = {"UV_TOOL_DIR": folder / "tools", "UV_TOOL_BIN_DIR": folder / "bin"}
    run(wheels, installer("uv"), "tool", "install", "--python", sys.executable, ROOT, **places)
    return folder / "bin" / "losslake"


@pytest.mark.parametrize("install", [with_pip, with_pipx, with_uv])
def test_an_installed_base_is_the_same_command_that_knows_what_it_lacks(
    install: Callable[[Path, Path], Path], wheels: Path, tmp_path: Path
) -> None:
    command = install(wheels, tmp_path / "installed")
    version = project()["project"]["version"]
    assert run(wheels, command, "--version") == f"losslake {version}\n"
    wide = {"COLUMNS": 100}
    assert run(wheels, command, "--help", **wide) == run(
        wheels, Path(sys.executable).with_name("losslake"), "--help", **wide
    )
    refused = subprocess.run([command, "steps"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert refused.returncode == 1
    assert refused.stderr == 'losslake: losslake steps needs losslake[lake]: pip install "losslake[lake]"\n'
    python = command.resolve().parent / "python"
    assert run(wheels, python, "-I", "-c", "import losslake; print(losslake.__version__)") == f"{version}\n"
    assert not list(tmp_path.glob("lake"))
