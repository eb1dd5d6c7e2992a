"""Submissions: made of finished contributions, withdrawn by their contributor, returned or split by a reviewer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

import orjson
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake_contributions.notifications.outbox import notify
from losslake_contributions.people import audit, quotas
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.contributions import SubmissionState
from losslake_contributions.protocol.errors import ContributionError, unknown_contribution, unknown_submission
from losslake_contributions.protocol.submissions import (
    Credit,
    SubmissionList,
    SubmissionRequest,
    SubmissionStatus,
    SubmissionSummary,
    SubmittedRun,
)
from losslake_contributions.protocol.texts import new_submission_id
from losslake_contributions.review.checks.report import Report
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import ERASED_FACTS, Contribution, Contributor, Submission, SubmissionRun
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study
from losslake_schema.tables import STUDY_KEYS

STATES: tuple[str, ...] = get_args(SubmissionState)
PAGE = 100
_DECISIONS = {"returned": "return submission", "withdrawn": "withdraw submission"}
_PLACED = "placed"  # outcome of the ledger's entries that name the trials of a source
_MOST_NAMED = 20
_MOST_ERRORS = 100
# Fields of a summary that are columns of the row.
_OF_ROW = ("id", "state", "submitted_at", "changed_at", "reason", "reviewer", "release", "split_from")
_RUNS_AT_ONCE = 20  # in memory: each has up to 256 kB of facts
_STATUS = re.compile(r'\{"status":"([A-Z]+)"')
_BEGIN_OF_END = 40


def source_name(submission: str) -> str:
    """Return the name under which the lake's ledger has the runs of a submission."""
    return f"contributions/{submission}"


def submit(database: Database, identity: Identity, request: SubmissionRequest) -> tuple[str, bool]:
    """Submit runs; return the id of the submission, and False if they were submitted in the same way before.

    Raise ContributionError if a run is unknown, unfinished, or in another submission.
    """
    digest, name = _digest(request), new_submission_id()

    # Facts never change. They are read before the transaction, as they may be large and it holds up other writers.
    database.read(lambda session: _check_licences(session, identity, request))

    def work(session: Session) -> tuple[str, bool]:
        rows = _contributions(session, identity, request.contributions)
        same = select(Submission).where(Submission.contributor == identity.contributor, Submission.sha256 == digest)
        earlier = session.scalar(same.order_by(Submission.submitted_at.desc()).limit(1))
        if earlier is not None:
            return earlier.id, earlier.id == name
        _check_submittable(rows)
        # Those that are withdrawn stay as well.
        quotas.use(session, identity.token, document_bytes=len(request.model_dump_json().encode()))
        now = datetime.now(UTC)
        session.add(
            Submission(
                id=name, contributor=identity.contributor, state="submitted", request=stored_request(request),
                sha256=digest, submitted_at=now, changed_at=now,
            )
        )  # fmt: skip
        session.flush()
        session.add_all(SubmissionRun(submission=name, contribution=run) for run in request.contributions)
        session.execute(update(Contribution).where(Contribution.id.in_(request.contributions)).values(submission=name))
        return name, True

    return database.write(identity.contributor, work)


def check_submittable(database: Database, identity: Identity, request: SubmissionRequest) -> None:
    """Raise ContributionError if runs can't be submitted so."""

    def query(session: Session) -> None:
        _check_licences(session, identity, request)
        _check_submittable(_contributions(session, identity, request.contributions))

    database.read(query)


def _digest(request: SubmissionRequest) -> str:
    """Return the SHA-256 by which the same request is recognized."""
    return hashlib.sha256(request.model_dump_json().encode()).hexdigest()


def stored_request(request: SubmissionRequest) -> str:
    """Return a request as the row of its submission has it: without the runs, which are rows of their own."""
    return request.model_dump_json(exclude={"contributions"})


def request_of(session: Session, row: Submission) -> SubmissionRequest:
    """Return the request of a submission with its runs."""
    document = {**orjson.loads(row.request), "contributions": runs_of(session, row.id)}
    return SubmissionRequest.model_validate_json(orjson.dumps(document))


def runs_of(session: Session, submission: str) -> tuple[str, ...]:
    """Return the runs of a submission, by id."""
    query = select(SubmissionRun.contribution).where(SubmissionRun.submission == submission)
    return tuple(sorted(session.scalars(query)))  # not by the collation of the database


