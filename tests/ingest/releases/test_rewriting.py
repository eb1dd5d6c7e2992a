"""A lake of layout 2 becomes one of layout 3 with the same releases, or stays as it is.

tests/data/layout_2 holds a lake that the last version with layout 2 wrote, and the rows of its views.
"""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from losslake.index.maintenance import clean
from losslake.index.serving import open_release
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.retention import RetentionPolicy
from losslake.lake.store.store import DataFile
from losslake.lake.verification import verify
from losslake_ingest.releases.rewriting import _with_comparators, rewrite
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.tables import GOALS
from tests.archives import unpack_tar
from tests.forked import Forked
from tests.ingest.offers import TrialOffer, study_files, unpacked

STORED = Path(__file__).parents[2] / "data/layout_2/lake.tar.xz"
VIEWS = ("measurements", "records", "trials", "collections", "metrics", "goals", "studies")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a lake of layout 2."""
    unpack_tar(STORED, tmp_path)
    return tmp_path / "lake"


def rewrite_lake(lake: Path) -> None:
    rewrite(lake)


def rows(lake: Lake, view: str, release: int) -> pa.Table:
    connection = open_release(lake, lake.release(release))
    found = connection.sql(f"SELECT * FROM {view} ORDER BY ALL").to_arrow_table()
    connection.close()
    return found


def check_whole(lake: Lake, old: Path) -> None:
    assert [release.number for release in lake.releases()] == [3, 2, 1]
    for release in lake.releases():
        assert verify(lake, release).problems == ()
        for view in VIEWS:
            before = feather.read_table(old.parent / f"expected/{view}-{release.number}.arrow")
            found = rows(lake, view, release.number)
            if view == "studies":
                assert set(found["source"].to_pylist()) <= {"logs", "corrected", "runs"}
                before, found = before.drop_columns("source"), found.drop_columns("source")
            added = set(found.column_names) - set(before.column_names)
            assert added <= {"also_submitted", "comparator", "n_missed", "schedule"}
            found = found.drop_columns(list(added))
            assert list(map(repr, found.to_pylist())) == list(map(repr, before.to_pylist())), (view, release.number)


@pytest.mark.slow
def test_every_release_has_the_same_rows_number_time_notes_and_digest(old: Path) -> None:
    facts = (
        "SELECT number, created_at, notes, content_digest, n_studies, n_trials, n_measurements FROM losslake_releases"
    )
    with sqlite3.connect(old / "catalog.db") as connection:
        before = connection.execute(facts).fetchall()
    lake = rewrite(old)
    with sqlite3.connect(old / "catalog.db") as connection:
        assert connection.execute(facts).fetchall() == before
    check_whole(lake, old)


@pytest.mark.slow
def test_a_rewritten_lake_takes_ingests_and_loses_its_old_files(old: Path, tmp_path: Path) -> None:
    lake = rewrite(old)
    offer = unpacked(tmp_path / "new", study_files({1: TrialOffer()}, 8))
    assert ingest(lake, [offer]).release == 4
    clean(lake, RetentionPolicy(datetime.now(UTC)))
    used = {file.path for release in lake.releases() for file in lake.files(release)}
    kept = {path.relative_to(old).as_posix() for path in (old / "warehouse").rglob("data/**/*.parquet")}
    assert kept == used
    for path in used:
        assert not {"digits", "interval"} & set(pq.read_schema(old / path).names)
    assert lake.table("measurements").scan().to_arrow()["value"].null_count == 0
    assert all(verify(lake, release).problems == () for release in lake.releases())


@pytest.mark.slow
def test_rewriting_again_changes_nothing(old: Path) -> None:
    lake = rewrite(old)
    before = {path: path.stat().st_mtime_ns for path in old.rglob("*") if path.is_file() and "catalog" not in path.name}
    rewrite(old)
    assert before == {path: path.stat().st_mtime_ns for path in before}
    check_whole(lake, old)


@pytest.mark.parametrize("use", [Lake.open, Lake.create])
def test_an_older_lake_is_refused_with_the_command_to_rewrite_it(old: Path, use: object) -> None:
    with pytest.raises(LakeBroken, match=r"data files an older layout: run 'losslake init --rewrite --lake .*/lake'"):
        use(old)  # type: ignore[operator]


def test_a_damaged_file_leaves_the_lake_as_it_was(old: Path) -> None:
    path = min((old / "warehouse").rglob("*.parquet"))
    path.write_bytes(b"PAR1 nothing PAR1")
    before = (old / "catalog.db").read_bytes()
    with pytest.raises(LakeBroken, match="was altered"):
        rewrite(old)
    assert (old / "catalog.db").read_bytes() == before


@pytest.mark.slow
def test_a_release_published_meanwhile_stops_the_rewriting(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def publish(*_: object) -> None:
        with sqlite3.connect(old / "catalog.db") as connection:
            connection.execute("UPDATE losslake_releases SET manifest = 'other' WHERE number = 3")

    with pytest.raises(LossLakeError, match="another process changed the releases"):
        rewrite(old, publish)


@pytest.mark.slow
def test_killed_at_any_moment_leaves_the_old_lake_or_the_new_one(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # whoever is killed leaves its temporary files
    chance = random.Random(4)
    assert Forked(print).wait() == 0  # starts the server that forks
    unpack_tar(STORED, tmp_path / "timed")
    started = time.monotonic()
    assert Forked(rewrite_lake, tmp_path / "timed/lake").wait() == 0
    longest = time.monotonic() - started
    killed = 0
    while killed < 10:
        process = Forked(rewrite_lake, old)
        time.sleep(chance.uniform(0, longest))
        if process.is_running():
            killed += 1
        else:
            longest /= 2  # it was measured while the machine was busier
        process.kill()
        assert process.wait() in (0, -signal.SIGKILL)
        with sqlite3.connect(old / "catalog.db") as connection:
            (version,) = connection.execute("SELECT version_num FROM losslake_version").fetchone()
        if version == "0002":
            with pytest.raises(LakeBroken, match="--rewrite"):
                Lake.open(old)
        else:
            check_whole(Lake.open(old), old)
            shutil.rmtree(old)
            unpack_tar(STORED, tmp_path)
    check_whole(rewrite(old), old)


def test_goals_of_layout_2_become_strict_as_they_were(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    goal = {"collection": "c", "dataset": "d", "model": "m", "optimizer": "o", "metric": "v/x", "target": 0.3}
    names = [name for name in GOALS.names if name != "comparator"]
    path = lake.folder / "warehouse/goals.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.Table.from_pylist([goal | {"source": "s"}], pa.schema([GOALS.field(name) for name in names])), path
    )
    file = DataFile("goals", "warehouse/goals.parquet", path.stat().st_size, "", 1)
    new = _with_comparators(lake.store, file)
    (row,) = read_small_table(lake.store, [new], "goals").to_pylist()
    assert row == goal | {"comparator": "strict", "source": "s"}
