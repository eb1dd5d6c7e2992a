"""The environment of Alembic: the tables of LossLake, on the connection in the configuration."""

from __future__ import annotations

from losslake_schema.database import Base
from losslake_schema.migrating import RELEASES, run_migrations

run_migrations(Base.metadata, RELEASES)
