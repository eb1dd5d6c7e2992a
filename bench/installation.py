"""How long and large an installation is: `python -m bench.installation [--source DIR] [--extras lake all]`.

The wheel of a checkout is installed by pip and by uv, each with an empty cache and into an empty environment. Packages
come from the index of this machine's settings, so the times hold for its network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from bench.measure import bytes_in, machine
from tests.repository.checkout import ROOT

EXTRAS = ("", "lake", "ingest", "service", "all")
HEADING = """| installed | packages | downloaded | on disk | by pip | by uv |
| --- | ---: | ---: | ---: | ---: | ---: |"""


def installed(requirement: str, scratch: Path, *, by_uv: bool) -> tuple[float, Path]:
    """Return the seconds and the environment."""
    target = scratch / ("uv" if by_uv else "pip")
    venv.create(target, with_pip=not by_uv)
    python = str(target / "bin" / "python")
    uv = [
        str(Path(sys.executable).with_name("uv")),
        "pip",
        "install",
        "--system-certs",
        "--no-cache",
        "--python",
        python,
    ]
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir"]
    start = time.perf_counter()
    subprocess.run([*(uv if by_uv else pip), "--quiet", requirement], check=True)
    return time.perf_counter() - start, target


def line(wheel: Path, extra: str) -> str:
    requirement = f"{wheel}[{extra}]" if extra else str(wheel)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        by_pip, environment = installed(requirement, scratch, by_uv=False)
        download: list[str | Path] = [
            environment / "bin" / "pip",
            "download",
            "-qq",
            "--no-cache-dir",
            "-d",
            scratch / "downloads",
        ]
        subprocess.run([*download, requirement], check=True)
        # Without what Python compiles, and without pip.
        by_uv, environment = installed(requirement, scratch, by_uv=True)
        n_packages = len(list(environment.glob("lib/*/site-packages/*.dist-info")))
        name = f"losslake[{extra}]" if extra else "losslake"
        packed, unpacked = bytes_in(scratch / "downloads"), bytes_in(environment)
        sizes = f"{packed / 1e6:.0f} MB | {unpacked / 1e6:.0f} MB"
        return f"| `{name}` | {n_packages} | {sizes} | {by_pip:.0f} s | {by_uv:.1f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=ROOT, help="a checkout; this one by default")
    parser.add_argument("--extras", nargs="*", default=list(EXTRAS))
    options = parser.parse_args()
    print(f"{machine()}\n\n{HEADING}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(build, cwd=options.source, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        for extra in options.extras:
            print(line(wheel, extra), flush=True)


if __name__ == "__main__":
    main()