def _of_contributor(identity: Identity, runs: Collection[str], *columns: Any) -> Any:
    """Return the query for columns of runs of a contributor, by id."""
    rows = select(*columns).where(Contribution.id.in_(runs), Contribution.contributor == identity.contributor)
    return rows.order_by(Contribution.id)


def _contributions(session: Session, identity: Identity, runs: Collection[str]) -> Sequence[Any]:
    """Return the state of runs of a contributor; raise ContributionError if one isn't."""
    columns = (
        Contribution.id,
        Contribution.submission,
        Contribution.end.is_not(None).label("is_finished"),
        (Contribution.facts == ERASED_FACTS).label("is_erased"),
    )
    rows = session.execute(_of_contributor(identity, runs, *columns)).all()
    for run in sorted(set(runs) - {row.id for row in rows}):
        raise unknown_contribution(run)
    return rows


def _check_submittable(rows: Sequence[Any]) -> None:
    """Raise ContributionError if a run is in a submission, isn't finished, or was erased."""
    taken = [{"contribution": row.id, "submission": row.submission} for row in rows if row.submission is not None]
    if taken:
        where = f"{taken[0]['contribution']} is in the submission {taken[0]['submission']}"
        detail = f"{where}, with other runs or facts: withdraw that first"
        raise ContributionError("conflict", detail, submitted=taken)
    unfinished = [row.id for row in rows if not row.is_finished]
    if unfinished:
        named = ", ".join(unfinished[:_MOST_NAMED])
        detail = f"{len(unfinished):,} runs aren't finished: send what is missing of {named}, and finish them"
        raise ContributionError("incomplete", detail, unfinished=unfinished)
    erased = [row.id for row in rows if row.is_erased]
    if erased:
        raise ContributionError("conflict", f"{', '.join(erased[:_MOST_NAMED])} was erased: submit the others")


def _check_licences(session: Session, identity: Identity, request: SubmissionRequest) -> None:
    query = _of_contributor(identity, request.contributions, Contribution.id, Contribution.facts)
    for run, facts in session.execute(query, execution_options={"yield_per": _RUNS_AT_ONCE}):
        of_run = orjson.loads(facts).get("licence")
        if of_run not in (None, request.licence):
            detail = f"{run} was recorded with the licence {of_run}, and is submitted with {request.licence}"
            raise ContributionError("bad-document", f"{detail}: submit runs of one licence together")


def find(database: Database, identity: Identity, name: str, after: str | None = None) -> SubmissionStatus:
    """Return a submission with a page of its runs; raise ContributionError unless it is one's own, or one reviews.

    after: the run after which the page begins.
    """

    def query(session: Session) -> SubmissionStatus:
        row = get_submission(session, name)
        if not (row.contributor == identity.contributor or identity.is_reviewer):
            raise unknown_submission(name)
        return status_of(session, row, after=after)

    return database.read(query)


def find_any(database: Database, name: str, with_runs: bool = True) -> SubmissionStatus:
    """Return a submission with the first of its runs, for the operator; raise ContributionError if there is none."""
    return database.read(lambda session: status_of(session, get_submission(session, name), with_runs=with_runs))


