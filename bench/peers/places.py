"""The archive, the lake and the unpacked files to ask; what isn't given is made in a temporary folder."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import rapidgzip

from bench.archive import write_archive
from bench.plan import Scale
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError

_READERS = 8


@dataclass(frozen=True)
class Given:
    """What there is already; None for what is to be made. scale: of an archive that is to be made."""

    archive: Path | None = None
    lake: Path | None = None
    unpacked: Path | None = None
    scale: float = Scale.size


@dataclass(frozen=True)
class Places:
    """The same data three times. scratch: an empty folder that is gone afterwards."""

    lake: Lake
    unpacked: Path
    scratch: Path


@contextmanager
def places(given: Given) -> Iterator[Places]:
    """Everything to ask; raises LossLakeError where it can't be."""
    if given.archive is None and (given.lake is None) != (given.unpacked is None):
        raise LossLakeError("--lake and --unpacked are of one archive: give both, or --archive as well")
    with tempfile.TemporaryDirectory(prefix="losslake-bench-") as temporary:
        scratch = Path(temporary)
        archive = given.archive
        if archive is None and given.lake is None:
            archive = scratch / "archive.tar.bz2"
            write_archive(archive, Scale(given.scale))
        yield Places(_lake(given, archive, scratch), _unpacked(given, archive, scratch), scratch)


def _lake(given: Given, archive: Path | None, scratch: Path) -> Lake:
    if given.lake is not None or archive is None:
        return Lake.open(given.lake)
    lake = Lake.create(scratch / "lake")
    ingest(lake, [archive])
    return lake


def _unpacked(given: Given, archive: Path | None, scratch: Path) -> Path:
    if given.unpacked is not None or archive is None:
        folder = given.unpacked or Path()
        _read_once(folder)
        return folder
    folder = scratch / "unpacked"
    with (
        rapidgzip.IndexedBzip2File(str(archive), parallelization=0) as stream,
        tarfile.open(fileobj=stream, mode="r|") as entries,
    ):
        # Of an archive that bench.archive made, extractall would check and set more than it writes.
        for entry in entries:
            file = folder / entry.name
            content = entries.extractfile(entry)
            if content is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
    return folder


def _read_once(folder: Path) -> None:
    """Read every file, so that they are in the page cache, as they are after unpacking."""
    with ThreadPoolExecutor(_READERS) as readers:
        for _ in readers.map(Path.read_bytes, (path for path in folder.rglob("*") if path.is_file())):
            pass
