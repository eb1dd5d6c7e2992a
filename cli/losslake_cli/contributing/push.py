"""`losslake push`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated

import typer

from losslake_cli.console import MOST_LISTED, echo, echo_some, print_error
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake_contributions.client.conversion import Conversion
    from losslake_contributions.client.local_runs import LocalRun, LocalRuns
    from losslake_contributions.client.push import Pushed, Terms
    from losslake_contributions.protocol.contributions import ContributionStatus
    from losslake_contributions.protocol.submissions import SubmissionStatus

TOKEN = "LOSSLAKE_TOKEN"
_PARTS = 10

UrlOption = Annotated[str, typer.Option("--url", metavar="URL", help="The contribution service, https://….")]
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", help=f"A file with your token. Default: ${TOKEN}.")
]
RunsArgument = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders of recorded runs, or logs.")]
CollectionOption = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the collection of logs.")]
MappingOption = Annotated[
    Path | None, typer.Option("--map", metavar="FILE|NAME", help="Mapping of logs, as of 'losslake ingest'.")
]


def push(
    paths: RunsArgument,
    url: UrlOption,
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
) -> None:
    """Send recorded runs to a contribution service.

    Secrets, host names, paths and e-mail addresses are removed first. The runs are submitted for review together. What
    the service holds already is skipped: run the same command again after
    an interruption, or to see what became of the runs. The token is sent only over https, or to this machine.
    """
    from losslake_contributions.client.conversion import prepare
    from losslake_contributions.client.local_runs import local_runs
    from losslake_contributions.client.push import Terms, parse_credit
    from losslake_ingest.pipeline.reading import Request

    terms = Terms(licence, tuple(map(parse_credit, contributors or [])), tuple(claims or []), note, again)
    with tempfile.TemporaryDirectory(prefix="losslake-push-") as scratch:
        conversion = prepare(paths, Request(collection, mapping), Path(scratch))
        local = local_runs(conversion.runs.values(), unfinished)
        _show_others(local, conversion)
        if not local.runs:
            named = ", ".join(map(str, paths))
            raise LossLakeError(f"there is no finished run in {named}: 'losslake push --help' says what can be sent")
        if dry_run:
            _show_plan(local.runs, terms)
        else:
            _send(local, terms, url, token_file)


def _send(local: LocalRuns, terms: Terms, url: str, token_file: Path | None) -> None:
    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.client.push import RUNS_AT_ONCE, SEGMENTS_AT_ONCE
    from losslake_contributions.client.push import push as send

    with ContributionClient(url, read_token(token_file, url), RUNS_AT_ONCE + SEGMENTS_AT_ONCE) as client:
        pushed = send(client, local.runs, terms, _HeldRuns(len(local.runs)))
    _show_states(local.runs, pushed)
    if pushed.failures:
        echo("nothing was submitted: correct these runs, or take them out of the folder, and push again")
        raise typer.Exit(1)


class _HeldRuns:
    """Prints which runs are held: each of a few, else how many, ten times in all. Called from any thread."""

    def __init__(self, n_runs: int) -> None:
        self._n_runs, self._n_held, self._lock = n_runs, 0, Lock()

    def __call__(self, run: LocalRun, _: ContributionStatus) -> None:
        with self._lock:
            self._n_held += 1
            if self._n_runs <= MOST_LISTED:
                echo(f"held         {run.id}")
            elif self._n_held * _PARTS // self._n_runs > (self._n_held - 1) * _PARTS // self._n_runs:
                echo(f"held         {self._n_held:,} of {self._n_runs:,} runs")


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


def _show_others(local: LocalRuns, conversion: Conversion) -> None:
    """Print what is removed from the runs, and the runs that aren't sent."""
    removals = [f"{name}: {each}" for name, run in conversion.runs.items() for each in run.removals]
    more = "more private data: 'losslake check --preview' shows what is sent"
    echo_some([f"removed      {each}" for each in removals], more)
    how = "wait for its end, or, if the training was killed, add --unfinished"
    echo_some([f"not finished {place}: {how}" for place in local.unfinished], "more that aren't finished")
    for place, reason in local.faulty:
        print_error(f"{place} is left out: {reason}")
    for each in (*conversion.broken, *conversion.quarantined, *conversion.left_out):
        print_error(f"left out: {each}")


def _show_plan(runs: Sequence[LocalRun], terms: Terms) -> None:
    from losslake_contributions.client.push import submission_of

    echo_some([f"would send   {_described(run)}" for run in runs])
    request = submission_of(runs, terms)
    total = sum(run.bytes for run in runs)
    echo(f"would submit {counted(len(runs), 'run')} of {total:,} bytes with the licence {request.licence}")


def _described(run: LocalRun) -> str:
    facts = run.facts
    study = f"{facts.collection}/{facts.dataset}/{facts.model}/{facts.optimizer}/{facts.batch_size}"
    return f"{run.id}  {study}  {run.end.status}, {counted(len(run.end.segments), 'segment')}"


def _show_states(runs: Sequence[LocalRun], pushed: Pushed) -> None:
    submitted = pushed.submission.contributions if pushed.submission is not None else ()
    others = [run.id for run in runs if run.id in pushed.states and run.id not in submitted]
    if len(others) <= MOST_LISTED:
        for run_id in others:
            _show_state(run_id, pushed.states[run_id])
    else:
        _show_counts(others, pushed)
    for run_id, reason in [*pushed.failures.items()][:MOST_LISTED]:
        print_error(f"{run_id}: {reason}")
    if len(pushed.failures) > MOST_LISTED:
        print_error(f"{len(pushed.failures) - MOST_LISTED:,} more runs aren't held")
    if pushed.submission is not None:
        show_submission(pushed.submission)


def _show_counts(run_ids: Sequence[str], pushed: Pushed) -> None:
    """Print how many runs are in each state."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run_id in run_ids:
        status = pushed.states[run_id]
        where = status.submission.id if status.submission is not None else ""
        groups.setdefault((status.state, where), []).append(run_id)
    for members in [*groups.values()][:MOST_LISTED]:
        _show_state(members[0] if len(members) == 1 else f"{len(members):,} runs", pushed.states[members[0]])
    remaining = [*groups.values()][MOST_LISTED:]
    if remaining:
        echo(f"  … and {sum(map(len, remaining)):,} more runs in {counted(len(remaining), 'submission')}")


def _show_state(runs: str, status: ContributionStatus) -> None:
    submission = status.submission
    if submission is None:
        echo(f"{status.state:<12} {runs}")
        return
    more = f" into release {submission.release}" if submission.release is not None else ""
    reason = f": {submission.reason}" if submission.reason else ""
    echo(f"{submission.state:<12} {runs} in the submission {submission.id}{more}{reason}")
    if submission.state in ("returned", "withdrawn"):
        echo("             to submit them again, add --again, and say in --note what has changed")


def show_submission(submission: SubmissionStatus) -> None:
    """Print the state of a submission, and where it is."""
    echo(f"{submission.state:<12} submission {submission.id} of {counted(submission.n_runs, 'run')}")
    if submission.reason:
        echo(f"             {submission.reason}")
    for link in submission.links.values():
        echo(f"             {link}")
