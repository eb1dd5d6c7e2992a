from __future__ import annotations

import subprocess
import sys

SLOW_TO_IMPORT = {"altair", "pyiceberg", "scipy.optimize", "scipy.special", "scipy.stats", "vl_convert"}


def test_it_starts_without_what_takes_long_to_import_and_few_requests_need() -> None:
    program = "import sys, losslake_service.serve; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert SLOW_TO_IMPORT.isdisjoint(done.stdout.split())
