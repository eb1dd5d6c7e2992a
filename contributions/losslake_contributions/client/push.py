"""Sending of recorded runs to a contribution service, and their submission for review.

Everything may be repeated: what the service holds is skipped, and the folders of the runs are the only state. So a push
that was interrupted goes on when it is run again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import zstandard
from pydantic import ValidationError

from losslake.client.client import RemoteError
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.local_runs import LocalRun
from losslake_contributions.protocol.contributions import ContributionStatus, HeldSegments, Segment
from losslake_contributions.protocol.submissions import Claim, Credit, SubmissionRequest, SubmissionStatus
from losslake_contributions.protocol.texts import reason_of
from losslake_schema.errors import LossLakeError

RUNS_AT_ONCE, SEGMENTS_AT_ONCE = 4, 4
_CLAIM = re.compile(r"(?:(?P<run>[0-9a-f]{8}-[0-9a-f-]{27}):)?(?P<metric>.+)=(?P<target>[^=@]+)@(?P<steps>\d{1,16})")
_INCOMPLETE, _FORBIDDEN = "urn:losslake:problem:incomplete", "urn:losslake:problem:forbidden"
_OVER = ("returned", "withdrawn")
Progress = Callable[[LocalRun, ContributionStatus], None]


@dataclass(frozen=True)
class Terms:
    """The terms of a push, the same for all of its runs. again: also submit runs that were returned or withdrawn."""

    licence: str | None = None
    contributors: tuple[Credit, ...] = ()
    claims: tuple[str, ...] = ()
    note: str = ""
    again: bool = False


@dataclass(frozen=True)
class Pushed:
    """The outcome. states: of each run that is held; failures: of those that aren't, with the reason."""

    states: dict[str, ContributionStatus]
    failures: dict[str, str]
    submission: SubmissionStatus | None


def push(
    client: ContributionClient,
    runs: Sequence[LocalRun],
    terms: Terms,
    progress: Progress,
    confirm: Callable[[SubmissionRequest], bool] = lambda _: True,
) -> Pushed:
    """Send runs, finish them, and submit those that aren't in a submission yet, together.

    progress: called once for each run that is held, from any thread. confirm: called with the submission before it is
    sent; nothing is submitted if it returns False, nor while a run fails. Raises LossLakeError if the terms don't fit
    the runs; claims are looked at before anything is sent.
    """
    for text in terms.claims:
        _claim(text, runs)
    states, failures = send_runs(client, runs, progress)
    new = [run for run in runs if run.id in states and _is_free(states[run.id], terms.again)]
    if failures or not new:
        return Pushed(states, failures, None)
    request = submission_of(new, terms)
    if not confirm(request):
        return Pushed(states, failures, None)
    return Pushed(states, failures, client.send("POST", "v1/submissions", SubmissionStatus, request))


def send_runs(
    client: ContributionClient, runs: Sequence[LocalRun], progress: Progress
) -> tuple[dict[str, ContributionStatus], dict[str, str]]:
    """Send runs and finish them; return the states of those that are held, and why others aren't.

    Raises RemoteError for what would be the same for all runs.
    """
    states: dict[str, ContributionStatus] = {}
    failures: dict[str, str] = {}
    with (
        ThreadPoolExecutor(SEGMENTS_AT_ONCE, "segments") as segments,
        ThreadPoolExecutor(RUNS_AT_ONCE, "runs") as pool,
    ):
        waiting: dict[Future[ContributionStatus], LocalRun] = {
            pool.submit(send_run, client, run, segments): run for run in runs
        }
        try:
            for future in as_completed(waiting):
                run = waiting[future]
                try:
                    states[run.id] = future.result()
                    progress(run, states[run.id])
                except LossLakeError as error:
                    if isinstance(error, RemoteError) and (error.status in (None, 401) or _kind(error) == _FORBIDDEN):
                        raise  # it would be the same for the others
                    failures[run.id] = str(error)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            client.stop()
            raise
    return states, failures


def _kind(error: RemoteError) -> object:
    return error.problem.get("type")


def _is_free(status: ContributionStatus, again: bool) -> bool:
    return status.submission is None or (again and status.submission.state in _OVER)


