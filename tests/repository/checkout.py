"""The checkout that the tests of this folder look at."""

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The folder of each package that the wheel installs, by its import name.
INSTALLED = {
    "losslake": "losslake",
    "losslake_schema": "schema/losslake_schema",
    "losslake_ingest": "ingest/losslake_ingest",
    "losslake_service": "service/losslake_service",
    "losslake_contributions": "contributions/losslake_contributions",
    "losslake_cli": "cli/losslake_cli",
}
FOLDERS = ("losslake", "schema", "ingest", "service", "contributions", "cli", "published", "studies", "bench", "tests")


def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def sources(folder: str, *suffixes: str) -> Iterator[Path]:
    """Files under a folder that end in one of the suffixes."""
    return (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes)


def tracked_files() -> list[Path]:
    """Every file that git keeps; skips the test in a copy without git."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]
