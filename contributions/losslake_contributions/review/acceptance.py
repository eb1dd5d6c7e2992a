"""Acceptance of a submission: its runs enter the next release of the lake.

One transaction publishes the release and accepts the submission. Before it, nothing has changed: the submission waits,
whatever was killed or failed, and may be withdrawn, returned or split, also while it is being accepted; whoever commits
first has decided. After it, the submission is accepted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from losslake.lake.publishing import PublicationRefused
from losslake_contributions.protocol.errors import ContributionError, SegmentBroken
from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.review.archive import SubmissionArchive
from losslake_contributions.review.draft import REQUEST
from losslake_contributions.review.submissions import find_any, record_acceptance
from losslake_contributions.store.database import Database
from losslake_ingest.contracts.report import Quarantined, Summary
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.plan import plan_ingest
from losslake_ingest.run import ingest
from losslake_schema.contributors import DATA_COLLECTION, Contributor

_MOST_NAMED = 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Acceptance:
    """The result: the submission, and remarks on runs that are stored though something in them was quarantined."""

    submission: SubmissionStatus
    remarks: tuple[str, ...]


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
    try:
        summary = _ingest(database, read, reviewer, report)
    except PublicationRefused as refusal:
        accepted = find_any(database, submission)
        if accepted.state == "accepted":
            return Acceptance(accepted, ())  # by another reviewer meanwhile
        raise ContributionError("conflict", str(refusal)) from None
    accepted = find_any(database, submission)
    _log.info("%s accepted the submission %s into release %s", reviewer, submission, accepted.release)
    return Acceptance(accepted, tuple(str(each) for each in summary.quarantined[:_MOST_NAMED]))


def credited(status: SubmissionStatus) -> tuple[Contributor, ...]:
    """Return who is credited for the runs of a submission: those that it names, else who sent it."""
    named = status.contributors or (status.owner,)
    return tuple(Contributor(each.name, each.orcid, each.role or DATA_COLLECTION, status.id) for each in named)


def _ingest(database: Database, read: SubmissionStatus, reviewer: str, report: str | None) -> Summary:
    """Publish the runs of a submission as it was read, and accept it. Raises ContributionError, PublicationRefused."""
    archive = SubmissionArchive(database, read.id)
    request = replace(REQUEST, contributors=credited(read))
    also = partial(record_acceptance, read=read, reviewer=reviewer, report=report)
    try:
        _check_all_storable(database, archive, read)
        return ingest(database.lake, [archive], request, notes=archive.name, also=also)
    except SourceBroken:
        _raise_failure(archive)
        raise


def _check_all_storable(database: Database, archive: SubmissionArchive, read: SubmissionStatus) -> None:
    """Raise ContributionError if an ingest would leave out a run."""
    plan = plan_ingest(database.lake, [archive], REQUEST)
    if plan.broken:
        _raise_failure(archive)
        raise ContributionError("not-storable", f"the runs can't be read: {plan.broken[0]}")
    n_missing = read.n_runs - sum(study.trials for study in plan.studies.values())
    if n_missing > 0:
        _raise_left_out(n_missing, plan.quarantined)


def _raise_failure(archive: SubmissionArchive) -> None:
    """Raise why an archive could not be read to its end, if that is so."""
    if isinstance(archive.failure, SegmentBroken):
        detail = f"{archive.failure} and accept the submission again, or return it"
        raise ContributionError("not-storable", detail) from None
    if archive.failure is not None:
        raise archive.failure from None


def _raise_left_out(count: int, quarantined: Sequence[Quarantined]) -> None:
    reasons = [f"{each.path}: {each.message}" for each in quarantined]
    more = f"; {'; '.join(reasons[:_MOST_NAMED])}" if reasons else ""
    detail = f"{count:,} runs can't be stored{more}: return the submission, or split them off first"
    raise ContributionError("not-storable", detail, quarantined=reasons[:1000])
