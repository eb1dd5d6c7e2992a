"""The version of our tables in a lake's database: told when a lake is opened, and brought up to date by Alembic."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from losslake_schema.errors import LakeBroken

if TYPE_CHECKING:
    from alembic.config import Config

NEWEST = "0002"
"""The version that this LossLake works with: the last in `schema/losslake_schema/migrations/versions`."""

VERSION_TABLE = "losslake_version"
_FIRST = "0001"
_FIRST_TABLE = "losslake_releases"


def check(engine: Engine, lake: str) -> None:
    """Raise LakeBroken unless the tables in a lake's database are those that this LossLake works with.

    lake: its name for a command line.
    """
    with engine.connect() as connection:
        version = version_of(connection)
        is_there = version is not None or inspect(connection).has_table(_FIRST_TABLE)
    if version == NEWEST:
        return
    if not is_there:
        raise LakeBroken(f"the database {engine.url.render_as_string()} of the lake {lake} is empty: restore it")
    if version is not None and version > NEWEST:
        raise LakeBroken(
            f"the tables of the lake {lake} have version {version}, newer than {NEWEST}: use a newer LossLake"
        )
    had = f"have version {version}" if version is not None else "are older"
    raise LakeBroken(f"the tables of the lake {lake} {had}, LossLake needs {NEWEST}: run 'losslake init --lake {lake}'")


def version_of(connection: Connection) -> str | None:
    """The version of the tables in a database; None where nobody noted it."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    return str(found) if found is not None else None


def migrate(engine: Engine) -> None:
    """Make our tables, or bring them to the newest version; all of it or nothing. One at a time, please."""
    from alembic import command

    with engine.begin() as connection:
        config = alembic_config(connection)
        if version_of(connection) is None and inspect(connection).has_table(_FIRST_TABLE):
            command.stamp(config, _FIRST)  # made before versions were noted
        command.upgrade(config, "head")


def alembic_config(connection: Connection) -> Config:
    """What Alembic needs to know to work on a connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resources.files("losslake_schema.migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
