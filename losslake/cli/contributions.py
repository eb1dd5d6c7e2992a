"""The commands of those who take contributions: `losslake serve-contributions`, `tokens` and `review`."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from losslake.cli.console import LakeOption, echo, plural
from losslake.cli.push import TOKEN, TokenFileOption, read_token, show_submission
from losslake.cli.serve import ConfigOption
from losslake.cli.table import show_table
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake_contributions.client import ContributionClient
    from losslake_contributions.contract.submissions import SubmissionList, SubmissionStatus
    from losslake_contributions.review.review import Review
    from losslake_contributions.store.database import Database

_MEGABYTE = 1_000_000
_MOST_LISTED = 50

tokens = typer.Typer(help="Make, list and revoke tokens of contributors.", no_args_is_help=True)
review = typer.Typer(help="List, accept, return and split submissions.", no_args_is_help=True)
ReviewUrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="A contribution service, instead of the lake on this machine."),
]
SubmissionArgument = Annotated[str, typer.Argument(metavar="SUBMISSION", help="Its id, as 'list' shows it.")]


def serve_contributions(
    lake: LakeOption = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8010.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes. Default: 1.")] = None,
    allow_root: Annotated[
        bool | None, typer.Option("--allow-root", help="Run as root even if other machines can connect.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Run the service that takes runs of others, until Ctrl-C.

    It writes to the lake; `losslake serve` answers questions, and never does.
    """
    from losslake_contributions.serve import serve
    from losslake_contributions.settings import Settings
    from losslake_service.settings import load_settings_of

    flags = {"lake": lake, "host": host, "port": port, "workers": workers, "allow_root": allow_root}
    serve(load_settings_of(Settings, config, flags).settings)


@tokens.command("create")
def create(
    name: Annotated[str, typer.Option(help="The contributor's name, as it is to be cited.")],
    orcid: Annotated[str | None, typer.Option(help="The contributor's ORCID iD.")] = None,
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", help="contribute (the default) or review; may be repeated.")
    ] = None,
    days: Annotated[int, typer.Option(help="For how many days it is valid.")] = 365,
    runs: Annotated[int | None, typer.Option(min=0, help="Runs that may be sent with it. Default: 10,000.")] = None,
    segments: Annotated[
        int | None, typer.Option(min=0, help="Segments that may be sent with it. Default: 100,000.")
    ] = None,
    megabytes: Annotated[
        int | None, typer.Option(min=0, help="Megabytes that may be sent with it. Default: 20,000.")
    ] = None,
    contributor: Annotated[
        str | None, typer.Option(help="The id of a contributor without ORCID iD who gets another token.")
    ] = None,
    lake: LakeOption = None,
) -> None:
    """Print a new token. It is shown only once: the lake keeps nothing from which it could be made again."""
    from losslake.lake.lake import Lake
    from losslake_contributions.store.database import Database
    from losslake_contributions.store.tokens import Quota, create_token

    quota = Quota()
    if runs is not None:
        quota = replace(quota, runs=runs)
    if segments is not None:
        quota = replace(quota, segments=segments)
    if megabytes is not None:
        quota = replace(quota, bytes=megabytes * _MEGABYTE)
    database = Database.create(Lake.create(lake))
    echo(create_token(database, name, orcid, scopes or ["contribute"], days, quota, contributor))


@tokens.command("list")
def list_all(lake: LakeOption = None) -> None:
    """List tokens, newest first, with what was sent with each."""
    from losslake_contributions.store.tokens import list_tokens

    rows = [
        (
            each.id, each.state, each.scopes, each.name, each.orcid or "", each.contributor,
            f"{each.expires_at:%Y-%m-%d}", f"{each.runs:,} of {each.quota.runs:,}",
            f"{each.bytes / _MEGABYTE:,.1f} of {each.quota.bytes / _MEGABYTE:,.0f}",
        )
        for each in list_tokens(_database(lake))
    ]  # fmt: skip
    columns = ("token", "state", "scopes", "name", "orcid", "contributor", "expires", "runs", "megabytes")
    show_table(columns, rows)


