"""Routes of submissions: submit, withdraw; list, accept, return and split, for reviewers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from losslake_contributions.people.links import SUBMISSIONS, Links
from losslake_contributions.people.quotas import HourlyQuotas
from losslake_contributions.people.requests import (
    ERRORS,
    body_of,
    check_submission_name,
    in_thread,
    parse_body,
    parse_run,
    respond,
    sender,
)
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.submissions import (
    ReturnRequest,
    SplitRequest,
    SubmissionList,
    SubmissionRequest,
    SubmissionStatus,
)
from losslake_contributions.review import submissions as store
from losslake_contributions.review.acceptance import accept_as
from losslake_contributions.review.review import Reviews
from losslake_contributions.review.review_document import PendingReview, Review
from losslake_contributions.store.database import Database
from losslake_service.problems import ParameterProblem

# Reviewers come later, and a review made for each of many submissions at once slows those that follow.
SECONDS_BEFORE_REVIEW = 5.0
CHECKS = "/v1/checks"
_REVIEW_RESPONSES: dict[int | str, dict[str, Any]] = {
    **ERRORS,
    202: {"description": "The review is not there yet: retry after `Retry-After` seconds.", "model": PendingReview},
}


def add_submissions(
    router: APIRouter, database: Database, hourly: HourlyQuotas, reviews: Reviews, links: Links
) -> None:
    """Add the routes of submissions for contributors."""
    answer, contributor = partial(_answer, database, links), sender(database, "contribute")
    reader = sender(database, "contribute", "review")
    reader_of_list = sender(database, "review", "contribute", parameters=("state", "after"))
    reader_of_runs = sender(database, "contribute", "review", parameters=("after",))
    post = partial(router.post, responses=ERRORS, response_model=SubmissionStatus)
    # Kept, as an event loop does not.
    begun = set[asyncio.Task[None]]()

    @post(SUBMISSIONS, openapi_extra=body_of(SubmissionRequest))
    async def post_submission(request: Request, identity: Identity = contributor) -> Response:
        """Submit finished contributions for review. 201, and 200 for the same again."""
        document = await parse_body(request, SubmissionRequest)
        hourly.use(identity.token, "submissions")
        name, is_new = await in_thread(store.submit, database, identity, document)
        if is_new:
            task = asyncio.create_task(_begin_review(reviews, name))
            begun.add(task)
            task.add_done_callback(begun.discard)
        return await answer(request, identity, name, 201 if is_new else 200)

    @router.post(CHECKS, responses=_REVIEW_RESPONSES, response_model=Review, openapi_extra=body_of(SubmissionRequest))
    async def post_check(request: Request, identity: Identity = contributor) -> Response:
        """Return the review that finished contributions would get if they were submitted so. Nothing is submitted.

        202 with Retry-After while it waits or is being made: send the same again.
        """
        document = await parse_body(request, SubmissionRequest)
        await in_thread(store.check_submittable, database, identity, document)
        return respond_progress(await in_thread(reviews.check, identity.contributor, document))

    @router.get(SUBMISSIONS, responses=ERRORS, response_model=SubmissionList)
    async def get_submissions(request: Request, identity: Identity = reader_of_list) -> Response:
        """Return submissions, the one that has waited longest first: everyone's for reviewers, else one's own."""
        query = request.query_params
        state = query.get("state")
        if state is not None and state not in store.STATES:
            raise ParameterProblem("bad-parameter", "state", f"state is one of {', '.join(store.STATES)}")
        after = check_submission_name(query["after"]) if "after" in query else None
        owner = None if identity.is_reviewer else identity.contributor
        return respond(await in_thread(store.list_submissions, database, state, after, owner))

    @router.get(f"{SUBMISSIONS}/{{name}}", responses=ERRORS, response_model=SubmissionStatus)
    async def get_submission(request: Request, name: str, identity: Identity = reader_of_runs) -> Response:
        """Return a submission with a page of its runs."""
        query = request.query_params
        after = parse_run(query["after"]) if "after" in query else None
        return await answer(request, identity, check_submission_name(name), after=after)

    @router.get(f"{SUBMISSIONS}/{{name}}/review", responses=_REVIEW_RESPONSES, response_model=Review)
    async def get_review(name: str, identity: Identity = reader) -> Response:
        """Return the report of the checks on a submission that waits for a review, and what it would change.

        202 with Retry-After while the review waits or is being made.
        """
        await in_thread(store.find, database, identity, check_submission_name(name))
        return respond_progress(await in_thread(reviews.progress, name))

    @post(f"{SUBMISSIONS}/{{name}}/withdraw")
    async def post_withdrawal(request: Request, name: str, identity: Identity = contributor) -> Response:
        """Withdraw one's own submission before it is accepted."""
        await in_thread(store.withdraw, database, identity, check_submission_name(name))
        return await answer(request, identity, name)


