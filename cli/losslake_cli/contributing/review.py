"""`losslake review`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import LakeOption, echo, echo_all
from losslake_cli.contributing.push import TokenFileOption
from losslake_cli.contributing.push_output import show_submission
from losslake_cli.contributing.review_queue import open_queue
from losslake_cli.table import show_table
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake_cli.contributing.review_queue import LocalQueue, RemoteQueue
    from losslake_contributions.protocol.submissions import SubmissionSummary
    from losslake_contributions.review.review_document import Review

_MOST_LISTED = 50

review = typer.Typer(help="List, accept, return and split submissions.", no_args_is_help=True)
ReviewUrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="A contribution service, instead of the lake on this machine."),
]
SubmissionArgument = Annotated[str, typer.Argument(metavar="SUBMISSION", help="Its id, as 'list' shows it.")]


@review.command("list")
def list_submissions(
    state: Annotated[str, typer.Option(help="submitted, accepted, returned, withdrawn, or all.")] = "submitted",
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """List submissions, the one that has waited longest first."""
    with open_queue(lake, url, token_file) as queue:
        print_list(queue, state)


@review.command("show")
def show(
    submission: SubmissionArgument,
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Show a submission, its checks, and what it changes."""
    with open_queue(lake, url, token_file) as queue:
        print_submission(queue, submission)


def print_review(review: Review) -> None:
    """Print what the runs would change, and what the checks found."""
    from losslake_contributions.review.changes_text import as_text as changes_as_text
    from losslake_contributions.review.checks.report import as_text as report_as_text

    echo_all((*changes_as_text(review.changes), *report_as_text(review.report)))


@review.command("accept")
def accept(
    submission: SubmissionArgument,
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Publish a release with the runs of a submission. After an interruption, run it again."""
    with open_queue(lake, url, token_file) as queue:
        status = queue.accept(submission)
    echo(f"accepted     {counted(status.n_runs, 'run')} into release {status.release}")


@review.command("return")
def give_back(
    submission: SubmissionArgument,
    reason: Annotated[str, typer.Option(help="Why, for its contributor.")],
    lake: LakeOption = None,
    url: ReviewUrlOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Return a submission to its contributor, with the reason."""
    with open_queue(lake, url, token_file) as queue:
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
    with open_queue(lake, url, token_file) as queue:
        show_submission(queue.split(submission, runs))


def print_list(queue: LocalQueue | RemoteQueue, state: str) -> None:
    """Print the submissions in a state, or all."""
    rows: list[SubmissionSummary] = []
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


def print_submission(queue: LocalQueue | RemoteQueue, name: str) -> None:
    """Print a submission with its runs, and while it waits its checks, and what it changes."""
    status = queue.show(name)
    review = queue.review(name) if status.state == "submitted" else None
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
        (run.id, run.study, run.status, run.n_segments, run.bytes, run.trial or "")
        for run in status.runs[:_MOST_LISTED]
    ]
    show_table(columns, rows)
    if status.n_runs > len(rows):
        echo(f"… and {status.n_runs - len(rows):,} more runs")
    if review is not None:
        print_review(review)