def parameters_of(database: Database, runs: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of runs, as their run.json has them."""
    query = select(Contribution.id, Contribution.facts).where(Contribution.id.in_(runs))
    return database.read(
        lambda session: {run: orjson.loads(facts)["parameters"] for run, facts in session.execute(query)}
    )


def list_submissions(
    database: Database, state: str | None = None, after: str | None = None, contributor: str | None = None
) -> SubmissionList:
    """Return a page of submissions, the one that has waited longest first. contributor: only this one's."""

    def query(session: Session) -> SubmissionList:
        rows = select(Submission).order_by(Submission.submitted_at, Submission.id).limit(PAGE + 1)
        if state is not None:
            rows = rows.where(Submission.state == state)
        if contributor is not None:
            rows = rows.where(Submission.contributor == contributor)
        if after is not None:
            last = get_submission(session, after)
            if contributor not in (None, last.contributor):
                raise unknown_submission(after)
            is_later = (Submission.submitted_at == last.submitted_at) & (Submission.id > last.id)
            rows = rows.where((Submission.submitted_at > last.submitted_at) | is_later)
        page = session.scalars(rows).all()
        summaries = tuple(
            SubmissionSummary.model_construct(**_summary(session, row, orjson.loads(row.request)))
            for row in page[:PAGE]
        )
        following = summaries[-1].id if len(page) > PAGE else None
        return SubmissionList.model_construct(submissions=summaries, next=following)

    return database.read(query)


def withdraw(database: Database, identity: Identity, name: str) -> None:
    """Withdraw a submission of the identity before it is accepted; again, nothing changes."""

    def work(session: Session) -> None:
        row = get_submission(session, name)
        if row.contributor != identity.contributor:
            raise unknown_submission(name)
        _leave(session, row, "withdrawn", identity.credit.name, None)

    database.write(identity.contributor, work)


def return_to_contributor(database: Database, reviewer: str, name: str, reason: str, report: str | None = None) -> None:
    """Return a submission with a reason; the same again changes nothing.

    report: JSON, that of the checks; None if they weren't run.
    """

    def work(session: Session) -> None:
        row = get_submission(session, name)
        if row.state == "returned" and row.reason != reason:
            raise ContributionError("conflict", f"{name} was returned for another reason: {row.reason}")
        row.report = report if report is not None else row.report
        _leave(session, row, "returned", reviewer, reason)

    database.write(row_of(database, name).contributor, work)


def _leave(session: Session, row: Submission, state: str, who: str, reason: str | None) -> None:
    """Take a submission out of the queue; its runs may be submitted again."""
    if row.state == state:
        return
    if row.state != "submitted":
        raise ContributionError("conflict", f"{row.id} is {row.state}: only one that is submitted can be {state}")
    row.state, row.changed_at, row.reviewer, row.reason = state, datetime.now(UTC), who, reason
    audit.record(session, _DECISIONS[state], row.id)
    if state == "returned":
        notify(session, row.contributor, "returned", row.id)
    session.execute(update(Contribution).where(Contribution.submission == row.id).values(submission=None))


def split(database: Database, reviewer: str, name: str, runs: Collection[str]) -> tuple[str, bool]:
    """Move runs of a submission into a new one; return its id, and False if that was done before."""
    new = new_submission_id()

    def work(session: Session) -> tuple[str, bool]:
        row = get_submission(session, name)
        moved = tuple(sorted(set(runs)))
        for part in session.scalars(select(Submission).where(Submission.split_from == name)):
            if runs_of(session, part.id) == moved:
                return part.id, part.id == new
        if row.state != "submitted":
            raise ContributionError("conflict", f"{name} is {row.state}: only one that is submitted can be split")
        request = request_of(session, row)
        remaining = tuple(run for run in request.contributions if run not in moved)
        for run in moved:
            if run not in request.contributions:
                raise ContributionError("conflict", f"{run} isn't in the submission {name}: see GET /v1/submissions")
        if not remaining:
            raise ContributionError("conflict", f"nothing would be left in {name}: name only some of its runs")
        now = datetime.now(UTC)
        part = Submission(
            id=new, contributor=row.contributor, state="submitted", submitted_at=row.submitted_at, split_from=name
        )
        for each, its_runs in ((row, remaining), (part, moved)):
            claims = tuple(claim for claim in request.claims if claim.contribution in its_runs)
            of_runs = request.model_copy(update={"contributions": its_runs, "claims": claims})
            each.request, each.sha256 = stored_request(of_runs), _digest(of_runs)
            each.changed_at, each.reviewer = now, reviewer
        session.add(part)
        session.flush()
        is_moved = (SubmissionRun.submission == name) & SubmissionRun.contribution.in_(moved)
        session.execute(update(SubmissionRun).where(is_moved).values(submission=new))
        session.execute(update(Contribution).where(Contribution.id.in_(moved)).values(submission=new))
        audit.record(session, "split submission", name, f"{len(moved)} runs into {new}")
        return new, True

    return database.write(row_of(database, name).contributor, work)


def row_of(database: Database, name: str) -> Submission:
    """Return the row of a submission; raise ContributionError if there is none."""
    return database.read(lambda session: get_submission(session, name))


def submissions_of(database: Database, contributor: str) -> frozenset[str]:
    """Return all submissions of a contributor."""
    query = select(Submission.id).where(Submission.contributor == contributor)
    return database.read(lambda session: frozenset(session.scalars(query)))


def queue(database: Database) -> tuple[dict[str, int], float]:
    """Return the number of submissions in each state, and the seconds that the oldest one has waited; 0 for none."""

    def query(session: Session) -> tuple[dict[str, int], datetime | None]:
        counts = session.execute(select(Submission.state, func.count()).group_by(Submission.state))
        waiting = Submission.state == "submitted"
        return {str(state): int(count) for state, count in counts}, session.scalar(
            select(Submission.submitted_at).where(waiting).order_by(Submission.submitted_at).limit(1)
        )

    counts, oldest = database.read(query)
    seconds = (datetime.now(UTC) - oldest).total_seconds() if oldest is not None else 0.0
    return {state: counts.get(state, 0) for state in STATES}, max(0.0, seconds)


def get_submission(session: Session, name: str) -> Submission:
    """Return the row of a submission; raise ContributionError if there is none."""
    row = session.get(Submission, name)
    if row is None:
        raise unknown_submission(name)
    return row


def _summary(session: Session, row: Submission, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a summary. request: that of the row."""
    owner = session.get_one(Contributor, row.contributor)
    runs = select(func.count(), func.sum(Contribution.bytes)).select_from(SubmissionRun)
    of_row = runs.outerjoin(Contribution, Contribution.id == SubmissionRun.contribution)
    n_runs, n_bytes = session.execute(of_row.where(SubmissionRun.submission == row.id)).one()
    return {
        **{name: getattr(row, name) for name in _OF_ROW},
        "owner": Credit.model_construct(name=owner.name, orcid=owner.orcid, role=None),
        "licence": request["licence"],
        "note": request["note"],
        "n_runs": n_runs,
        "bytes": int(n_bytes or 0),
    }


def status_of(session: Session, row: Submission, after: str | None = None, with_runs: bool = True) -> SubmissionStatus:
    """Return a submission, with a page of its runs unless none are wanted. after: the run after which it begins."""
    request = request_of(session, row)
    ids = [run for run in request.contributions if after is None or run > after] if with_runs else []
    return SubmissionStatus.model_construct(
        **_summary(session, row, request.__dict__),
        contributors=request.contributors,
        claims=request.claims,
        contributions=request.contributions,
        runs=tuple(_runs(session, row, ids[:PAGE])),
        next=ids[PAGE - 1] if len(ids) > PAGE else None,
        refused=_errors(row) if with_runs else (),
        links={},
    )


def _errors(row: Submission) -> tuple[str, ...]:
    """Return the errors that the checks had found when a submission was returned, in words."""
    if row.state != "returned" or not row.report:
        return ()
    findings = Report.from_json(row.report).findings
    return tuple(str(each) for each in findings if each.severity == "error")[:_MOST_ERRORS]


def _runs(session: Session, submission: Submission, ids: Collection[str]) -> Iterator[SubmittedRun]:
    """Yield runs of a submission; once they are in a release, with their trials."""
    trials = trials_of(session, submission.id) if submission.state == "accepted" else {}
    columns = (Contribution.id, Contribution.facts, Contribution.segments, Contribution.bytes)
    # An end has up to 5,000 segments; its status comes first.
    query = select(*columns, func.substr(Contribution.end, 1, _BEGIN_OF_END)).where(Contribution.id.in_(ids))
    rows = session.execute(query.order_by(Contribution.id), execution_options={"yield_per": _RUNS_AT_ONCE})
    for run, facts, n_segments, n_bytes, end in rows:
        stated, status = orjson.loads(facts), _STATUS.match(end or "")
        yield SubmittedRun.model_construct(
            id=run,
            study=str(Study.of({key: stated.get(key) for key in STUDY_KEYS})),
            status=status[1] if status is not None else "",
            n_segments=n_segments,
            bytes=n_bytes,
            trial=trials.get(run),
            links={},
        )


def trials_of(session: Session, submission: str) -> dict[str, str]:
    """Return the trials of a submission in the lake, by run, as the ledger has them."""
    query = select(LedgerEntry.reason, LedgerEntry.path).where(
        LedgerEntry.source == source_name(submission), LedgerEntry.outcome == _PLACED
    )
    return {str(run): trial for run, trial in session.execute(query.order_by(LedgerEntry.id))}
