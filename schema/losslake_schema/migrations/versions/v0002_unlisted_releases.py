"""The time at which a release was unlisted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column `unlisted_at`."""
    # SQLite does not roll back changes of a table: a killed run may have made this one.
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("losslake_releases")}
    if "unlisted_at" not in columns:
        op.add_column("losslake_releases", sa.Column("unlisted_at", sa.DateTime(timezone=True)))
