"""Data files of layout 3: these tables stay the same, but `losslake init --rewrite` converts the files first."""

from __future__ import annotations

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Change nothing."""
