"""The processes of services as the command line starts them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

# Eight threads that hold memory at the same time, beside the service; the number of heaps that glibc has then.
HEAPS = """
import ctypes, re, sys, threading
from losslake_cli.serve import limit_heaps
if sys.argv[2] == "limited":
    limit_heaps()
if sys.argv[3] == "beside the service":
    import losslake_contributions.serve
libc, together, ends = ctypes.CDLL(None), threading.Barrier(9), threading.Event()
def hold():
    rows = [bytes(1000) for _ in range(1000)]
    together.wait(60)
    ends.wait(60)
threads = [threading.Thread(target=hold) for _ in range(8)]
for each in threads:
    each.start()
together.wait(60)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
ends.set()
print(len(re.findall("<heap nr=", open(sys.argv[1]).read())))
"""


@pytest.mark.parametrize(
    "beside",
    [
        "alone",
        # What the service imports may begin threads. The import takes seconds.
        pytest.param("beside the service", marks=pytest.mark.slow),
    ],
)
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives threads heaps of their own")
def test_threads_share_two_heaps_unless_the_host_says_otherwise(tmp_path: Path, beside: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}

    def heaps(limit: str, more: dict[str, str]) -> int:
        command = [sys.executable, "-c", HEAPS, str(tmp_path / "heaps.xml"), limit, beside]
        ran = subprocess.run(command, env=environment | more, capture_output=True, text=True, check=True)
        return int(ran.stdout)

    assert heaps("limited", {}) == 2
    assert heaps("limited", {"MALLOC_ARENA_MAX": "3"}) == 3
    assert heaps("by default", {}) > 3
