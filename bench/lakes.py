"""The lake of a benchmark: an existing one, or a temporary one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.archive import write_archive
from bench.plan import Scale
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest

LAKE_HELP = "an existing lake; by default one of a tenth of the published size is made"


@contextmanager
def benchmark_lake(existing: Path | None) -> Iterator[Lake]:
    """Yield the given lake, else a temporary one."""
    if existing:
        yield Lake.open(existing)
        return
    with tempfile.TemporaryDirectory(prefix="losslake-bench-") as folder:
        archive = Path(folder) / "archive.tar.bz2"
        write_archive(archive, Scale())
        lake = Lake.create(Path(folder) / "lake")
        ingest(lake, [archive])
        yield lake
