"""Unpacking an archive, for peers that read its files."""

from __future__ import annotations

import tarfile
from pathlib import Path

import rapidgzip


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of an archive that bench.archive made: tarfile.extractall checks and sets more than it writes."""
    with (
        rapidgzip.IndexedBzip2File(str(archive), parallelization=0) as stream,
        tarfile.open(fileobj=stream, mode="r|") as entries,
    ):
        for entry in entries:
            content = entries.extractfile(entry)
            if content is not None:
                file = folder / entry.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
