"""Runs: created with their facts, read by their owner and by reviewers. Each step may be repeated, with one result."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from losslake_contributions.people import quotas
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.contributions import ContributionStatus, RunFacts, SubmissionOfRun
from losslake_contributions.protocol.errors import ContributionError, unknown_contribution
from losslake_contributions.protocol.texts import reason_of
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, Submission, SubmissionRun


def parse_facts(body: bytes) -> str:
    """Return the run.json of a request's body, as the recorder writes it; raise ContributionError for anything else."""
    try:
        RunFacts.model_validate_json(body)
    except ValidationError as error:
        raise ContributionError("bad-document", reason_of(error)) from None
    document = json.loads(body)
    # The reader of spools recognizes a run.json by its first key.
    return json.dumps({"format": document.pop("format"), **document}, indent=1, ensure_ascii=False)


def exists(database: Database, run: str) -> bool:
    """Return True if somebody has created a contribution."""
    return database.read(lambda session: session.get(Contribution, run) is not None)


def contributor_of(database: Database, run: str) -> str | None:
    """Return the id of who sent a run, also of an erased one; None for an unknown run."""
    return database.read(lambda session: session.scalar(select(Contribution.contributor).where(Contribution.id == run)))


def create(database: Database, identity: Identity, run: str, facts: str) -> bool:
    """Create a contribution; return False if it exists with the same facts. Raise ContributionError otherwise."""

    def work(session: Session) -> bool:
        row = session.get(Contribution, run)
        if row is None:
            quotas.use(session, identity.token, runs=1, document_bytes=len(facts.encode()))
            session.add(
                Contribution(
                    id=run, contributor=identity.contributor, token=identity.token, facts=facts,
                    created_at=datetime.now(UTC), segments=0, bytes=0,
                )
            )  # fmt: skip
            session.flush()
            return True
        if row.contributor == identity.contributor:
            check_not_erased(row.id, row.is_erased)
        # Nobody learns whether another contributor's run has the same facts.
        if row.contributor != identity.contributor or json.loads(row.facts) != json.loads(facts):
            detail = f"there is a contribution {run} with other facts: a run keeps its run.json, and another one its id"
            raise ContributionError("conflict", detail)
        return False

    try:
        return database.write(identity.contributor, work)
    except IntegrityError:
        # Another contributor created it meanwhile.
        return database.write(identity.contributor, work)


def status(database: Database, identity: Identity, run: str) -> ContributionStatus:
    """Return the state of a contribution. Raise ContributionError unless it is the identity's, or it reviews."""

    def query(session: Session) -> ContributionStatus:
        row = readable(session, identity, run)
        submission = session.get(Submission, row.submission) if row.submission else _last_submission(session, row)
        of_run = SubmissionOfRun.model_validate(submission, from_attributes=True) if submission else None
        return ContributionStatus.model_construct(
            id=run, state=row.state, n_segments=row.segments, bytes=row.bytes, submission=of_run
        )

    return database.read(query)


def _last_submission(session: Session, row: Contribution) -> Submission | None:
    """Return the last submission that a run was in before it was returned or withdrawn."""
    query = select(Submission).join(SubmissionRun, SubmissionRun.submission == Submission.id)
    of_run = query.where(SubmissionRun.contribution == row.id, Submission.contributor == row.contributor)
    return session.scalar(of_run.order_by(Submission.changed_at.desc()).limit(1))


def facts_of(database: Database, identity: Identity, run: str) -> str:
    """Return the run.json of a contribution, as text. Raise ContributionError as `status` does."""
    return database.read(lambda session: readable(session, identity, run).facts)


def owned(session: Session, identity: Identity, run: str) -> Contribution:
    """Return a run of the identity; raise ContributionError if there is none."""
    row = session.get(Contribution, run)
    if row is None or row.contributor != identity.contributor:
        raise unknown_contribution(run)
    return row


def readable(session: Session, identity: Identity, run: str) -> Contribution:
    """Return a run of the identity, or any for reviewers; raise ContributionError if there is none."""
    row = session.get(Contribution, run)
    if row is None or not (row.contributor == identity.contributor or identity.is_reviewer):
        raise unknown_contribution(run)
    return row


def check_not_erased(run: str, is_erased: bool) -> None:
    """Raise ContributionError for the tombstone of a run."""
    if is_erased:
        raise ContributionError("conflict", f"{run} was erased: it isn't taken again")


def check_free(session: Session, run: str, submission: str | None) -> None:
    """Raise ContributionError if a run is in a submission, so that it can't change."""
    if submission is None:
        return
    state = session.get_one(Submission, submission).state
    change = f"{run} has gone on since it was finished"
    if state == "submitted":
        raise ContributionError("conflict", f"{change}, and {submission} has it as it was: withdraw that first")
    raise ContributionError("conflict", f"{change}, and is {state} as it was: record a run of its own")
