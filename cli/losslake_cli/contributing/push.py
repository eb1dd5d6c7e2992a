"""`losslake push`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import MOST_LISTED, echo, echo_all, print_error
from losslake_cli.contributing.push_output import HeldRuns, show_others, show_plan, show_states
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.client.local_runs import LocalRuns
    from losslake_contributions.client.push import Pushed, Terms
    from losslake_contributions.protocol.submissions import SubmissionRequest

TOKEN = "LOSSLAKE_TOKEN"
_STOPPED = 130

UrlOption = Annotated[str, typer.Option("--url", metavar="URL", help="The contribution service, https://….")]
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", help=f"A file with your token. Default: ${TOKEN}.")
]
RunsArgument = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders of recorded runs, or logs.")]
CollectionOption = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the collection of logs.")]
MappingOption = Annotated[
    Path | None, typer.Option("--map", metavar="FILE|NAME", help="Mapping of logs and runs, as of 'losslake ingest'.")
]


def push(
    paths: RunsArgument,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="The contribution service, https://….")
    ] = None,
    token_file: TokenFileOption = None,
    licence: Annotated[
        str | None, typer.Option(metavar="LICENCE", help="Of the measurements, such as CC-BY-4.0. Default: the runs'.")
    ] = None,
    contributors: Annotated[
        list[str] | None,
        typer.Option("--contributor", metavar="'NAME; ORCID; ROLE'", help="Whose work it is; may be repeated."),
    ] = None,
    claims: Annotated[
        list[str] | None,
        typer.Option("--claim", metavar="[RUN:]METRIC=TARGET@STEPS", help="A result that you claim; may be repeated."),
    ] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="For the reviewers.")] = "",
    collection: CollectionOption = None,
    mapping: MappingOption = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Send killed runs, too, as INCOMPLETE: those without an end.json.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Submit runs again that were returned or withdrawn.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing, show what would be sent.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; submit unless the service's checks refuse the runs.")
    ] = False,
) -> None:
    """Send recorded runs and logs to a contribution service.

    Secrets, host names, paths and e-mail addresses are removed first. On a terminal, it asks for what is missing, shows
    the checks and what the runs change, and submits them for review after a yes. What the service holds already is
    skipped: run the same command again after an interruption, or to see what became of the runs. The token is sent
    only over https, or to this machine.
    """
    from losslake_cli.contributing import questions
    from losslake_contributions.client.conversion import prepare
    from losslake_contributions.client.local_runs import local_runs
    from losslake_contributions.client.push import Terms, parse_credit
    from losslake_ingest.pipeline.reading import Request

    terms = Terms(licence, tuple(map(parse_credit, contributors or [])), tuple(claims or []), note, again)
    request = Request(collection, mapping)
    is_asking = questions.is_terminal() and not (yes or dry_run)
    with _stopping() as progress, tempfile.TemporaryDirectory(prefix="losslake-push-") as scratch:
        if is_asking and mapping is None:
            questions.complete_mappings(paths, request, Path(scratch))
        conversion = prepare(paths, request, Path(scratch) / "runs")
        local = local_runs(conversion.runs.values(), unfinished)
        show_others(local, conversion)
        if not local.runs:
            named = ", ".join(map(str, paths))
            raise LossLakeError(f"there is no finished run in {named}: 'losslake push --help' says what can be sent")
        if dry_run:
            show_plan(local.runs, terms)
            return
        if url is None and not is_asking:
            raise LossLakeError("give the contribution service with --url, or run this in a terminal")
        terms = questions.ask_terms(terms, local.runs) if is_asking else terms
        url = url if url is not None else questions.ask_url()
        is_token_asked = is_asking and not has_token(token_file)
        token = questions.ask_token(url) if is_token_asked else read_token(token_file, url)
        _send(local, terms, url, token, Confirmation(progress, is_asking, checks=is_asking or yes))


@dataclass
class _Progress:
    """The progress of a push. is_submitting: the submission may have been sent."""

    is_submitting: bool = False


@contextmanager
def _stopping() -> Iterator[_Progress]:
    """Say at Ctrl-C, or at the end of the input, what was submitted and how to go on."""
    progress = _Progress()
    try:
        yield progress
    except (KeyboardInterrupt, typer.Abort):
        what = "it may have been submitted" if progress.is_submitting else "nothing was submitted"
        print_error(f"{what}: run the same command again to go on; answers and runs that were sent are kept")
        raise typer.Exit(_STOPPED) from None


@dataclass
class Confirmation:
    """The check of a submission before it is sent. is_asking: for a yes. checks: the service's are asked for."""

    progress: _Progress
    is_asking: bool
    checks: bool

    def confirm(self, client: ContributionClient, request: SubmissionRequest) -> bool:
        """Print what the service's checks find, and what the runs change; return True if they are to be submitted."""
        if self.checks and _is_refused(client, request):
            echo("nothing was submitted: correct what is refused, and push again")
            raise typer.Exit(1)
        runs = counted(len(request.contributions), "run")
        if self.is_asking and not typer.confirm(f"submit {runs} with the licence {request.licence}?"):
            echo("nothing was submitted: push again to submit them")
            return False
        self.progress.is_submitting = True
        return True


