"""Lakes as they come to be after a while, and what has to be true of them whatever was done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.manifest import read_manifest_list

from losslake.index.maintenance import Cleaned, clean
from losslake.lake import publishing
from losslake.lake.data_files import stored_table
from losslake.lake.lake import Lake
from losslake.lake.retention import Terms, unlist
from losslake.lake.verification import verify
from losslake_ingest.run import ingest
from losslake_schema.database import Release
from losslake_schema.tables import TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked


def take_in(lake: Lake, folder: Path, value: float, batch_size: int = 8) -> None:
    """One more release: a study, or the correction of it."""
    rows = [f"{step},{value / (1 + step)!r}" for step in range(3)]
    ingest(lake, [unpacked(folder, study_files({1: TrialOffer(rows=rows)}, batch_size))])


def take_in_killed(lake: Lake, folder: Path, value: float, batch_size: int = 8) -> None:
    """An ingest that is killed before its release is there, when all its files are."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as killing:
        killing.setattr(publishing, "store", killed)
        with pytest.raises(KeyboardInterrupt):
            take_in(lake, folder, value, batch_size)


def terms(grace: timedelta = timedelta(0), only_look: bool = False) -> Terms:
    return Terms(datetime.now(UTC) - grace, only_look=only_look)


def unlisted_and_clean(lake: Lake, *numbers: int) -> Cleaned:
    """What a maintenance without a grace time does."""
    unlist(lake, numbers)
    return clean(lake, terms())


def stored(lake: Lake) -> set[str]:
    """The data files of a lake, the lists of them, and Iceberg's files but for earlier metadata of tables."""
    logs = [entry.metadata_file for name in TABLES for entry in lake.table(name).metadata.metadata_log]
    earlier = {url.removeprefix(f"{lake.store.url}/") for url in logs}
    return {file.path for folder in ("warehouse", "releases") for file in lake.store.listed(folder)} - earlier


def needed(lake: Lake) -> set[str]:
    """What a lake has to hold, told in another way than by the code: by what its listed releases and Iceberg name."""
    found: set[str] = set()
    for release in lake.releases():
        found |= {release.manifest, *(file.path for file in lake.files(release))}
    for name in TABLES:
        table = lake.table(name)
        named = [table.metadata_location]
        for snapshot in table.metadata.snapshots:
            named.append(snapshot.manifest_list)
            named += [m.manifest_path for m in read_manifest_list(table.io.new_input(snapshot.manifest_list))]
        found |= {url.removeprefix(f"{lake.store.url}/") for url in named}
    return found


def content(lake: Lake, release: Release) -> list[tuple[object, ...]]:
    """The trials of a release and what each says."""
    trials = stored_table(lake.store, lake.files(release), "trials")
    return sorted(zip(*(trials[name].to_pylist() for name in ("batch_size", "content_digest")), strict=True))


def problems(lake: Lake) -> Sequence[str]:
    return [problem for release in lake.releases() for problem in verify(lake, release).problems]
