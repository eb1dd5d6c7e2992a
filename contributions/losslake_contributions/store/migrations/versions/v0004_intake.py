"""Columns for the bytes that open segments use of a quota, and for a quota of documents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
_MOST_DOCUMENT_BYTES = 50_000_000  # the default of a new token


def upgrade() -> None:
    """Add the columns: pieces that are held have counted as many bytes as they have."""
    op.add_column("losslake_contribution_open_segments", _count("charged"))
    op.execute("UPDATE losslake_contribution_open_segments SET charged = bytes")
    op.add_column("losslake_contribution_tokens", _count("document_bytes"))
    op.add_column("losslake_contribution_tokens", _count("most_document_bytes", _MOST_DOCUMENT_BYTES))


def _count(name: str, default: int = 0) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=str(default))
