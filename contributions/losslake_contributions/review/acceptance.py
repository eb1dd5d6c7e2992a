"""Acceptance of a submission: its runs enter the next release of the lake.

One transaction publishes the release and accepts the submission. Before it, nothing has changed: the submission waits,
whatever was killed or failed, and may be withdrawn, returned or split, also while it is being accepted; whoever commits
first has decided. After it, the submission is accepted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from losslake.index.serving import build_if_used
from losslake.lake.publishing import PublicationRefused
from losslake_contributions.notifications.outbox import notify
from losslake_contributions.people import audit
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError, SegmentBroken
from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.review.archive import SubmissionArchive
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.draft import REQUEST
from losslake_contributions.review.review import Reviews
from losslake_contributions.review.submissions import find_any, row_of, source_name, status_of, trials_of
from losslake_contributions.store.database import LOCK, Database
from losslake_contributions.store.tables import Submission
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.run import ingest
from losslake_schema.contributors import DATA_COLLECTION, Contributor
from losslake_schema.database import LedgerEntry, ReleaseRow
from losslake_schema.release import Release

_MOST_REMARKS, _MOST_REASONS, _MOST_ERRORS, _MOST_LISTED = 10, 10, 3, 1000
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Acceptance:
    """The result: the submission, and remarks on runs that are stored though something in them was quarantined."""

    submission: SubmissionStatus
    remarks: tuple[str, ...]


class _NotStorable(PublicationRefused):
    """Runs that the ingest leaves out. reasons: those of the quarantine."""

    def __init__(self, count: int, reasons: Sequence[str]) -> None:
        more = f"; {'; '.join(reasons[:_MOST_REASONS])}" if reasons else ""
        super().__init__(f"{count:,} runs can't be stored{more}: return the submission, or split them off first")
        self.reasons = reasons


def accept_as(database: Database, reviews: Reviews, name: str, identity: Identity) -> Acceptance:
    """Accept a submission for a reviewer. Raises ContributionError as `accept_reviewed`, and for what they sent."""
    identity.require("review")
    if row_of(database, name).contributor == identity.contributor:
        raise ContributionError("forbidden", f"{name} is your own submission: another reviewer accepts it")
    return accept_reviewed(database, reviews, name, identity.credit.name)


def accept_reviewed(database: Database, reviews: Reviews, name: str, reviewer: str) -> Acceptance:
    """Accept a submission, and keep the report of the checks; accepted again, nothing changes.

    Raises ContributionError if a check refuses a run, or a run can't be stored.
    """
    checked = None
    if find_any(database, name, with_runs=False).state != "accepted":
        report = reviews.review(name).report
        _check_not_refused(report)
        checked = report.to_json()
    acceptance = accept(database, name, reviewer, checked)
    reviews.forget(name)
    return acceptance


def _check_not_refused(report: Report) -> None:
    if report.refuses:
        errors = [str(finding) for finding in report.findings if finding.severity == "error"]
        more = f", and {len(errors) - _MOST_ERRORS:,} more" if len(errors) > _MOST_ERRORS else ""
        detail = f"the checks refuse it: {'; '.join(errors[:_MOST_ERRORS])}{more}: return it, or split the runs off"
        raise ContributionError("refused", detail, findings=errors[:_MOST_LISTED])


def accept(database: Database, submission: str, reviewer: str, report: str | None = None) -> Acceptance:
    """Ingest the runs of a submission, and record the release that has them. report: JSON, that of the checks.

    Raises ContributionError, and stores nothing, if a run would be left out: a submission is accepted as a whole, or
    split first. Accepted again, nothing changes.
    """
    read = find_any(database, submission, with_runs=False)
    if read.state == "accepted":
        return Acceptance(find_any(database, submission), ())
    if read.state != "submitted":
        detail = f"{submission} is {read.state}: only one that is submitted can be accepted"
        raise ContributionError("conflict", detail)
    archive = SubmissionArchive(database, submission)
    request = replace(REQUEST, contributors=credited(read))
    also = partial(_record, read=read, reviewer=reviewer, report=report)
    try:
        summary = ingest(database.lake, [archive], request, notes=archive.name, also=also, build=build_if_used)
    except SourceBroken:
        if isinstance(archive.failure, SegmentBroken):
            detail = f"{archive.failure} and accept the submission again, or return it"
            raise ContributionError("not-storable", detail) from None
        if archive.failure is not None:
            raise archive.failure from None
        raise
    except _NotStorable as refusal:
        raise ContributionError("not-storable", str(refusal), quarantined=refusal.reasons[:_MOST_LISTED]) from None
    except PublicationRefused as refusal:
        accepted = find_any(database, submission)
        if accepted.state == "accepted":
            return Acceptance(accepted, ())  # by another reviewer meanwhile
        raise ContributionError("conflict", str(refusal)) from None
    accepted = find_any(database, submission)
    _log.info("%s accepted the submission %s into release %s", reviewer, submission, accepted.release)
    return Acceptance(accepted, tuple(str(each) for each in summary.quarantined[:_MOST_REMARKS]))


def credited(status: SubmissionStatus) -> tuple[Contributor, ...]:
    """Return who is credited for the runs of a submission: those that it names, else who sent it."""
    named = status.contributors or (status.owner,)
    return tuple(Contributor(each.name, each.orcid, each.role or DATA_COLLECTION, status.id) for each in named)


def _record(
    session: Session, release: Release | None, *, read: SubmissionStatus, reviewer: str, report: str | None
) -> None:
    """Record that a submission is accepted, in the transaction that publishes its runs; a `publishing.Also`.

    release: None if all runs were stored before. read: the submission as its runs were read; report: JSON, of the
    checks. Raises PublicationRefused if it was decided or changed since, or a run isn't stored.
    """
    owner = session.get_one(Submission, read.id).contributor
    session.execute(LOCK, {"contributor": owner})
    row = session.get_one(Submission, read.id, populate_existing=True)
    now = status_of(session, row, with_runs=False)
    if row.state != "submitted":
        raise PublicationRefused(f"{row.id} was {row.state} meanwhile")
    if (now.contributions, now.licence, now.contributors) != (read.contributions, read.licence, read.contributors):
        raise PublicationRefused(f"{row.id} was changed while it was accepted: look at it again")
    # Two runs of one trial are one run too many.
    n_missing = len(now.contributions) - len(set(trials_of(session, row.id).values()))
    if n_missing:
        raise _NotStorable(n_missing, _reasons(session, row.id))
    row.state, row.reviewer, row.changed_at = "accepted", reviewer, datetime.now(UTC)
    row.report = report if report is not None else row.report
    row.release = release.number if release is not None else _first_release(session, read.id)
    audit.record(session, "accept submission", row.id, f"release {row.release}")
    notify(session, owner, "accepted", row.id)


def _reasons(session: Session, submission: str) -> list[str]:
    """Return why runs of a submission aren't stored, as the ledger has it."""
    of_source = LedgerEntry.source == source_name(submission), LedgerEntry.outcome == "quarantined"
    query = select(LedgerEntry.path, LedgerEntry.reason).where(*of_source, LedgerEntry.reason.is_not(None))
    return [f"{path}: {reason}" for path, reason in session.execute(query.order_by(LedgerEntry.id))]


def _first_release(session: Session, submission: str) -> int | None:
    """Return the release that first had runs of a submission, as the ledger has it, or the newest."""
    first = select(func.min(LedgerEntry.release)).where(LedgerEntry.source == source_name(submission))
    return session.scalar(first) or session.scalar(select(func.max(ReleaseRow.number)))
