"""Files of contributions are their owner's only, whatever the umask, also of lakes that exist already."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from losslake.lake.lake import Lake
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.people.tokens import list_tokens
from losslake_contributions.review.review import Reviews
from losslake_contributions.store.database import Database
from losslake_contributions.store.private_files import SIGNING_KEY
from losslake_contributions.store.tables import CHAIN
from losslake_schema.migrating import migrate
from tests.contributions.conftest import ADA, serving
from tests.contributions.spooled_runs import SpooledRun

PRIVATE = ("catalog.db", "contributions", "drafts", SIGNING_KEY)
KEY = b"the key that signed links before"


@pytest.fixture(params=[0o000, 0o022, 0o027])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_to_others(lake: Lake, bits: int = stat.S_IRWXG | stat.S_IRWXO) -> list[str]:
    """The private files and folders of a lake that others may use."""
    found = [path for path in lake.folder.iterdir() if path.name.startswith(PRIVATE)]
    assert {path.name for path in found} >= {"catalog.db", "contributions", "drafts"}
    return sorted(path.name for path in found if path.stat().st_mode & bits)


def test_new_files_are_closed_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    # All of it is public until it takes contributions.
    assert stat.S_IMODE((lake.folder / "catalog.db").stat().st_mode) == 0o644 & ~umask
    with serving(lake) as service:
        name = service.sender("Ada", ADA).submitted(SpooledRun())
        Reviews(service.database).review(name)
        assert {path.name for path in lake.folder.glob("catalog.db*")} >= {"catalog.db-wal", "catalog.db-shm"}
        assert open_to_others(lake) == []
        assert (lake.folder / SIGNING_KEY).is_file()


def lake_of_before(folder: Path) -> Lake:
    """A lake of an earlier version, with the key in its database and files that everybody may read."""
    lake = Lake.create(folder / "lake")
    migrate(lake.engine, "0002", CHAIN)
    with lake.engine.begin() as connection:
        values = {"name": "draft links", "key": KEY}
        connection.execute(text("INSERT INTO losslake_contribution_secrets VALUES (:name, :key)"), values)
        people = {"id": "a", "name": "Ada", "now": datetime.now(UTC)}
        connection.execute(text("INSERT INTO losslake_contributors VALUES (:id, :name, NULL, :now, 0)"), people)
    for name in ("contributions", "drafts"):
        (lake.folder / name).mkdir()
    loosen(lake, 0o644, 0o755)
    assert KEY in bytes_of(lake)
    return lake


def loosen(lake: Lake, file: int, folder: int) -> None:
    for path in lake.folder.glob("catalog.db*"):
        path.chmod(file)
    for name in ("contributions", "drafts"):
        (lake.folder / name).chmod(folder)


def bytes_of(lake: Lake) -> bytes:
    return b"".join(path.read_bytes() for path in lake.folder.glob("catalog.db*"))


def test_upgrade_closes_a_lake_and_removes_the_key_from_it(tmp_path: Path) -> None:
    lake = lake_of_before(tmp_path)
    reader = lake.engine.connect()  # of a service that goes on
    reader.exec_driver_sql("SELECT 1 FROM losslake_releases").all()
    reader.rollback()
    database = Database.open(lake)
    assert open_to_others(lake) == []
    assert KEY not in bytes_of(lake)
    assert (
        database.read(lambda session: session.execute(text("SELECT name FROM losslake_contributors")).scalar()) == "Ada"
    )
    assert SigningKey.of(lake).read() != KEY
    reader.close()


def test_upgrade_that_was_killed_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of_before(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("losslake_contributions.store.database.migrate", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Database.open(lake)
    Database.open(lake)
    assert KEY not in bytes_of(lake)


def test_lake_that_everybody_may_read_is_closed_when_it_is_opened(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    Database.create(lake)
    SigningKey.of(lake).file.chmod(0o604)
    loosen(lake, 0o644, 0o755)
    Database.open(lake)
    assert open_to_others(lake) == []


def test_what_a_group_may_read_on_purpose_stays(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    Database.create(lake)
    loosen(lake, 0o640, 0o750)
    list_tokens(Database.open(lake))
    assert open_to_others(lake, stat.S_IRWXO) == []
    assert set(open_to_others(lake)) >= {"catalog.db", "contributions", "drafts"}


def test_new_key_keeps_the_owner_of_the_old_one(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    key = SigningKey.of(lake)
    if os.geteuid() == 0:
        os.chown(key.file, 12_345, 12_345)
    before = key.file.stat()
    key.replace()
    after = key.file.stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (before.st_uid, before.st_gid, 0o600)
    assert [path.name for path in lake.folder.iterdir() if SIGNING_KEY in path.name] == [SIGNING_KEY]


def test_folders_made_by_root_are_for_the_owner_of_the_lake(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    if os.geteuid() == 0:
        os.chown(lake.folder, 12_345, 12_345)
    Database.create(lake)
    owner = lake.folder.stat().st_uid
    assert {(lake.folder / name).stat().st_uid for name in ("contributions", "drafts")} == {owner}
    assert SigningKey.of(lake).file.stat().st_uid == owner
