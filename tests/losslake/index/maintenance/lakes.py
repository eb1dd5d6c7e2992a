"""Lakes with a history, and the invariants that maintenance must preserve."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.manifest import read_manifest_list

from losslake.index.maintenance import CleanupReport, clean
from losslake.lake import publishing
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.retention import RetentionPolicy, unlist
from losslake.lake.verification import verify
from losslake_ingest.run import ingest
from losslake_schema.release import Release
from losslake_schema.tables import TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked


def ingest_study(lake: Lake, folder: Path, value: float, batch_size: int = 8) -> None:
    """Ingest a study, or a correction of it, as a new release."""
    rows = [f"{step},{value / (1 + step)!r}" for step in range(3)]
    ingest(lake, [unpacked(folder, study_files({1: TrialOffer(rows, header="step,val/loss")}, batch_size))])


def ingest_study_killed(lake: Lake, folder: Path, value: float, batch_size: int = 8) -> None:
    """Ingest a study, but stop after its files are written and before its release is saved."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as killing:
        killing.setattr(publishing, "publish_release", killed)
        with pytest.raises(KeyboardInterrupt):
            ingest_study(lake, folder, value, batch_size)


def policy(grace: timedelta = timedelta(0), dry_run: bool = False) -> RetentionPolicy:
    return RetentionPolicy(datetime.now(UTC) - grace, dry_run=dry_run)


def unlist_and_clean(lake: Lake, *numbers: int) -> CleanupReport:
    """Run maintenance without a grace time."""
    unlist(lake, numbers)
    return clean(lake, policy())


def stored(lake: Lake) -> set[str]:
    """Return the paths of data files, file lists and Iceberg files, except earlier table metadata."""
    logs = [entry.metadata_file for name in TABLES for entry in lake.table(name).metadata.metadata_log]
    earlier = {url.removeprefix(f"{lake.store.url}/") for url in logs}
    return {file.path for folder in ("warehouse", "releases") for file in lake.store.list_files(folder)} - earlier


def needed(lake: Lake) -> set[str]:
    """Return the paths that a lake must hold, derived from its listed releases and Iceberg metadata."""
    paths: set[str] = set()
    for release in lake.releases():
        paths |= {release.manifest, *(file.path for file in lake.files(release))}
    for name in TABLES:
        table = lake.table(name)
        named = [table.metadata_location]
        for snapshot in table.metadata.snapshots:
            named.append(snapshot.manifest_list)
            named += [m.manifest_path for m in read_manifest_list(table.io.new_input(snapshot.manifest_list))]
        paths |= {url.removeprefix(f"{lake.store.url}/") for url in named}
    return paths


def content(lake: Lake, release: Release) -> list[tuple[object, ...]]:
    """Return batch size and content digest of each trial of a release."""
    trials = read_small_table(lake.store, lake.files(release), "trials")
    return sorted(zip(*(trials[name].to_pylist() for name in ("batch_size", "content_digest")), strict=True))


def problems(lake: Lake) -> Sequence[str]:
    return [problem for release in lake.releases() for problem in verify(lake, release).problems]
