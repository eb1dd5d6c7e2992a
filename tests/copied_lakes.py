"""Lakes in folders, created by copying one: to create its tables takes 9 ms, a copy a fifth of that.

Processes that tests start create their lakes themselves, and so do tests that use the fixture `lakes_are_created`.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from losslake.lake.lake import Lake

DATABASE = "catalog.db"


@pytest.fixture(scope="session", autouse=True)
def lakes_are_copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Lake], None]]:
    """Yield what creates the tables of a lake."""
    from losslake.lake.lake import Lake
    from losslake.lake.location import in_folder

    create_tables = Lake._create_tables

    @cache
    def original() -> Path:
        lake = Lake(in_folder(tmp_path_factory.mktemp("empty")))
        create_tables(lake)
        return lake.folder

    def copy_tables(lake: Lake) -> None:
        if lake.location.is_folder and not any(lake.folder.iterdir()):
            _copy(original(), lake.folder)
        else:
            create_tables(lake)

    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(Lake, "_create_tables", copy_tables)
        yield create_tables


@pytest.fixture(scope="session", autouse=True)
def tables_of_contributions_are_copied() -> Iterator[None]:
    """Create the tables of contributions in one step where a database has none."""
    from sqlalchemy import Engine, create_engine, inspect

    from losslake_contributions.store.tables import CHAIN, NEWEST
    from losslake_schema.migrating import Chain, migrate

    @cache
    def statements() -> list[str]:
        engine = create_engine("sqlite://")
        migrate(engine, NEWEST, CHAIN)
        with engine.connect() as connection:
            tables = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").scalars().all()
        return [*tables, f"INSERT INTO {CHAIN.version_table} VALUES ('{NEWEST}')"]

    def copy_tables(engine: Engine, version: str, chain: Chain) -> None:
        if engine.dialect.name != "sqlite" or inspect(engine).has_table(CHAIN.version_table):
            migrate(engine, version, chain)
        else:
            with engine.begin() as connection:
                for statement in statements():
                    connection.exec_driver_sql(statement)

    with pytest.MonkeyPatch.context() as changes:
        changes.setattr("losslake_contributions.store.database.migrate", copy_tables)
        yield


@pytest.fixture
def lakes_are_created(lakes_are_copied: Callable[[Lake], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Lake.create do its own work."""
    monkeypatch.setattr("losslake.lake.lake.Lake._create_tables", lakes_are_copied)


def _copy(original: Path, folder: Path) -> None:
    """Copy a lake without releases."""
    with closing(sqlite3.connect(original / DATABASE)) as theirs, closing(sqlite3.connect(folder / DATABASE)) as own:
        theirs.backup(own)
    shutil.copyfile(original / "lake.toml", folder / "lake.toml")
