"""Acceptance of a submission: its runs enter the next release of the lake.

It may be repeated after a failure at any moment. While it runs, nobody can withdraw, return or split the submission.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from losslake_contributions.archive import SubmissionArchive, submission_archive
from losslake_contributions.contract.submissions import SubmissionStatus
from losslake_contributions.drafts.draft import REQUEST
from losslake_contributions.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_contributions.store.submissions import (
    begin_acceptance,
    end_acceptance,
    find_any,
    release_of,
    source_name,
    trials_of,
)
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.plan import plan_ingest
from losslake_ingest.run import ingest
from losslake_schema.contributors import DATA_COLLECTION, Contributor
from losslake_schema.errors import LossLakeError

_MOST_NAMED = 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Acceptance:
    """The result: the submission, and remarks on runs that are stored though something in them was quarantined."""

    submission: SubmissionStatus
    remarks: tuple[str, ...]


def accept(database: Database, submission: str, reviewer: str) -> Acceptance:
    """Ingest the runs of a submission, and record the release that has them.

    Raises ContributionError, and stores nothing, if a run would be left out: a submission is accepted as a whole, or
    split first. Accepted again, nothing changes.
    """
    if not begin_acceptance(database, reviewer, submission):
        return Acceptance(find_any(database, submission), ())
    with submission_archive(database, submission) as archive:
        status = find_any(database, submission)
        n_runs, request = status.n_runs, replace(REQUEST, contributors=credited(status))
        try:
            _check_all_storable(database, archive, n_runs, submission)
        except LossLakeError:
            end_acceptance(database, submission, None)
            raise
        summary = ingest(database.lake, [archive], request, notes=source_name(submission))
    stored = database.read(lambda session: trials_of(session, submission))
    if len(stored) < n_runs or summary.release is None:
        # An ingest beside this one stored copies meanwhile. What is stored stays; the next attempt says what isn't.
        _raise_left_out(n_runs - len(stored), summary.quarantined)
    # Not that of the summary if an interrupted acceptance had published it.
    release = database.read(lambda session: release_of(session, submission)) or summary.release
    end_acceptance(database, submission, release)
    _log.info("%s accepted the submission %s into release %s", reviewer, submission, release)
    return Acceptance(find_any(database, submission), tuple(str(each) for each in summary.quarantined[:_MOST_NAMED]))


def credited(status: SubmissionStatus) -> tuple[Contributor, ...]:
    """Return who is credited for the runs of a submission: those that it names, else who sent it."""
    named = status.contributors or (status.owner,)
    return tuple(Contributor(each.name, each.orcid, each.role or DATA_COLLECTION, status.id) for each in named)


def _check_all_storable(database: Database, archive: SubmissionArchive, n_runs: int, submission: str) -> None:
    """Raise ContributionError if an ingest would leave out a run."""
    if len(database.read(lambda session: trials_of(session, submission))) == n_runs:
        return  # an acceptance was interrupted after it had published
    plan = plan_ingest(database.lake, [archive], REQUEST)
    n_trials = sum(study.trials for study in plan.studies.values())
    if plan.broken:
        raise ContributionError("not-storable", f"the runs can't be read: {plan.broken[0]}")
    if n_trials < n_runs:
        _raise_left_out(n_runs - n_trials, tuple(plan.quarantined))


def _raise_left_out(count: int, quarantined: tuple[Quarantined, ...]) -> None:
    reasons = [f"{each.path}: {each.message}" for each in quarantined]
    more = f"; {'; '.join(reasons[:_MOST_NAMED])}" if reasons else ""
    detail = f"{count:,} runs can't be stored{more}: return the submission, or split them off first"
    raise ContributionError("not-storable", detail, quarantined=reasons[:1000])
