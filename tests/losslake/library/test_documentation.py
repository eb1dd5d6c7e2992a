"""The programs of docs/library.md, and of the docstring of the package, run as they stand there."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from losslake.library.lake import Lake
from tests.repository.checkout import ROOT

pytestmark = pytest.mark.slow

ADDRESS = "http://127.0.0.1:8000"


@pytest.mark.parametrize("module", ["losslake", "losslake.library.lake", "losslake.library.result"])
def test_the_examples_of_docstrings_run(folder: Lake, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_LAKE", repr(folder).split()[1].rstrip(","))
    failed, tried = doctest.testmod(importlib.import_module(module), extraglobs={"lake": folder})
    assert (failed, tried > 0) == (0, True)


def test_the_page_of_the_library_runs_as_it_stands(service: Lake, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/library.md").read_text(), re.MULTILINE | re.DOTALL)
    url = repr(service).split()[1].rstrip(",")
    program = "\n".join(blocks).replace(ADDRESS, url)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "have no times" in done.stdout.splitlines()[-1]
    assert (tmp_path / "scaling.svg").read_text().startswith("<svg")
