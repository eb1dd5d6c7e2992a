"""Submissions have no state `accepting` any more: they wait until the transaction that publishes their runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ACCEPTING = sa.text("SELECT id FROM losslake_submissions WHERE state = 'accepting'")
_RELEASE = sa.text("""
    SELECT count(*), (SELECT min(release) FROM losslake_ledger WHERE source = :source) FROM losslake_ledger
    WHERE source = :source AND outcome = 'placed'
""")
_DECIDE = sa.text("UPDATE losslake_submissions SET state = :state, release = :release WHERE id = :id")


def upgrade() -> None:
    """Accept the submissions whose runs were published before a kill, and let the others wait again."""
    connection = op.get_bind()
    for name in connection.scalars(_ACCEPTING).all():
        n_trials, release = connection.execute(_RELEASE, {"source": f"contributions/{name}"}).one()
        decided = {"state": "accepted", "release": release} if n_trials else {"state": "submitted", "release": None}
        connection.execute(_DECIDE, {"id": name, **decided})
