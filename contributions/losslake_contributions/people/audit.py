"""The log of decisions: who accepted, returned, withdrew, split, erased, revoked or made tokens, when, from where.

An entry is written in the transaction of its decision, and the database refuses to change or delete one. So it has no
text that anybody sent, which an erasure would have to remove: ids, an address, and the account of a command.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import AuditEntry, Contributor

COMMAND_LINE = "command line"


@dataclass(frozen=True)
class Actor:
    """The person who decides. origin: the address of the client. token, contributor: those of the request."""

    origin: str
    token: str
    contributor: str


# Of the current request, also in the threads that work for it; None in a command.
acting: ContextVar[Actor | None] = ContextVar("acting", default=None)


# An entry as it is listed. subject: the id of the submission, run, token, link or key that it is about. who: the
# contributor's name as it is now, or the account of a command.
_LISTED = select(
    AuditEntry.at,
    AuditEntry.action,
    AuditEntry.subject,
    func.coalesce(Contributor.name, AuditEntry.user, "").label("who"),
    AuditEntry.token,
    AuditEntry.origin,
    AuditEntry.detail,
).outerjoin(Contributor, Contributor.id == AuditEntry.contributor)
Decision = Row[datetime, str, str, str, str | None, str, str]


def record(session: Session, action: str, subject: str, detail: str = "", actor: Actor | None = None) -> None:
    """Add a decision to the log. detail: ids and numbers, never a text of others. actor: default, of the request."""
    actor = actor or acting.get()
    who = {"user": _account(), "origin": COMMAND_LINE} if actor is None else vars(actor)
    session.add(AuditEntry(at=datetime.now(UTC), action=action, subject=subject, detail=detail, **who))


def _account() -> str:
    """Return the name of this process's account; its number if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())


def list_decisions(database: Database, limit: int, subject: str | None = None) -> Sequence[Decision]:
    """Return decisions, newest first. subject: only those about it."""
    rows = _LISTED.order_by(AuditEntry.id.desc()).limit(limit)
    if subject is not None:
        rows = rows.where(AuditEntry.subject == subject)
    return database.read(lambda session: session.execute(rows).all())
