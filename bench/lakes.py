"""The archive and the lake of a benchmark: existing ones, or temporary ones of a tenth of the published size."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.archive import write_archive, write_studies
from bench.plan import Scale, smallest_plans
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest

ARCHIVE_HELP = "an archive made by bench.archive; by default one of a tenth of the published size is made"
LAKE_HELP = "an existing lake; by default one of a tenth of the published size is made"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="losslake-bench-") as folder:
        yield Path(folder)


@contextmanager
def benchmark_archive(existing: Path | None) -> Iterator[Path]:
    """Yield the given archive, else a temporary one."""
    if existing:
        yield existing
        return
    with temporary_folder() as folder:
        archive = folder / "archive.tar.bz2"
        write_archive(archive, Scale())
        yield archive


@contextmanager
def benchmark_lake(existing: Path | None, archive: Path | None = None) -> Iterator[Lake]:
    """Yield the given lake, else a temporary one of the archive."""
    if existing:
        yield Lake.open(existing)
        return
    with benchmark_archive(archive) as source, temporary_folder() as folder:
        lake = Lake.create(folder / "lake")
        ingest(lake, [source])
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
