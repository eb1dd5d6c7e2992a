"""A bundle's bytes depend on its content only."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.run import ingest
from losslake_schema.tables import TABLES
from tests.archives import unpack_tar
from tests.ingest.bundles.made_up import LOGS, bundle_of, logs_at, members


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of(tmp_path_factory.mktemp("bundle"))


def test_the_same_content_has_the_same_bytes_however_the_lake_came_to_it(bundle: Path, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "in-parts")
    logs = logs_at(tmp_path / "first", {path: data for path, data in LOGS.items() if "b16" in path})
    ingest(lake, [logs], notes="another time")
    ingest(lake, [logs_at(tmp_path / "logs")])
    write_bundle(lake, lake.release(), tmp_path / "again.tar", "https://host/c@1")
    assert (tmp_path / "again.tar").read_bytes() == bundle.read_bytes()


def test_a_bundle_has_no_times_users_or_random_names(bundle: Path) -> None:
    with tarfile.open(bundle) as archive:
        facts = {(each.mtime, each.uid, each.gid, each.uname, each.gname, each.mode) for each in archive}
        names = archive.getnames()
    assert facts == {(0, 0, 0, "", "", 0o644)}
    assert names[0] == "bundle.json"
    assert names[1:] == sorted(names[1:])


def test_files_of_a_bundle_have_the_columns_of_the_tables(bundle: Path, tmp_path: Path) -> None:
    unpack_tar(bundle, tmp_path)
    for name in ("collections", "goals", "metrics", "studies", "trials", "measurements"):
        assert pq.read_schema(tmp_path / f"{name}.parquet").names == TABLES[name].names
    assert set(pq.read_table(tmp_path / "studies.parquet")["source"].to_pylist()) == {"https://host/c@1"}


def test_paths_begin_at_the_root_of_what_was_published(bundle: Path, tmp_path: Path) -> None:
    lake = Lake.open(bundle.parent / "lake-c")
    write_bundle(lake, lake.release(), tmp_path / "short.tar", "https://host/c@1", ["runs/"])
    for name in ("trials", "quarantined"):
        (tmp_path / name).write_bytes(members(tmp_path / "short.tar")[f"{name}.parquet"])
        column = "source" if name == "trials" else "path"
        assert all(path.startswith("ann/") for path in pq.read_table(tmp_path / name)[column].to_pylist())
