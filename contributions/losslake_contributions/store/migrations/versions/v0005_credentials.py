"""Links and sessions as records, and the log of decisions. The key that signs links leaves the database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
_AUDIT = "losslake_contribution_audit"
_REFUSAL = "the log of decisions is append-only"


def upgrade() -> None:
    """Create the tables, and drop that of keys, of which nothing is kept: links of earlier versions end."""
    op.drop_table("losslake_contribution_secrets")
    op.create_table(
        "losslake_contribution_links",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("subject", sa.String(36), nullable=False),
        _token(),
        _time("created_at"),
        _time("expires_at"),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
    )
    is_valid = sa.text("revoked_at IS NULL")
    op.create_index(
        "ux_losslake_contribution_links_subject",
        "losslake_contribution_links",
        ["kind", "subject", "token"],
        unique=True,
        sqlite_where=is_valid,
        postgresql_where=is_valid,
    )
    op.create_table(
        "losslake_contribution_sessions",
        sa.Column("sha256", sa.String(64), primary_key=True),
        _token(),
        _time("created_at"),
        _time("expires_at"),
    )
    _create_audit()


def _create_audit() -> None:
    """Create the log, and have the database refuse changes of what it has."""
    op.create_table(
        _AUDIT,
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        _time("at"),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("token", sa.String(16)),
        sa.Column("contributor", sa.String(36)),
        sa.Column("os_user", sa.Text),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {_AUDIT}_{change.lower()} BEFORE {change} ON {_AUDIT} "
                f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {_AUDIT}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {_AUDIT}_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {_AUDIT} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {_AUDIT}_refuse()"
    )


def _token() -> sa.Column[str]:
    return sa.Column(
        "token", sa.String(16), sa.ForeignKey("losslake_contribution_tokens.id"), nullable=False, index=True
    )


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)
