"""The output of `losslake push`: what is sent, what is held, and what became of runs and submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from losslake_cli.console import MOST_LISTED, echo, echo_some, print_error
from losslake_schema.names import size_name
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake_contributions.client.conversion import Conversion
    from losslake_contributions.client.local_runs import LocalRun, LocalRuns
    from losslake_contributions.client.push import Pushed, Terms
    from losslake_contributions.protocol.contributions import ContributionStatus
    from losslake_contributions.protocol.submissions import SubmissionStatus

_PARTS = 10


class HeldRuns:
    """Prints which runs are held: each of a few, else how many, ten times in all. Called from any thread."""

    def __init__(self, n_runs: int) -> None:
        self._n_runs, self._n_held, self._lock = n_runs, 0, Lock()

    def __call__(self, run: LocalRun, status: ContributionStatus) -> None:
        """Print that a run is held, with the link to its page."""
        with self._lock:
            self._n_held += 1
            if self._n_runs <= MOST_LISTED:
                echo(f"held         {run.id}")
                if "live" in status.links:
                    echo(f"             {status.links['live']}")
            elif self._n_held * _PARTS // self._n_runs > (self._n_held - 1) * _PARTS // self._n_runs:
                echo(f"held         {self._n_held:,} of {self._n_runs:,} runs")


def show_others(local: LocalRuns, conversion: Conversion) -> None:
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


def show_plan(runs: Sequence[LocalRun], terms: Terms) -> None:
    """Print what would be sent and submitted."""
    from losslake_contributions.client.push import submission_of

    echo_some([f"would send   {_described(run)}" for run in runs])
    request = submission_of(runs, terms)
    total = sum(run.bytes for run in runs)
    echo(f"would submit {counted(len(runs), 'run')} of {total:,} bytes with the licence {request.licence}")


def _described(run: LocalRun) -> str:
    facts = run.facts
    study = f"{facts.collection}/{facts.dataset}/{facts.model}/{facts.optimizer}/{size_name(facts.batch_size)}"
    return f"{run.id}  {study}  {run.end.status}, {counted(len(run.end.segments), 'segment')}"


def show_states(runs: Sequence[LocalRun], pushed: Pushed, refused: Mapping[str, Sequence[str]]) -> None:
    """Print what became of runs. refused: the errors of returned submissions, by their id."""
    submitted = pushed.submission.contributions if pushed.submission is not None else ()
    others = [run.id for run in runs if run.id in pushed.states and run.id not in submitted]
    if len(others) <= MOST_LISTED:
        for run_id in others:
            _show_state(run_id, pushed.states[run_id], refused)
    else:
        _show_counts(others, pushed, refused)
    for run_id, reason in [*pushed.failures.items()][:MOST_LISTED]:
        print_error(f"{run_id}: {reason}")
    if len(pushed.failures) > MOST_LISTED:
        print_error(f"{len(pushed.failures) - MOST_LISTED:,} more runs aren't held")
    if pushed.submission is not None:
        show_submission(pushed.submission)


def _show_counts(run_ids: Sequence[str], pushed: Pushed, refused: Mapping[str, Sequence[str]]) -> None:
    """Print how many runs are in each state."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run_id in run_ids:
        status = pushed.states[run_id]
        where = status.submission.id if status.submission is not None else ""
        groups.setdefault((status.state, where), []).append(run_id)
    for members in [*groups.values()][:MOST_LISTED]:
        _show_state(members[0] if len(members) == 1 else f"{len(members):,} runs", pushed.states[members[0]], refused)
    remaining = [*groups.values()][MOST_LISTED:]
    if remaining:
        echo(f"  … and {sum(map(len, remaining)):,} more runs in {counted(len(remaining), 'submission')}")


def _show_state(runs: str, status: ContributionStatus, refused: Mapping[str, Sequence[str]]) -> None:
    submission = status.submission
    if submission is None:
        echo(f"{status.state:<12} {runs}")
        return
    more = f" into release {submission.release}" if submission.release is not None else ""
    reason = f": {submission.reason}" if submission.reason else ""
    echo(f"{submission.state:<12} {runs} in the submission {submission.id}{more}{reason}")
    echo_some([f"             {each}" for each in refused.get(submission.id, ())], "more errors")
    if submission.state in ("returned", "withdrawn"):
        echo("             to submit them again, add --again, and say in --note what has changed")


def show_submission(submission: SubmissionStatus) -> None:
    """Print the state of a submission, and where it is."""
    echo(f"{submission.state:<12} submission {submission.id} of {counted(submission.n_runs, 'run')}")
    if submission.reason:
        echo(f"             {submission.reason}")
    for link in submission.links.values():
        echo(f"             {link}")
