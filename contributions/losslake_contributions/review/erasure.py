"""Erasure of runs from the tables of contributions: a tombstone with ids and digests stays of each.

`losslake erase` calls it before it erases the trials from releases: if it is killed in between, it finds them again.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake.segments import delete_segments
from losslake_contributions.notifications.channels import delete_addresses_with
from losslake_contributions.notifications.outbox import delete_deliveries
from losslake_contributions.people import audit
from losslake_contributions.people.links import delete_links
from losslake_contributions.protocol.contributions import Finish
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.submissions import request_of, stored_request
from losslake_contributions.store.database import Database, takes_contributions
from losslake_contributions.store.private_files import DRAFTS, FOLDER
from losslake_contributions.store.tables import (
    ERASED_FACTS,
    Contribution,
    Contributor,
    HeldSegment,
    Submission,
    SubmissionRun,
)

GONE = "[erased]"


def erase_runs(lake: Lake, runs: Collection[str], texts: Sequence[str] = ()) -> int:
    """Erase runs, and other runs with the same bytes that no release has; return their number.

    Facts of runs, claims, notes, reasons and reports go; submissions that wait for a review with one of them are
    returned. Drafts of all submissions are deleted, since they may have copies. texts: are removed from what stays.
    """
    shutil.rmtree(lake.folder / DRAFTS, ignore_errors=True)
    if not takes_contributions(lake):
        return 0
    database = Database.open(lake)
    erased = database.read(lambda session: _with_copies(session, runs))
    stored = [file.path for file in lake.store.list_files(FOLDER)] if erased else []
    lake.store.delete([path for path in stored if not erased.isdisjoint(path.split("/"))])

    def work(session: Session) -> None:
        session.execute(update(Contributor).values(n_writes=Contributor.n_writes + 1))  # locks all of them
        for run in sorted(erased):
            row = session.get_one(Contribution, run)
            if not row.is_erased:
                audit.record(session, "erase run", run)
            _erase_run(session, row)
        delete_links(session, erased)
        delete_deliveries(session, erased)
        of_runs = select(SubmissionRun.submission).where(SubmissionRun.contribution.in_(erased))
        for submission in session.scalars(select(Submission).where(Submission.id.in_(of_runs))).all():
            _erase_from_submission(session, submission, erased)
        if texts:
            _remove_texts(session, texts)

    if erased or texts:
        database.write(None, work)
    return len(erased)


def _with_copies(session: Session, runs: Collection[str]) -> set[str]:
    """Return those of the runs that were contributed, and those with the same segments that aren't accepted."""
    segments: defaultdict[str, set[tuple[Any, ...]]] = defaultdict(set)
    columns = (HeldSegment.attempt, HeldSegment.n, HeldSegment.from_step, HeldSegment.sha256)
    for run, *segment in session.execute(select(HeldSegment.contribution, *columns)):
        segments[run].add(tuple(segment))
    contributed = session.execute(select(Contribution.id, Contribution.submission)).all()
    erased = {run for run, _ in contributed if run in runs}
    wanted = {frozenset(segments[run]) for run in erased if run in segments}
    accepted = set(session.scalars(select(Submission.id).where(Submission.state == "accepted")))
    is_copy = {
        run: submission not in accepted and frozenset(segments[run]) in wanted for run, submission in contributed
    }
    return erased | {run for run, is_same in is_copy.items() if is_same}


def _erase_run(session: Session, row: Contribution) -> None:
    row.facts, row.seen_at = ERASED_FACTS, None
    if row.end is not None:
        end = Finish.model_validate_json(row.end)
        row.end = Finish(status=end.status, ended_at=None, n_dropped=0, segments=end.segments).model_dump_json()
    delete_segments(session, row.id)
    session.execute(update(HeldSegment).where(HeldSegment.contribution == row.id).values(path=""))


def _erase_from_submission(session: Session, row: Submission, erased: Collection[str]) -> None:
    request = request_of(session, row)
    gone = {run for run in request.contributions if run in erased}
    delete_links(session, [row.id])
    delete_deliveries(session, [row.id])
    claims = tuple(claim for claim in request.claims if claim.contribution not in gone)
    changed: dict[str, object] = {"claims": claims, "note": GONE if request.note else ""}
    if len(gone) == len(request.contributions):
        changed["contributors"] = ()
    row.request = stored_request(request.model_copy(update=changed))
    row.reason = GONE if row.reason else None
    row.report = _report_without(row.report, gone) if row.report else None
    if row.state == "submitted":
        row.state, row.reason = "returned", GONE
        session.execute(update(Contribution).where(Contribution.submission == row.id).values(submission=None))


def _report_without(text: str, gone: Collection[str]) -> str:
    """Return a report without the findings about erased runs, and about the submission as a whole."""
    report = Report.from_json(text)
    findings = [each for each in report.findings if each.run and each.run not in gone]
    return Report(report.runs, findings, report.not_run, report.version).to_json()


def _remove_texts(session: Session, texts: Sequence[str]) -> None:
    """Remove texts from what stays of all runs and submissions, and addresses that have one."""
    delete_addresses_with(session, texts)
    for contributor in session.scalars(select(Contributor)):
        contributor.name = _without(contributor.name, texts)
    for run in session.scalars(select(Contribution)):
        run.facts = _json_without(run.facts, texts, indent=1)
        run.end = _json_without(run.end, texts) if run.end is not None else None
    for submission in session.scalars(select(Submission)):
        submission.request = _json_without(submission.request, texts)
        submission.reviewer, submission.reason = (
            _without(text, texts) if text else text for text in (submission.reviewer, submission.reason)
        )
        submission.report = _json_without(submission.report, texts, indent=1) if submission.report else None


def _json_without(document: str, texts: Iterable[str], indent: int | None = None) -> str:
    """Return a JSON document without some texts in its names and values; the same document if it has none."""
    parsed = json.loads(document)
    clean = _value_without(parsed, texts)
    if clean == parsed:
        return document
    return json.dumps(clean, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))


def _value_without(value: Any, texts: Iterable[str]) -> Any:
    if isinstance(value, str):
        return _without(value, texts)
    if isinstance(value, list):
        return [_value_without(each, texts) for each in value]
    if isinstance(value, Mapping):
        return {_without(name, texts): _value_without(each, texts) for name, each in value.items()}
    return value


def _without(text: str, texts: Iterable[str]) -> str:
    for each in texts:
        text = text.replace(each, GONE)
    return text