def _is_refused(client: ContributionClient, request: SubmissionRequest) -> bool:
    """Print the review that runs would get; return True if a check refuses them."""
    from losslake.client.client import RemoteError
    from losslake_contributions.review.changes_text import as_text as changes_as_text
    from losslake_contributions.review.checks.report import as_text as report_as_text
    from losslake_contributions.review.review_document import Review

    echo("checking     by the rules of the service, against its stored trials …")
    try:
        review = client.send("POST", "v1/checks", Review, request)
    except RemoteError as error:
        if error.status not in (404, 405):
            raise
        print_error("this service can't check before a submission: 'losslake check' does on this machine")
        return False
    echo_all((*changes_as_text(review.changes), *report_as_text(review.report)))
    return review.report.refuses


def _send(local: LocalRuns, terms: Terms, url: str, token: str, confirmation: Confirmation) -> None:
    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.client.push import RUNS_AT_ONCE, SEGMENTS_AT_ONCE
    from losslake_contributions.client.push import push as send

    with ContributionClient(url, token, RUNS_AT_ONCE + SEGMENTS_AT_ONCE) as client:
        confirm = partial(confirmation.confirm, client)
        pushed = send(client, local.runs, terms, HeldRuns(len(local.runs)), confirm)
        refused = _refused(client, pushed)
    show_states(local.runs, pushed, refused)
    if pushed.failures:
        echo("nothing was submitted: correct these runs, or take them out of the folder, and push again")
        raise typer.Exit(1)


def _refused(client: ContributionClient, pushed: Pushed) -> dict[str, tuple[str, ...]]:
    """Return the errors for which submissions were returned, by their ids."""
    from losslake_contributions.protocol.submissions import SubmissionStatus

    states = [status.submission for status in pushed.states.values()]
    returned = dict.fromkeys(each.id for each in states if each is not None and each.state == "returned")
    names = [*returned][:MOST_LISTED]
    return {name: client.send("GET", f"v1/submissions/{name}", SubmissionStatus).refused for name in names}


def has_token(file: Path | None) -> bool:
    """Return True if a file or the environment names a token."""
    return file is not None or bool(os.environ.get(TOKEN, "").strip())


def read_token(file: Path | None, url: str) -> str:
    """Return the token from a file, or from the environment; raise LossLakeError if there is none.

    url: of the service, which may say where to get one.
    """
    if file is None:
        token = os.environ.get(TOKEN, "").strip()
        if token:
            return token
        from losslake_contributions.client.connection import find_sign_in

        page = find_sign_in(url)
        how = f"sign in at {page} to make one, then set {TOKEN}" if page else f"set {TOKEN}"
        raise LossLakeError(f"there is no token: {how}, or give a file with --token-file")
    try:
        return file.read_text("ascii").strip()
    except OSError as error:
        raise LossLakeError(f"the token file {file} can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise LossLakeError(f"the token file {file} holds no token: copy it again") from None
