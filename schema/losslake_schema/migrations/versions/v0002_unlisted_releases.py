"""When a release was taken out of the list."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # SQLite takes back no change of a table: a run that was killed may have made this one.
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("losslake_releases")}
    if "unlisted_at" not in there:
        op.add_column("losslake_releases", sa.Column("unlisted_at", sa.DateTime(timezone=True)))
