"""What Alembic runs for each command: our tables, on the connection that it was given."""

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