@tokens.command("revoke")
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as 'list' shows it.")], lake: LakeOption = None
) -> None:
    """Refuse a token from now on. What was sent with it stays."""
    from losslake_contributions.store.tokens import revoke_token

    revoke_token(_database(lake), token)
    echo("revoked")


class Queue(Protocol):
    """The submissions of a lake, here or behind a URL."""

    def list(self, state: str | None, after: str | None) -> SubmissionList:
        """Return a page of submissions."""

    def show(self, name: str) -> SubmissionStatus:
        """Return a submission with its runs."""

    def review(self, name: str) -> Review:
        """Return what the checks found, and what the runs would change."""

    def accept(self, name: str) -> SubmissionStatus:
        """Accept a submission."""

    def give_back(self, name: str, reason: str) -> SubmissionStatus:
        """Return a submission to its contributor."""

    def split(self, name: str, runs: Sequence[str]) -> SubmissionStatus:
        """Move runs into a new submission, which is returned."""


@review.command("list")
def list_queue(
    state: Annotated[
        str, typer.Option(help="submitted, accepting, accepted, returned, withdrawn, or all.")
    ] = "submitted",
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """List submissions, the one that has waited longest first."""
    rows: list[SubmissionStatus] = []
    with _queue(lake, url, token_file) as queue:
        page = queue.list(None if state == "all" else state, None)
        rows += page.submissions
        while page.next is not None:
            page = queue.list(None if state == "all" else state, page.next)
            rows += page.submissions
    columns = ("submission", "state", "submitted", "from", "runs", "bytes", "licence", "note")
    show_table(
        columns,
        [
            (
                each.id, each.state, f"{each.submitted_at:%Y-%m-%d %H:%M}", each.owner.name, each.n_runs, each.bytes,
                each.licence, each.note.partition("\n")[0],
            )
            for each in rows
        ],
    )  # fmt: skip


@review.command("show")
def show(
    submission: SubmissionArgument,
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Show a submission, its checks, and what it changes."""
    with _queue(lake, url, token_file) as queue:
        status = queue.show(submission)
        review = queue.review(submission) if status.state in ("submitted", "accepting") else None
    show_submission(status)
    echo(f"from         {status.owner.name} {status.owner.orcid or ''}".rstrip())
    for credit in status.contributors:
        echo("contributor  " + "; ".join(filter(None, (credit.name, credit.orcid, credit.role))))
    echo(f"licence      {status.licence}")
    for line in status.note.splitlines():
        echo(f"note         {line}")
    for claim in status.claims:
        echo(f"claim        {claim.contribution}: {claim.metric} reaches {claim.target:g} in {claim.steps:,} steps")
    columns = ("run", "study", "status", "segments", "bytes", "trial")
    rows = [
        (
            run.id,
            "/".join(map(str, (facts.collection, facts.dataset, facts.model, facts.optimizer, facts.batch_size))),
            run.status, run.n_segments, run.bytes, run.trial or "",
        )
        for run in status.runs or ()
        for facts in [run.facts]
    ]  # fmt: skip
    show_table(columns, rows[:_MOST_LISTED])
    if len(rows) > _MOST_LISTED:
        echo(f"… and {len(rows) - _MOST_LISTED:,} more runs")
    if review is not None:
        _show_review(review)


def _show_review(review: Review) -> None:
    """Print what the runs would change, and what the checks found."""
    from losslake_contributions.checks.report import as_text as report_as_text
    from losslake_contributions.drafts.text import as_text as changes_as_text

    for line in (*changes_as_text(review.changes), *report_as_text(review.report)):
        echo(line)


@review.command("accept")
def accept(
    submission: SubmissionArgument,
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Publish a release with the runs of a submission. After an interruption, run it again."""
    with _queue(lake, url, token_file) as queue:
        status = queue.accept(submission)
    echo(f"accepted     {plural(status.n_runs, 'run')} into release {status.release}")


@review.command("return")
def give_back(
    submission: SubmissionArgument,
    reason: Annotated[str, typer.Option(help="Why, for its contributor.")],
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Return a submission to its contributor, with the reason."""
    with _queue(lake, url, token_file) as queue:
        show_submission(queue.give_back(submission, reason))


@review.command("split")
def split(
    submission: SubmissionArgument,
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="The runs to move.")],
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Move runs of a submission into a new one."""
    with _queue(lake, url, token_file) as queue:
        show_submission(queue.split(submission, runs))


@contextmanager
def _queue(lake: str | None, url: str | None, token_file: Path | None) -> Iterator[Queue]:
    if url is None:
        yield _LocalQueue(_database(lake))
        return
    if lake is not None:
        raise LossLakeError("give either --lake or --url")
    from losslake_contributions.client import ContributionClient

    with ContributionClient(url, read_token(token_file)) as client:
        yield _RemoteQueue(client)


def _database(lake: str | None) -> Database:
    from losslake.lake.lake import Lake
    from losslake_contributions.store.database import Database

    return Database.open(Lake.open(lake))


class _LocalQueue:
    """The submissions in the lake's database, for whoever may write to it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, state: str | None, after: str | None) -> SubmissionList:
        from losslake_contributions.store.submissions import STATES, list_submissions

        if state is not None and state not in STATES:
            raise LossLakeError(f"--state {state}: give all, or one of {', '.join(STATES)}")
        return list_submissions(self._database, state, after)

    def show(self, name: str) -> SubmissionStatus:
        from losslake_contributions.store.submissions import find_any

        return find_any(self._database, name)

    def review(self, name: str) -> Review:
        from losslake_contributions.review.review import Reviews

        return Reviews(self._database).review(name)

    def accept(self, name: str) -> SubmissionStatus:
        from losslake_contributions.review.decide import accept_reviewed
        from losslake_contributions.review.review import Reviews

        acceptance = accept_reviewed(self._database, Reviews(self._database), name, _user())
        for remark in acceptance.remarks:
            echo(f"remark       {remark}")
        return acceptance.submission

    def give_back(self, name: str, reason: str) -> SubmissionStatus:
        from losslake_contributions.store.submissions import return_to_contributor

        return_to_contributor(self._database, _user(), name, reason)
        return self.show(name)

    def split(self, name: str, runs: Sequence[str]) -> SubmissionStatus:
        from losslake_contributions.store.submissions import split

        return self.show(split(self._database, _user(), name, runs)[0])


class _RemoteQueue:
    """The submissions behind a URL, for a token with the scope `review`."""

    def __init__(self, client: ContributionClient) -> None:
        self._client = client

    def list(self, state: str | None, after: str | None) -> SubmissionList:
        from losslake_contributions.contract.submissions import SubmissionList

        query = "&".join(f"{name}={value}" for name, value in (("state", state), ("after", after)) if value)
        return self._client.send("GET", f"v1/submissions?{query}", SubmissionList)

    def show(self, name: str) -> SubmissionStatus:
        from losslake_contributions.contract.submissions import SubmissionStatus

        return self._client.send("GET", f"v1/submissions/{name}", SubmissionStatus)

    def review(self, name: str) -> Review:
        from losslake_contributions.review.review import Review

        return self._client.send("GET", f"v1/submissions/{name}/review", Review)

    def accept(self, name: str) -> SubmissionStatus:
        from losslake_contributions.contract.submissions import SubmissionStatus

        return self._client.send("POST", f"v1/submissions/{name}/accept", SubmissionStatus)

    def give_back(self, name: str, reason: str) -> SubmissionStatus:
        from losslake_contributions.contract.submissions import ReturnRequest, SubmissionStatus

        request = ReturnRequest(reason=reason)
        return self._client.send("POST", f"v1/submissions/{name}/return", SubmissionStatus, request)

    def split(self, name: str, runs: Sequence[str]) -> SubmissionStatus:
        from losslake_contributions.contract.submissions import SplitRequest, SubmissionStatus

        request = SplitRequest(contributions=tuple(runs))
        return self._client.send("POST", f"v1/submissions/{name}/split", SubmissionStatus, request)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise LossLakeError(f"the user of this process has no name: use --url with a token in {TOKEN}") from None
