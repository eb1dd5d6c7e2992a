"""The version of the tables in a lake's database: checked when a lake is opened, upgraded with Alembic.

Tables that only some lakes have, such as those of contributions, are a chain of migrations of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from losslake_schema.errors import LakeBroken

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection, Engine, MetaData

# The version that this LossLake needs: the last one in `schema/losslake_schema/migrations/versions`.
NEWEST = "0003"
VERSION_TABLE = "losslake_version"
_FIRST = "0001"
_FIRST_TABLE = "losslake_releases"


@dataclass(frozen=True)
class Chain:
    """A chain of migrations. package: of its scripts. version_table: where a database records how far it has come."""

    package: str
    version_table: str


RELEASES = Chain("losslake_schema.migrations", VERSION_TABLE)


def check(engine: Engine, lake: str) -> None:
    """Raise LakeBroken unless the tables in a lake's database have the version that this LossLake needs.

    lake: the value of --lake, for the message.
    """
    with engine.connect() as connection:
        version = version_of(connection)
        exists = has_tables(connection)
    if version == NEWEST:
        return
    if not exists:
        raise LakeBroken(f"the database {engine.url.render_as_string()} of the lake {lake} is empty: restore it")
    if version is not None and version > NEWEST:
        state = f"have version {version}, newer than {NEWEST}: use a newer LossLake"
    else:
        stated = f"have version {version}" if version is not None else "have an older version"
        state = f"{stated} and its data files an older layout: run 'losslake init --rewrite --lake {lake}'"
    raise LakeBroken(f"the tables of the lake {lake} {state}")


def version_of(connection: Connection, chain: Chain = RELEASES) -> str | None:
    """Return the version of the tables in a database, or None if none is recorded."""
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table(chain.version_table):
        return None
    version = connection.execute(text(f"SELECT version_num FROM {chain.version_table}")).scalar()  # noqa: S608
    return str(version) if version is not None else None


def create(connection: Connection) -> None:
    """Create the tables of the newest version, as the migrations do: Alembic takes longer to import than the rest."""
    from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table

    from losslake_schema.database import Base

    version = Table(
        VERSION_TABLE,
        MetaData(),
        Column("version_num", String(32), nullable=False),
        PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
    )
    Base.metadata.create_all(connection, checkfirst=False)
    version.create(connection, checkfirst=False)
    connection.execute(version.insert().values(version_num=NEWEST))


def has_tables(connection: Connection) -> bool:
    """Return True if a database has tables of any version."""
    from sqlalchemy import inspect

    return not {_FIRST_TABLE, VERSION_TABLE}.isdisjoint(inspect(connection).get_table_names())


def migrate(engine: Engine, version: str = NEWEST, chain: Chain = RELEASES) -> None:
    """Create the tables, or upgrade them to a version, in one transaction; not safe to run concurrently."""
    from alembic import command
    from sqlalchemy import inspect

    with engine.begin() as connection:
        config = alembic_config(connection, chain)
        is_unversioned = chain == RELEASES and version_of(connection) is None
        if is_unversioned and inspect(connection).has_table(_FIRST_TABLE):
            command.stamp(config, _FIRST)  # created before versions were recorded
        command.upgrade(config, version)


def alembic_config(connection: Connection, chain: Chain = RELEASES) -> Config:
    """Return the configuration with which Alembic works on a connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resources.files(chain.package)).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def run_migrations(metadata: MetaData, chain: Chain) -> None:
    """Run the migrations that Alembic was asked for; for the file env.py of a chain. Other tables are left alone."""
    from alembic import context

    ours = frozenset(metadata.tables)
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table=chain.version_table,
        include_name=lambda name, kind, _: kind != "table" or name in ours,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()
