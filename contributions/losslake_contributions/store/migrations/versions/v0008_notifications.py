"""The webhooks and addresses of contributors, and what is sent there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
_CHANNELS, _DELIVERIES = "losslake_contribution_channels", "losslake_contribution_deliveries"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        _CHANNELS,
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("contributor", sa.String(36), sa.ForeignKey("losslake_contributors.id"), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("events", sa.String(100), nullable=False),
        sa.Column("base", sa.Text, nullable=False),
        _time("created_at"),
        sa.Column("confirmed_at", sa.DateTime(timezone=True)),
        _time("next_at"),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.UniqueConstraint("contributor", "kind"),
    )
    op.create_table(
        _DELIVERIES,
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("channel", sa.String(32), sa.ForeignKey(f"{_CHANNELS}.id"), nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("subject", sa.String(36), nullable=False),
        sa.Column("occasion", sa.String(40), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        _time("created_at"),
        _time("changed_at"),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("channel", "event", "subject", "occasion"),
    )


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)
