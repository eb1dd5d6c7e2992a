"""`losslake submissions`: what became of one's own runs at a contribution service."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake_cli.contributing.push import TokenFileOption, UrlOption
from losslake_cli.contributing.push_output import show_submission
from losslake_cli.contributing.review import SubmissionArgument, print_list, print_submission
from losslake_cli.contributing.review_queue import open_remote

submissions = typer.Typer(help="List, show and withdraw your submissions to a service.", no_args_is_help=True)


@submissions.command("list")
def list_submissions(
    url: UrlOption,
    state: Annotated[str, typer.Option(help="submitted, accepted, returned, withdrawn, or all.")] = "all",
    token_file: TokenFileOption = None,
) -> None:
    """List your submissions, the oldest first."""
    with open_remote(url, token_file) as queue:
        print_list(queue, state)


@submissions.command("show")
def show(submission: SubmissionArgument, url: UrlOption, token_file: TokenFileOption = None) -> None:
    """Show a submission with its runs. While it waits, also its checks, and what it changes."""
    with open_remote(url, token_file) as queue:
        print_submission(queue, submission)


@submissions.command("withdraw")
def withdraw(submission: SubmissionArgument, url: UrlOption, token_file: TokenFileOption = None) -> None:
    """Withdraw a submission before it is accepted. Its runs can be submitted again with 'losslake push --again'."""
    with open_remote(url, token_file) as queue:
        show_submission(queue.withdraw(submission))
