"""Published logs: a sample of each corpus in tests/data, and whole corpora where they lie beside the repository.

Each sample has a SOURCE.txt that names its publisher, commit and licence, and what of the corpus was left out.
"""

from __future__ import annotations

import os
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

import pyarrow as pa
import pytest

from tests.archives import unpack_tar

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "data"
# LOSSLAKE_LOGS: another folder of all logs, as that of `losslake bundle --logs`.
CORPORA = Path(os.environ.get("LOSSLAKE_LOGS") or ROOT.parent / "shared" / "corpora")

# For a test of a sample that runs on the whole corpus as well, in `make slow`, where that is there.
SAMPLE_AND_WHOLE = ("sample", pytest.param("whole", marks=pytest.mark.slow)) if CORPORA.is_dir() else ("sample",)


@cache
def _unpacked() -> TemporaryDirectory[str]:
    """Return a folder that is removed when this process ends."""
    return TemporaryDirectory(prefix="losslake-samples-")


@cache
def sample(name: str) -> Path:
    """Return the folder of a corpus's sample, unpacked once for each process."""
    folder = Path(_unpacked().name)
    unpack_tar(SAMPLES / name / "sample.tar.xz", folder)
    return folder / name


def texts_in(source: Path) -> dict[str, str]:
    """Return the text of each file of a folder or a .tar.zst by its path, which begins with the folder's name."""
    if source.is_dir():
        paths = [path for path in source.rglob("*") if path.is_file()]
        return {path.relative_to(source.parent).as_posix(): path.read_text("utf-8", "replace") for path in paths}
    with tarfile.open(fileobj=cast(IO[bytes], pa.CompressedInputStream(str(source), "zstd")), mode="r|") as archive:
        files = ((entry.name, archive.extractfile(entry)) for entry in archive)
        return {name: file.read().decode("utf-8", "replace") for name, file in files if file is not None}


def corpus(name: str, part: str) -> Path:
    """Return the folder of a corpus: its "sample", or the "whole" of it. Skips the test if that isn't there."""
    if part == "whole" and not (CORPORA / name).is_dir():
        pytest.skip(f"{name} isn't among the published logs at hand")
    return CORPORA / name if part == "whole" else sample(name)
