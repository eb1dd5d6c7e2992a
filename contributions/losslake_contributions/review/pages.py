"""The routes of the pages: what the service does, signing in, submissions, their reviews and their runs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from losslake_contributions.intake.routes import parse_number
from losslake_contributions.intake.runs import facts_of
from losslake_contributions.intake.segments import held, segment_file
from losslake_contributions.intake.transfers import send_segment
from losslake_contributions.people.accounts import identifying_hosts
from losslake_contributions.people.links import REVIEWS, Links
from losslake_contributions.people.providers import SIGN_IN
from losslake_contributions.people.requests import Kind, check_submission_name, in_thread, parse_run
from losslake_contributions.people.sign_ins import SignIns
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.submissions import ReturnRequest, SplitRequest
from losslake_contributions.protocol.texts import reason_of
from losslake_contributions.review import submissions
from losslake_contributions.review.acceptance import accept_as
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.draft_pages import COOKIE as DRAFT_COOKIE
from losslake_contributions.review.draft_pages import HOME
from losslake_contributions.review.review import Reviews
from losslake_contributions.review.review_document import PendingReview, Review
from losslake_contributions.review.routes import respond_progress
from losslake_contributions.review.site import PRIVATE, in_words, page, read_form, signed_in, to_sign_in
from losslake_contributions.review.submission_page import content_of
from losslake_contributions.store.database import Database

Form = TypeVar("Form", bound=BaseModel)


def add_home(router: APIRouter, database: Database, links: Links, sign_ins: SignIns) -> None:
    """Add the page that anyone may see."""

    @router.get(HOME, include_in_schema=False)
    async def get_home(request: Request) -> Response:
        identity = await signed_in(request, database)
        counts, seconds = await in_thread(submissions.queue, database)
        return page(
            "contribute.html",
            "Contribute runs",
            HOME,
            identity,
            base=links.base(request),
            n_waiting=counts["submitted"],
            n_accepted=counts["accepted"],
            oldest=in_words(seconds) if seconds else "",
            has_draft=DRAFT_COOKIE in request.cookies,
            providers=sign_ins.titles,
        )


def add_reviews(router: APIRouter, database: Database, reviews: Reviews, links: Links) -> None:
    """Add the pages of submissions, for reviewers and their contributors."""
    review_page = partial(_review_page, database, reviews, links)

    @router.get(REVIEWS, include_in_schema=False)
    async def get_list(request: Request) -> Response:
        identity = await signed_in(request, database)
        if identity is None:
            return to_sign_in(request)
        state = request.query_params.get("state", "submitted")
        if state not in submissions.STATES:
            raise ContributionError("bad-document", f"state is one of {', '.join(submissions.STATES)}")
        after = request.query_params.get("after")
        owner = None if identity.is_reviewer else identity.contributor
        last = check_submission_name(after) if after is not None else None
        listed = await in_thread(submissions.list_submissions, database, state, last, owner)
        return page(
            "submissions.html",
            "Submissions",
            REVIEWS,
            identity,
            rows=listed.submissions,
            following=listed.next,
            state=state,
            states=submissions.STATES,
        )

    @router.get(f"{REVIEWS}/{{name}}", include_in_schema=False)
    async def get_review(request: Request, name: str) -> Response:
        identity = await signed_in(request, database)
        if identity is None:
            return to_sign_in(request)
        after = request.query_params.get("after")
        return await review_page(identity, name, after=parse_run(after) if after is not None else None)

    @router.get(f"{REVIEWS}/{{name}}/review.json", include_in_schema=False)
    async def get_review_as_json(request: Request, name: str) -> Response:
        identity = await _identified(request, database)
        await in_thread(submissions.find, database, identity, check_submission_name(name))
        return respond_progress(await in_thread(reviews.progress, name), PRIVATE)

    @router.post(f"{REVIEWS}/{{name}}/{{decision}}", include_in_schema=False)
    async def post_decision(request: Request, name: str, decision: str) -> Response:
        form = await read_form(request)
        identity = await _identified(request, database)
        check_submission_name(name)
        try:
            kind: Kind = "acceptance" if decision == "accept" else "quick"
            # An acceptance goes on if the client leaves.
            decided = in_thread(_decide, database, reviews, identity, name, decision, form, kind=kind)
            shown = await asyncio.shield(decided)
        except ContributionError as error:
            if error.kind in ("unknown-submission", "forbidden"):
                raise
            return await review_page(identity, name, str(error), error.status)
        return RedirectResponse(f"{REVIEWS}/{shown}", 303, PRIVATE)


def add_runs(router: APIRouter, database: Database) -> None:
    """Add the pages of single runs: their facts, and the bytes that were sent."""

    @router.get(f"{REVIEWS}/{{name}}/runs/{{run}}", include_in_schema=False)
    async def get_run(request: Request, name: str, run: str) -> Response:
        identity = await _identified(request, database)
        run = parse_run(run)
        segments = (await in_thread(held, database, identity, run)).segments
        facts = await in_thread(facts_of, database, identity, run)
        check_submission_name(name)
        title = f"Run {run}"
        return page("run.html", title, REVIEWS, identity, submission=name, run=run, facts=facts, segments=segments)

    @router.get(f"{REVIEWS}/{{name}}/runs/{{run}}/{{attempt}}/{{n}}", include_in_schema=False)
    async def get_segment(request: Request, name: str, run: str, attempt: str, n: str) -> Response:
        identity = await _identified(request, database)
        check_submission_name(name)
        place = parse_number("attempt", attempt), parse_number("n", n)
        file = await in_thread(segment_file, database, identity, parse_run(run), *place)
        return await send_segment(file, PRIVATE, "text/plain; charset=utf-8")


async def _identified(request: Request, database: Database) -> Identity:
    identity = await signed_in(request, database)
    if identity is None:
        raise ContributionError("unauthorized", f"sign in at {SIGN_IN} first")
    return identity


async def _review_page(
    database: Database,
    reviews: Reviews,
    links: Links,
    identity: Identity,
    name: str,
    trouble: str = "",
    code: int = 200,
    after: str | None = None,
) -> Response:
    """Return the page of a submission. trouble: why a decision could not be made. after: of the runs that are shown."""
    status = await in_thread(submissions.find, database, identity, check_submission_name(name), after)
    row = await in_thread(submissions.row_of, database, name)
    parameters = await in_thread(submissions.parameters_of, database, [run.id for run in status.runs])
    is_own, is_waiting = row.contributor == identity.contributor, status.state == "submitted"
    progress, failure = None, ""
    try:
        progress = await in_thread(reviews.progress, name) if is_waiting else None
    except ContributionError as error:
        failure = str(error)
    review = progress if isinstance(progress, Review) else None
    stored = Report.from_json(row.report) if row.report else None
    report = review.report if review is not None else stored
    draft = await in_thread(links.draft, identity, name) if is_waiting else ""
    return page(
        "submission.html",
        f"Submission {name}",
        REVIEWS,
        identity,
        code,
        **content_of(status, parameters, review, report, draft),
        identified_by=await in_thread(identifying_hosts, database, row.contributor),
        trouble=trouble or failure,
        pending=progress if isinstance(progress, PendingReview) else None,
        may_decide=identity.is_reviewer and (review is not None or bool(failure)),
        may_accept=not is_own,
        may_withdraw=is_waiting and is_own,
    )


def _decide(
    database: Database, reviews: Reviews, identity: Identity, name: str, decision: str, form: dict[str, str]
) -> str:
    """Carry out a decision, and return the submission to show. Raises ContributionError."""
    identity.require("contribute" if decision == "withdraw" else "review")
    reviewer = identity.credit.name
    match decision:
        case "withdraw":
            submissions.withdraw(database, identity, name)
        case "accept":
            accept_as(database, reviews, name, identity)
        case "return":
            reason = form.get("reason", "").replace("\r\n", "\n").strip()
            if not reason:
                raise ContributionError("bad-document", "say why the submission is returned")
            reason, report = _checked(ReturnRequest, reason=reason).reason, reviews.stored_report(name)
            submissions.return_to_contributor(database, reviewer, name, reason, report)
        case "split":
            runs = [parse_run(run) for run in form.get("runs", "").split()]
            if not runs:
                raise ContributionError("bad-document", "name the runs to move, one a line")
            moved = _checked(SplitRequest, contributions=runs).contributions
            return submissions.split(database, reviewer, name, moved)[0]
        case _:
            message = "there is no such decision: accept, return, split or withdraw"
            raise ContributionError("unknown-submission", message)
    return name


def _checked(kind: type[Form], **fields: object) -> Form:
    """Return a request of REST from the fields of a form; raise ContributionError if it is invalid."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise ContributionError("bad-document", reason_of(error)) from None