async def _begin_review(reviews: Reviews, name: str) -> None:
    """Have a review made before anybody asks for it, unless the submission is withdrawn or decided first."""
    await asyncio.sleep(SECONDS_BEFORE_REVIEW)
    with suppress(ContributionError):
        await in_thread(reviews.progress, name)


def respond_progress(progress: Review | PendingReview, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a review, or how far it is: 202 with Retry-After."""
    if isinstance(progress, Review):
        return respond(progress, headers=headers)
    return respond(progress, 202, {"Retry-After": str(progress.seconds), **(headers or {})})


def add_reviews(router: APIRouter, database: Database, reviews: Reviews, links: Links) -> None:
    """Add the routes by which reviewers decide."""
    answer, reviewer = partial(_answer, database, links), sender(database, "review")
    post = partial(router.post, responses=ERRORS, response_model=SubmissionStatus)

    @post(f"{SUBMISSIONS}/{{name}}/accept")
    async def post_acceptance(request: Request, name: str, identity: Identity = reviewer) -> Response:
        """Accept a submission of others: its runs enter the next release. Accepted again, nothing changes."""
        check_submission_name(name)
        # It goes on if the client leaves: the next request finds it done.
        await asyncio.shield(in_thread(accept_as, database, reviews, name, identity, kind="acceptance"))
        return await answer(request, identity, name)

    @post(f"{SUBMISSIONS}/{{name}}/return", openapi_extra=body_of(ReturnRequest))
    async def post_return(request: Request, name: str, identity: Identity = reviewer) -> Response:
        """Return a submission to its contributor, with a reason."""
        reason = (await parse_body(request, ReturnRequest)).reason
        check_submission_name(name)
        report = await in_thread(reviews.stored_report, name)
        await in_thread(store.return_to_contributor, database, identity.credit.name, name, reason, report)
        return await answer(request, identity, name)

    @post(f"{SUBMISSIONS}/{{name}}/split", openapi_extra=body_of(SplitRequest))
    async def post_split(request: Request, name: str, identity: Identity = reviewer) -> Response:
        """Move runs of a submission into a new one, which is returned. 201, and 200 for the same again."""
        runs = (await parse_body(request, SplitRequest)).contributions
        check_submission_name(name)
        new, is_new = await in_thread(store.split, database, identity.credit.name, name, runs)
        return await answer(request, identity, new, 201 if is_new else 200)


async def _answer(
    database: Database,
    links: Links,
    request: Request,
    identity: Identity,
    name: str,
    status: int = 200,
    after: str | None = None,
) -> Response:
    """Return a response with a submission, a page of its runs, and their links."""
    document = await in_thread(store.find, database, identity, name, after)
    runs = tuple(run.model_copy(update={"links": {"facts": links.facts(request, run.id)}}) for run in document.runs)
    of_submission = await in_thread(links.of, request, identity, document)
    linked = document.model_copy(update={"links": of_submission, "runs": runs})
    return respond(linked, status, {"Location": linked.links["self"]} if status == 201 else None)
