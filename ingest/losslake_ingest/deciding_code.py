"""What of LossLake itself decides how a source is read, as one digest: it changes with every line of that code."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection
from pathlib import Path

import losslake.lake
import losslake_ingest
import losslake_schema
from losslake_ingest.formats.format import Format

_PACKAGES = (losslake_ingest, losslake_schema, losslake.lake)
_LEFT_OUT = "__pycache__"


@functools.cache
def deciding_code() -> str:
    """The sha256 over every file of the packages that read logs and say what a measurement is."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for folder in sorted(map(Path, package.__path__)):
            for file in sorted(folder.rglob("*")):
                if file.is_file() and _LEFT_OUT not in file.parts:
                    data = file.read_bytes()
                    digest.update(f"{file.relative_to(folder.parent)}\0{len(data)}\0".encode())
                    digest.update(data)
    return digest.hexdigest()


def are_ours(formats: Collection[Format]) -> bool:
    """Whether all of these formats are LossLake's own: the code of others may change without a sign."""
    return all(type(one).__module__.partition(".")[0] == losslake_ingest.__name__ for one in formats)
