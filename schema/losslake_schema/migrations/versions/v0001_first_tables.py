"""Releases, their snapshots, the ledger and the remembered sources."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "losslake_releases",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("content_digest", sa.String(64), nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("manifest_sha256", sa.String(64), nullable=False),
        sa.Column("n_studies", sa.BigInteger, nullable=False),
        sa.Column("n_trials", sa.BigInteger, nullable=False),
        sa.Column("n_evaluations", sa.BigInteger, nullable=False),
        sa.Column("n_measurements", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "losslake_release_snapshots",
        sa.Column("release", sa.Integer, sa.ForeignKey("losslake_releases.number"), primary_key=True),
        sa.Column("table", sa.String(64), primary_key=True),
        sa.Column("snapshot_id", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "losslake_ledger",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("offered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source", sa.Text, nullable=False, index=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64)),
        sa.Column("format", sa.String(64), nullable=False),
        sa.Column("study", sa.Text),
        sa.Column("outcome", sa.String(16), nullable=False, index=True),
        sa.Column("rule", sa.String(64)),
        sa.Column("line", sa.BigInteger),
        sa.Column("reason", sa.Text),
        sa.Column("release", sa.Integer),
    )
    op.create_table(
        "losslake_remembered_sources",
        sa.Column("manner", sa.String(64), primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("told", sa.Text, nullable=False),
    )
