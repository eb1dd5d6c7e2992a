"""The environment of Alembic: the tables of LossLake, on the connection in the configuration."""

from __future__ import annotations

from alembic import context

from losslake_schema.database import Base
from losslake_schema.migrating import VERSION_TABLE

OURS = frozenset(Base.metadata.tables)

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    include_name=lambda name, kind, _: kind != "table" or name in OURS,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
