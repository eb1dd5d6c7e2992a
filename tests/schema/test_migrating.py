"""Versions of the catalog's tables: older ones are migrated, newer ones refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, create_engine, inspect, text

from losslake.lake.lake import Lake
from losslake_schema.database import Base
from losslake_schema.errors import LakeBroken
from losslake_schema.migrating import NEWEST, VERSION_TABLE, alembic_config, check, create, migrate, version_of
from tests.servers.postgresql import PostgreSQL


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Yield an empty database."""
    if request.param == "postgresql":
        server: PostgreSQL = request.getfixturevalue("postgresql")
        made = create_engine(server.new_database())
    else:
        made = create_engine(f"sqlite:///{tmp_path / 'catalog.db'}")
    yield made
    made.dispose()


def test_migrations_lead_to_the_tables_of_the_code(engine: Engine) -> None:
    migrate(engine)
    ours = set(Base.metadata.tables)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, kind, _: kind != "table" or name in ours}
        )
        assert compare_metadata(context, Base.metadata) == []
        assert version_of(connection) == NEWEST


def test_tables_that_are_created_at_once_are_those_of_the_migrations(engine: Engine) -> None:
    migrate(engine)
    migrated, tables = described(engine), MetaData()
    tables.reflect(engine)
    tables.drop_all(engine)
    assert described(engine) == {}
    with engine.begin() as connection:
        create(connection)
        assert version_of(connection) == NEWEST
    assert described(engine) == migrated
    check(engine, "lake")


def described(engine: Engine) -> dict[str, Any]:
    """The columns, keys, indexes and constraints of each table."""
    tables = inspect(engine)
    return {
        name: [
            [column | {"type": repr(column["type"])} for column in tables.get_columns(name)],
            tables.get_pk_constraint(name),
            tables.get_foreign_keys(name),
            sorted(map(str, tables.get_indexes(name))),
            tables.get_unique_constraints(name),
            tables.get_check_constraints(name),
        ]
        for name in tables.get_table_names()
    }


def test_the_newest_version_is_the_last_migration(engine: Engine) -> None:
    with engine.connect() as connection:
        assert ScriptDirectory.from_config(alembic_config(connection)).get_heads() == [NEWEST]


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO losslake_remembered_sources VALUES ('m', 1, 's', 't')"))
    migrate(engine)
    check(engine, "lake")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM losslake_remembered_sources")).scalar() == 1


def test_tables_without_a_recorded_version_are_upgraded(engine: Engine) -> None:
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "0001")
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
    with pytest.raises(LakeBroken, match=r"have an older version and .*: run 'losslake init --rewrite --lake here'"):
        check(engine, "here")
    migrate(engine)
    check(engine, "here")


def test_an_empty_database_is_reported_as_empty(engine: Engine) -> None:
    with pytest.raises(LakeBroken, match="of the lake here is empty: restore it"):
        check(engine, "here")


def test_a_newer_database_requires_a_newer_losslake(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(LakeBroken, match=r"version 9999.* use a newer LossLake"):
        check(engine, "here")


def test_a_migration_that_fails_leaves_the_database_as_it_was(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the machine failed")

    with monkeypatch.context() as failing:
        failing.setattr("alembic.runtime.migration.HeadMaintainer.update_to_step", fail)
        with pytest.raises(RuntimeError, match="the machine failed"):
            migrate(engine)
    if engine.dialect.name == "postgresql":  # SQLite keeps the empty tables, and the next run begins anew
        assert inspect(engine).get_table_names() == []
    else:
        for name in inspect(engine).get_table_names():
            with engine.begin() as connection:
                connection.execute(text(f'DROP TABLE "{name}"'))
    migrate(engine)
    check(engine, "here")


@pytest.mark.usefixtures("lakes_are_created")
def test_a_lake_opens_only_with_the_needed_version_of_its_tables(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    with lake.engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
    for use in (Lake.open, Lake.create):
        with pytest.raises(LakeBroken, match="run 'losslake init --rewrite"):
            use(tmp_path / "lake")
