"""Runs that are sent while they train: their last sign of life, and pieces of their open segments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns and create the tables."""
    op.add_column("losslake_contributions", sa.Column("seen_at", sa.DateTime(timezone=True)))
    op.create_index("ix_losslake_contributions_seen_at", "losslake_contributions", ["seen_at"])
    op.add_column("losslake_contributions", _flag("is_silent"))
    op.add_column("losslake_contribution_segments", _flag("is_partial"))
    op.create_table(
        "losslake_contribution_open_segments",
        *_place(),
        sa.Column("from_step", sa.BigInteger),
        sa.Column("bytes", sa.Integer, nullable=False),
    )
    op.create_table(
        "losslake_contribution_pieces",
        *_place(),
        sa.Column("first_byte", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("lines", sa.LargeBinary, nullable=False),
    )


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())


def _place() -> list[sa.Column[object]]:
    return [
        sa.Column("contribution", sa.String(36), sa.ForeignKey("losslake_contributions.id"), primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("n", sa.Integer, primary_key=True, autoincrement=False),
    ]
