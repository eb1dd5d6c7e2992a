"""Contributors, their tokens, submissions, contributions and the segments that are held of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    _create_people()
    op.create_table(
        "losslake_submissions",
        sa.Column("id", sa.String(36), primary_key=True),
        _contributor(),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False, index=True),
        _time("submitted_at"),
        _time("changed_at"),
        sa.Column("reason", sa.Text),
        sa.Column("reviewer", sa.Text),
        sa.Column("release", sa.Integer),
        sa.Column("split_from", sa.String(36), index=True),
        sa.Column("report", sa.Text),
    )
    op.create_table(
        "losslake_contribution_secrets",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("key", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "losslake_contributions",
        sa.Column("id", sa.String(36), primary_key=True),
        _contributor(),
        sa.Column("token", sa.String(16), sa.ForeignKey("losslake_contribution_tokens.id"), nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        _time("created_at"),
        sa.Column("finish", sa.Text),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("segments", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("submission", sa.String(36), sa.ForeignKey("losslake_submissions.id"), index=True),
    )
    op.create_table(
        "losslake_contribution_segments",
        sa.Column("contribution", sa.String(36), sa.ForeignKey("losslake_contributions.id"), primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("n", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("from_step", sa.BigInteger),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        _time("received_at"),
    )


def _create_people() -> None:
    op.create_table(
        "losslake_contributors",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("orcid", sa.String(19), unique=True),
        _time("created_at"),
        sa.Column("n_writes", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "losslake_contribution_tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        _contributor(),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False),
        _time("created_at"),
        _time("expires_at"),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("runs", "segments", "bytes", "most_runs", "most_segments", "most_bytes")
        ),
    )


def _contributor() -> sa.Column[str]:
    return sa.Column(
        "contributor", sa.String(36), sa.ForeignKey("losslake_contributors.id"), nullable=False, index=True
    )


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)
