from __future__ import annotations

import subprocess
import sys

import pytest

SLOW_TO_IMPORT = {"altair", "pyiceberg", "scipy.optimize", "scipy.special", "scipy.stats", "vl_convert"}


@pytest.mark.slow
def test_start_does_not_import_slow_optional_modules() -> None:
    program = "import sys, losslake_service.serve; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert SLOW_TO_IMPORT.isdisjoint(done.stdout.split())
