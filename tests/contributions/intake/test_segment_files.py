"""The files and tables of contributions: kept by maintenance, part of no release, served by nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from fastapi.testclient import TestClient
from sqlalchemy import Engine, create_engine, inspect, update
from sqlalchemy.orm import Session

from losslake.index.maintenance import clean
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake.lake.retention import RetentionPolicy
from losslake.lake.store.folder import FolderStore
from losslake.lake.verification import verify
from losslake_contributions.intake.cleaning import clean_contributions, delete_orphans, delete_unfinished
from losslake_contributions.intake.runs import exists
from losslake_contributions.review.acceptance import accept
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import CHAIN, NEWEST, Base, Contribution, HeldSegment
from losslake_schema.errors import LossLakeError
from losslake_schema.migrating import alembic_config, migrate, version_of
from tests.applications import without_sql
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.review.test_acceptance import check_stored
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.postgresql import PostgreSQL


def files_of(lake: Lake) -> list[str]:
    return sorted(file.path for file in lake.store.list_files("contributions"))


def test_maintenance_keeps_the_files_of_contributions(service: Service, ada: Sender) -> None:
    accepted, waiting = SpooledRun(), SpooledRun(batch_size=7)
    accept(service.database, ada.submitted(accepted), "me")
    name = ada.submitted(waiting)
    before = files_of(service.lake)
    clean(service.lake, RetentionPolicy(datetime.now(UTC) + timedelta(days=1), dry_run=False))
    assert files_of(service.lake) == before
    assert len(before) == 2
    accept(service.database, name, "me")
    check_stored(service.lake, accepted, waiting)


@pytest.fixture(scope="module")
def accepted(shared_service: Service) -> tuple[Lake, SpooledRun, Sender]:
    """A lake with one run, which is accepted, and who sent it."""
    ada, run = shared_service.sender("Ada", ADA), SpooledRun()
    accept(shared_service.database, ada.submitted(run), "me")
    return shared_service.lake, run, ada


def test_no_release_export_or_check_has_the_files_of_contributions(
    accepted: tuple[Lake, SpooledRun, Sender], tmp_path: Path
) -> None:
    lake = accepted[0]
    release = lake.release()
    assert not any("contributions/" in file.path for file in lake.files(release))
    assert verify(lake, release).problems == ()
    export(lake, release, tmp_path / "export")
    exported = [path for path in (tmp_path / "export").rglob("*") if path.is_file()]
    assert exported
    assert not [path for path in exported if path.name.endswith(".zst") or b"llc_" in path.read_bytes()]


def test_the_read_service_serves_no_file_of_contributions_and_writes_none(
    accepted: tuple[Lake, SpooledRun, Sender],
) -> None:
    lake, run, ada = accepted
    (path,) = files_of(lake)
    with TestClient(without_sql(lake), raise_server_exceptions=False) as client:
        assert client.get("/v1/workloads").status_code == 200
        for place in (path, f"1/{path}", f"../{path}", "contributions/", f"1/../{path}"):
            assert client.get(f"/data/{place}").status_code == 404
        for method, place in (("PUT", f"/v1/contributions/{run.id}"), ("GET", "/v1/submissions")):
            response = client.request(method, place, headers={"Authorization": f"Bearer {ada.token}"})
            assert response.status_code in (404, 405)


@pytest.fixture
def either(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service with each kind of database."""
    with serving(request.getfixturevalue(request.param)) as made:
        yield made