def send_run(client: ContributionClient, run: LocalRun, pool: ThreadPoolExecutor) -> ContributionStatus:
    """Send what the service doesn't hold of a run, and finish it; return its state, with the link to its page.

    Raises LossLakeError.
    """
    path = f"v1/contributions/{run.id}"
    status = client.send("PUT", path, ContributionStatus, run.run_json)

    def finish() -> ContributionStatus:
        finished = client.send("POST", f"{path}/finish", ContributionStatus, run.end)
        return finished.model_copy(update={"links": {**status.links, **finished.links}})

    if status.state == "finished":
        try:
            return finish()
        except RemoteError as error:
            # It has gone on from a checkpoint since it was finished.
            if _kind(error) != _INCOMPLETE:
                raise
    held = client.send("GET", f"{path}/segments", HeldSegments).segments

    def send(segment: Segment) -> None:
        send_segment(client, run.id, segment, run.read(segment))

    sending = [pool.submit(send, each) for each in run.end.segments if each not in held]
    try:
        for each in sending:
            each.result()
    finally:
        for each in sending:
            each.cancel()
    return finish()


def send_segment(client: ContributionClient, run: str, segment: Segment, lines: bytes) -> None:
    """Send the JSON lines of a whole segment. Raises RemoteError."""
    query = f"sha256={segment.sha256}" + ("" if segment.from_step is None else f"&from_step={segment.from_step}")
    path = f"v1/contributions/{run}/segments/{segment.attempt}/{segment.n}?{query}"
    headers = {"Content-Type": "application/jsonl", "Content-Encoding": "zstd"}
    data = zstandard.ZstdCompressor(level=6).compress(lines)
    client.send("PUT", path, ContributionStatus, data, headers)


def submission_of(runs: Sequence[LocalRun], terms: Terms) -> SubmissionRequest:
    """Return the document that submits runs; raise LossLakeError if the terms don't fit them."""
    stated = {run.facts.licence for run in runs} - {None}
    licence = terms.licence or (next(iter(stated)) if len(stated) == 1 else None)
    if licence is None:
        named = (
            f"licences of the runs differ ({', '.join(sorted(map(str, stated)))})" if stated else "no run has a licence"
        )
        raise LossLakeError(f"{named}: give --licence, such as CC-BY-4.0, and push runs of one licence together")
    other = next((run for run in runs if run.facts.licence not in (None, licence)), None)
    if other is not None:
        detail = f"{other.id} was recorded with the licence {other.facts.licence}, not {licence}"
        raise LossLakeError(f"{detail}: push runs of one licence together")
    try:
        return SubmissionRequest(
            contributions=tuple(run.id for run in runs),
            licence=licence,
            contributors=terms.contributors,
            claims=tuple(_claim(text, runs) for text in terms.claims),
            note=terms.note,
        )
    except ValidationError as error:
        raise LossLakeError(reason_of(error)) from None


def _claim(text: str, runs: Sequence[LocalRun]) -> Claim:
    """Read `[RUN:]METRIC=TARGET@STEPS`; raise LossLakeError, and ValidationError for values out of bounds."""
    match = _CLAIM.fullmatch(text)
    try:
        target = float(match["target"]) if match else None
    except ValueError:
        target = None
    if match is None or target is None:
        raise LossLakeError(f"'{text}' is not a claim: write METRIC=TARGET@STEPS, such as val/loss=0.05@1200")
    run = match["run"] or (runs[0].id if len(runs) == 1 else None)
    if run is None:
        counted_runs = f"--claim {text}: there are {len(runs):,} runs"
        raise LossLakeError(f"{counted_runs}, so name one as RUN:{text}, such as {runs[0].id}:{text}")
    if all(each.id != run for each in runs):
        raise LossLakeError(f"--claim {text}: {run} isn't among the runs to submit: --dry-run lists them")
    return Claim(contribution=run, metric=match["metric"], target=target, steps=int(match["steps"]))


def parse_credit(text: str) -> Credit:
    """Read `Name; ORCID; role`, of which ORCID and role may be left out; raise LossLakeError."""
    name, *more = (part.strip() for part in text.split(";"))
    orcid, role = (part or None for part in [*more, "", ""][:2])
    if len(more) > 2:
        raise LossLakeError(f"'{text}' is not a contributor: write 'Name; ORCID; role'")
    try:
        return Credit(name=name, orcid=orcid, role=role)
    except ValidationError as error:
        raise LossLakeError(f"'{text}' is not a contributor ({reason_of(error)}): write 'Name; ORCID; role'") from None
