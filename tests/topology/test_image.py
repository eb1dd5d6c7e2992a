"""The steps by which the Dockerfile builds the image, run without Docker in an empty folder, not an empty root."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.checkout import ROOT, tracked_files
from tests.repository.test_dockerfile import stages

SECONDS = 900


def copied(source: str, target: Path) -> None:
    """Copy a tracked file, or all tracked files below a folder, as COPY does: target ends in a slash for a folder."""
    path = ROOT / source
    if path.is_file():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        return
    for file in tracked_files():
        if file.is_relative_to(path):
            place = target / file.relative_to(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)


def run(step: str, folder: Path, environment: dict[str, str]) -> str:
    ran = subprocess.run(
        ["/bin/sh", "-ec", step], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert ran.returncode == 0, f"{step}\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}"
    return ran.stdout


@pytest.mark.long
def test_the_build_steps_make_an_environment_in_which_losslake_ingests_and_knows_postgresql(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    # Only the interpreter that the image starts from: nothing that is installed here.
    (root / "bin" / "python").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
    environment = {"HOME": str(tmp_path), "PATH": f"{root}/bin:/usr/bin:/bin"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    folder = root
    for instruction, arguments in stages()[0]:
        here = arguments.replace("/srv/losslake", str(root / "srv"))
        if instruction == "ENV":
            for name, _, value in (part.partition("=") for part in shlex.split(here)):
                environment[name] = value.replace("$PATH", environment["PATH"])
        elif instruction == "WORKDIR":
            folder = root / here.strip("/")
            folder.mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY":
            *sources, target = shlex.split(here)
            for source in sources:
                copied(source, folder / target)
        elif instruction == "RUN":
            run(here, folder, environment)
    (root / "lake").mkdir()
    environment["LOSSLAKE_LAKE"] = str(root / "lake")
    # The image has no sources beside the environment, and no shell's folder to import from.
    shutil.rmtree(folder)
    assert "release 1" in run(f"losslake ingest {ROOT}/studies/data/bundled.tar.bz2", root / "lake", environment)
    assert run("losslake releases", root / "lake", environment)
    run("python -c 'import psycopg, obstore, losslake_service.serve; psycopg.pq.version()'", root / "lake", environment)
