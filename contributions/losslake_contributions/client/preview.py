"""A preview of exactly what is sent of runs: every byte, and what was removed before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from losslake.record.spool import END, RUN
from losslake_contributions.client.privacy import Removal
from losslake_contributions.client.spool import Spool


def preview(spool: Spool, removals: Sequence[Removal]) -> Iterator[str]:
    """Yield the lines of all files of a run as they are sent, and what was removed, which stands in [brackets]."""
    yield f"== {spool.name}"
    for path in _files(spool):
        data = path.read_bytes()
        name = path.relative_to(spool.folder).as_posix()
        yield f"-- {name}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}"
        yield from data.decode("utf-8", "backslashreplace").splitlines()
    yield f"-- removed before: {len(removals):,}" + ("" if removals else ", nothing private was found")
    yield from (f"   {removal}" for removal in removals)


def _files(spool: Spool) -> Iterator[Path]:
    yield spool.folder / RUN
    yield from (segment.path for segment in spool.segments)
    if spool.end is not None:
        yield spool.folder / END
