"""Accounts of people who sign in with ORCID, GitHub or another provider, and the tokens that they make."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables, and add the column of tokens."""
    op.create_table(
        "losslake_contribution_accounts",
        sa.Column("issuer", sa.String(255), primary_key=True),
        sa.Column("subject", sa.String(255), primary_key=True),
        sa.Column("contributor", sa.String(36), sa.ForeignKey("losslake_contributors.id"), nullable=False, index=True),
        sa.Column(
            "token", sa.String(16), sa.ForeignKey("losslake_contribution_tokens.id"), nullable=False, unique=True
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, index=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "losslake_contribution_used_sign_ins",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("losslake_contribution_tokens", sa.Column("parent", sa.String(16)))
    op.create_index("ix_losslake_contribution_tokens_parent", "losslake_contribution_tokens", ["parent"])
