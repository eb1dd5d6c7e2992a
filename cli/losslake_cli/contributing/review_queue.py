"""The submissions that `losslake review` and `losslake submissions` work on: of a lake here, or behind a URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from losslake_cli.console import echo, open_lake, user_name
from losslake_cli.contributing.push import TOKEN, read_token
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.protocol.submissions import SubmissionList, SubmissionStatus
    from losslake_contributions.review.review_document import Review
    from losslake_contributions.store.database import Database
_REMEDY = f"use --url with a token in {TOKEN}"


@contextmanager
def open_remote(url: str, token_file: Path | None) -> Iterator[RemoteQueue]:
    """Open the submissions behind a URL."""
    from losslake_contributions.client.connection import ContributionClient

    with ContributionClient(url, read_token(token_file, url)) as client:
        yield RemoteQueue(client)


@contextmanager
def open_queue(lake: str | None, url: str | None, token_file: Path | None) -> Iterator[LocalQueue | RemoteQueue]:
    """Open the submissions of a lake, or those behind a URL."""
    if url is None:
        yield LocalQueue(open_database(lake))
        return
    if lake is not None:
        raise LossLakeError("give either --lake or --url")
    with open_remote(url, token_file) as queue:
        yield queue


def open_database(lake: str | None) -> Database:
    """Open the tables of contributions in the database of a lake."""
    from losslake_contributions.store.database import Database

    return Database.open(open_lake(lake))


class LocalQueue:
    """The submissions in the lake's database, for whoever may write to it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, state: str | None, after: str | None) -> SubmissionList:
        """Return a page of submissions."""
        from losslake_contributions.review.submissions import STATES, list_submissions

        if state is not None and state not in STATES:
            raise LossLakeError(f"--state {state}: give all, or one of {', '.join(STATES)}")
        return list_submissions(self._database, state, after)

    def show(self, name: str) -> SubmissionStatus:
        """Return a submission with its runs."""
        from losslake_contributions.review.submissions import find_any

        return find_any(self._database, name)

    def review(self, name: str) -> Review:
        """Return what the checks found, and what the runs would change."""
        from losslake_contributions.review.review import Reviews

        return Reviews(self._database).review(name)

    def accept(self, name: str) -> SubmissionStatus:
        """Accept a submission."""
        from losslake_contributions.review.acceptance import accept_reviewed
        from losslake_contributions.review.review import Reviews

        acceptance = accept_reviewed(self._database, Reviews(self._database), name, user_name(_REMEDY))
        for remark in acceptance.remarks:
            echo(f"remark       {remark}")
        return acceptance.submission

    def give_back(self, name: str, reason: str) -> SubmissionStatus:
        """Return a submission to its contributor."""
        from losslake_contributions.review.review import Reviews
        from losslake_contributions.review.submissions import return_to_contributor

        report = Reviews(self._database).stored_report(name)
        return_to_contributor(self._database, user_name(_REMEDY), name, reason, report)
        return self.show(name)

    def split(self, name: str, runs: Sequence[str]) -> SubmissionStatus:
        """Move runs into a new submission, which is returned."""
        from losslake_contributions.review.submissions import split

        return self.show(split(self._database, user_name(_REMEDY), name, runs)[0])


class RemoteQueue:
    """The submissions behind a URL: one's own, and everyone's for a token with the scope `review`."""

    def __init__(self, client: ContributionClient) -> None:
        self._client = client

    def list(self, state: str | None, after: str | None) -> SubmissionList:
        """Return a page of submissions."""
        from losslake_contributions.protocol.submissions import SubmissionList

        query = "&".join(f"{name}={value}" for name, value in (("state", state), ("after", after)) if value)
        return self._client.send("GET", f"v1/submissions?{query}", SubmissionList)

    def show(self, name: str) -> SubmissionStatus:
        """Return a submission with its runs."""
        return self._send("GET", name)

    def review(self, name: str) -> Review:
        """Return what the checks found, and what the runs would change."""
        from losslake_contributions.review.review_document import Review

        return self._client.send("GET", f"v1/submissions/{name}/review", Review)

    def accept(self, name: str) -> SubmissionStatus:
        """Accept a submission."""
        return self._send("POST", f"{name}/accept")

    def give_back(self, name: str, reason: str) -> SubmissionStatus:
        """Return a submission to its contributor."""
        from losslake_contributions.protocol.submissions import ReturnRequest

        return self._send("POST", f"{name}/return", ReturnRequest(reason=reason))

    def withdraw(self, name: str) -> SubmissionStatus:
        """Withdraw a submission of one's own before it is accepted."""
        return self._send("POST", f"{name}/withdraw")

    def split(self, name: str, runs: Sequence[str]) -> SubmissionStatus:
        """Move runs into a new submission, which is returned."""
        from losslake_contributions.protocol.submissions import SplitRequest

        return self._send("POST", f"{name}/split", SplitRequest(contributions=tuple(runs)))

    def _send(self, method: str, path: str, request: BaseModel | None = None) -> SubmissionStatus:
        from losslake_contributions.protocol.submissions import SubmissionStatus

        return self._client.send(method, f"v1/submissions/{path}", SubmissionStatus, request)
