import os
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from losslake_service.web.documentation.site_documents import documents, pictures
from tests.repository.checkout import INSTALLED, ROOT, project, tracked_files
from tests.repository.wheels import installer_environment, small_wheel
from tests.servers.processes import SECONDS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=SECONDS)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_every_file_of_the_packages_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    kept = {path.relative_to(ROOT).as_posix() for path in tracked_files()}
    wanted = {
        name.replace(folder, package, 1)
        for package, folder in INSTALLED.items()
        for name in kept
        if name.startswith(f"{folder}/")
    }
    assert any(name.endswith(".sql") for name in wanted)
    assert wanted - set(wheel.namelist()) == set()


def test_the_wheel_carries_every_document_that_the_site_serves_with_its_pictures(wheel: zipfile.ZipFile) -> None:
    wanted = {*documents(), *(f"docs/{name}" for name in pictures())}
    assert {"docs/rest.md", "ARCHITECTURE.md", "docs/scaling.svg"} <= wanted
    for path in wanted:
        assert wheel.read(f"losslake_service/documentation/{path}") == (ROOT / path).read_bytes()


@pytest.mark.slow
def test_an_installed_wheel_serves_its_documents(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    code = "from losslake_service.web.documentation import site_documents as d; print(*d.by_name(), d.__file__)"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True, timeout=SECONDS
    )
    *names, place = done.stdout.split()
    assert place.startswith(str(tmp_path))
    assert {"rest", "architecture", "results"} <= set(names)


def test_the_wheel_holds_only_import_names_that_start_with_losslake(wheel: zipfile.ZipFile) -> None:
    folders = {Path(name).parts[0] for name in wheel.namelist()}
    version = project()["project"]["version"]
    assert folders == {*INSTALLED, f"losslake-{version}.dist-info"}
    assert all(name.startswith("losslake") for name in folders)
    assert [name for name in wheel.namelist() if "__pycache__" in name] == []


def test_the_wheel_says_its_licence_and_brings_the_text(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    assert Parser().parsestr(wheel.read(metadata).decode())["License-Expression"] == "Apache-2.0"
    (licence,) = (name for name in wheel.namelist() if name.endswith("licenses/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert b"Apache License" in wheel.read(licence)


@pytest.mark.slow
def test_the_wheel_installs_beside_the_package_that_is_named_schema(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=True)
    python = str(tmp_path / "empty" / "bin" / "python")
    # The one of that name has such a module, and nothing else of it matters here.
    other = small_wheel(tmp_path, "schema", {"schema/__init__.py": b"answer = 7"})
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", str(other), str(wheel.filename)]
    subprocess.run(install, env=installer_environment(tmp_path), check=True, timeout=SECONDS)
    code = f"import schema, {', '.join(INSTALLED)}; print(schema.answer, losslake.__version__)"
    done = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout.split() == ["7", project()["project"]["version"]]
