"""The lake of a benchmark: an existing one, or a temporary one; and the smallest that every benchmark can use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.archive import write_archive, write_studies
from bench.plan import Scale, smallest_plans
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


def write_smallest(folder: Path) -> Mapping[str, Path]:
    """Write an archive of few studies and a lake of it; return them by the option that takes them.

    The archive is named as `bench.full` names that of the default scale.
    """
    archive, place = folder / f"synthetic-{Scale.size:g}.tar.bz2", folder / "lake"
    write_studies(archive, smallest_plans(), processes=1)
    lake = Lake.create(place)
    ingest(lake, [archive])
    return {"--archive": archive, "--archives": folder, "--lake": place}
