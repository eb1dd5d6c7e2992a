"""The runs of a submission, which were in the JSON of its request, are rows of a table."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_REQUESTS = sa.text("SELECT id, request FROM losslake_submissions")
_SET_REQUEST = sa.text("UPDATE losslake_submissions SET request = :request WHERE id = :id")


def upgrade() -> None:
    """Create the table, and move the runs of each submission into it."""
    table = op.create_table(
        "losslake_submission_runs",
        sa.Column("submission", sa.String(36), sa.ForeignKey("losslake_submissions.id"), primary_key=True),
        sa.Column("contribution", sa.String(36), primary_key=True, index=True),
    )
    connection = op.get_bind()
    for submission, text in connection.execute(_REQUESTS).all():
        request = json.loads(text)
        runs = request.pop("contributions")
        op.bulk_insert(table, [{"submission": submission, "contribution": run} for run in runs])
        without_runs = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
        connection.execute(_SET_REQUEST, {"id": submission, "request": without_runs})