@pytest.mark.parametrize(
    "either", ["empty_lake", pytest.param("lake_in_postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_files_that_were_never_acknowledged_are_deleted_after_a_day(either: Service) -> None:
    ada, run = either.sender("Ada", ADA), SpooledRun()
    ada.contribute(run)
    before = files_of(either.lake)
    either.lake.store.put(f"contributions/{run.id}/1-1-left.jsonl.zst", b"left by a request that was killed")
    assert delete_orphans(either.database) == 0
    assert delete_orphans(either.database, timedelta(seconds=-60)) == 1
    assert files_of(either.lake) == before


def test_file_or_run_that_cannot_be_deleted_does_not_keep_others(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [SpooledRun(batch_size=size) for size in (1, 2, 3)]
    for run in runs:
        ada.create(run)
        ada.put(run)
        service.lake.store.put(f"contributions/{run.id}/1-1-left.jsonl.zst", b"left by a request that was killed")
    delete = FolderStore.delete

    def delete_others(store: FolderStore, paths: Sequence[str]) -> None:
        if any(runs[1].id in path for path in paths):
            raise PermissionError("not permitted")
        delete(store, paths)

    monkeypatch.setattr(FolderStore, "delete", delete_others)
    assert delete_orphans(service.database, timedelta(seconds=-60)) == 2
    owner = service.database.read(lambda session: session.get_one(Contribution, runs[0].id).contributor)
    long_ago = datetime.now(UTC) - timedelta(days=31)

    def age(session: Session) -> None:
        session.execute(update(Contribution).values(created_at=long_ago))
        session.execute(update(HeldSegment).values(received_at=long_ago))

    service.database.write(owner, age)
    assert delete_unfinished(service.database, timedelta(days=30)) == 3
    assert {path.split("/")[1] for path in files_of(service.lake)} == {runs[1].id}, "which are orphans now"


@pytest.mark.parametrize("either", ["empty_lake", "lake_in_postgresql"], indirect=True)
def test_runs_that_were_never_finished_are_deleted_after_some_days(either: Service) -> None:
    old, gone_on, empty, done = (SpooledRun(batch_size=size) for size in (1, 2, 3, 4))
    ada = either.sender("Ada", ADA)
    ada.contribute(done)
    for run in (old, gone_on, empty):
        assert ada.create(run).status_code == 201
    assert {ada.put(run).status_code for run in (old, gone_on)} == {201}
    long_ago = datetime.now(UTC) - timedelta(days=31)

    def work(session: Session) -> None:
        session.execute(update(Contribution).values(created_at=long_ago))
        received = update(HeldSegment).where(HeldSegment.contribution != gone_on.id)
        session.execute(received.values(received_at=long_ago))

    owner = either.database.read(lambda session: session.get_one(Contribution, old.id).contributor)
    either.database.write(owner, work)
    assert delete_unfinished(either.database, timedelta(days=32)) == 0
    assert delete_unfinished(either.database, timedelta(days=30)) == 2
    assert delete_unfinished(either.database, timedelta(days=30)) == 0
    assert {path.split("/")[1] for path in files_of(either.lake)} == {gone_on.id, done.id}
    for run, status in ((old, 404), (empty, 404), (gone_on, 200), (done, 200)):
        assert ada.send("GET", f"/v1/contributions/{run.id}").status_code == status
    ada.contribute(old)
    assert ada.submit(old, done).status_code == 201


@pytest.mark.parametrize("either", ["empty_lake", "lake_in_postgresql"], indirect=True)
def test_withdrawn_submission_names_a_run_that_was_deleted_since(either: Service) -> None:
    ada, run, other = either.sender("Ada", ADA), SpooledRun(), SpooledRun(batch_size=7)
    name = ada.submitted(run, other)
    ada.send("POST", f"/v1/submissions/{name}/withdraw")
    run.segments["0001/000002.jsonl"] = rows(range(5, 7))
    assert ada.put(run, "0001/000002.jsonl").status_code == 201, "it goes on"
    assert delete_unfinished(either.database, timedelta(days=-1)) == 1
    shown = ada.send("GET", f"/v1/submissions/{name}").json()
    assert (shown["n_runs"], set(shown["contributions"])) == (2, {run.id, other.id})
    assert ([each["id"] for each in shown["runs"]], shown["bytes"]) == (
        [other.id],
        len(other.data("0001/000001.jsonl")),
    )


def test_the_service_deletes_unfinished_runs_unless_told_not_to(empty_lake: Lake) -> None:
    run = SpooledRun()
    with serving(empty_lake) as service:
        assert service.sender("Ada", ADA).create(run).status_code == 201
        owner = service.database.read(lambda session: session.get_one(Contribution, run.id).contributor)
        long_ago = update(Contribution).values(created_at=datetime.now(UTC) - timedelta(days=31))
        service.database.write(owner, lambda session: session.execute(long_ago) and None)
    for days, is_kept in ((0.0, True), (32.0, True), (30.0, False)):
        clean_contributions(Database.open(empty_lake), days)
        assert exists(Database.open(empty_lake), run.id) is is_kept


def test_a_lake_without_contributions_is_not_touched(empty_lake: Lake) -> None:
    with pytest.raises(LossLakeError, match="takes no contributions: make a token with 'losslake tokens create"):
        Database.open(empty_lake)
    names = inspect(empty_lake.engine).get_table_names()
    assert not [name for name in names if "contribut" in name or "submission" in name]
    Database.create(empty_lake)
    Database.create(empty_lake)
    assert Lake.open(empty_lake.folder).newest_release() is None


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    if request.param == "sqlite":
        return create_engine(f"sqlite:///{tmp_path / 'catalog.db'}")
    server: PostgreSQL = request.getfixturevalue("postgresql")
    return create_engine(server.new_database())


def test_migrations_lead_to_the_tables_of_the_code(engine: Engine) -> None:
    migrate(engine, NEWEST, CHAIN)
    ours = set(Base.metadata.tables)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, kind, _: kind != "table" or name in ours}
        )
        assert compare_metadata(context, Base.metadata) == []
        assert version_of(connection, CHAIN) == NEWEST
        assert ScriptDirectory.from_config(alembic_config(connection, CHAIN)).get_heads() == [NEWEST]
    engine.dispose()
