"""The environment of Alembic: the tables of contributions, on the connection in the configuration."""

from __future__ import annotations

from losslake_contributions.store.tables import CHAIN, Base
from losslake_schema.migrating import run_migrations

run_migrations(Base.metadata, CHAIN)
