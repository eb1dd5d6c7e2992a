"""Notices of trials that were withdrawn from later releases, or erased from all, as the ledger has them.

Releases never change, so that they don't have them. They are read without SQLAlchemy, whose import takes longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from losslake.lake.lake import Lake
from losslake_schema.release import utc

WITHDRAWN, RESTORED, ERASED = "withdrawn", "restored", "erased"


@dataclass(frozen=True)
class Notice:
    """A trial that was withdrawn or erased.

    trial: its name; sha256:… of it if the name was erased as well. kind: WITHDRAWN or ERASED. release: the first one
    without it. by: who erased it. content_digest: of an erased trial, or of a release before trials were erased from
    it, whose trial is empty.
    """

    trial: str
    kind: str
    at: datetime
    reason: str
    release: int | None
    by: str = ""
    content_digest: str = ""


def read_notices(lake: Lake) -> Sequence[Notice]:
    """Return the notices of a lake, oldest first: without trials that were restored, and each trial once."""
    rows = lake.rows(
        "SELECT outcome, path, sha256, offered_at, reason, release, source FROM losslake_ledger "  # noqa: S608
        f"WHERE outcome IN ('{WITHDRAWN}', '{RESTORED}', '{ERASED}') ORDER BY id"
    )
    active: dict[tuple[str, str | None], Notice] = {}  # by log, of which a trial may have several
    erased: list[Notice] = []
    for outcome, path, sha256, at, reason, release, source in rows:
        if outcome == ERASED:
            erased.append(Notice(path, ERASED, utc(at), reason or "", release, source, sha256 or ""))
        elif outcome == WITHDRAWN:
            active[path, sha256] = Notice(path, WITHDRAWN, utc(at), reason or "", release)
        else:
            active.pop((path, sha256), None)
    gone = {notice.trial for notice in erased}
    withdrawn = {(notice.trial, notice.at): notice for notice in active.values() if notice.trial not in gone}
    return [*withdrawn.values(), *erased]
