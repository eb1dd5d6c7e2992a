"""`losslake push` to a real service: exactly once, resumable, with the token on safe ways only."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_cli.main import app
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.push import Terms, parse_credit, submission_of
from losslake_contributions.people.tokens import create_token
from losslake_contributions.protocol.submissions import Credit, SubmissionList, SubmissionStatus
from losslake_contributions.review.acceptance import accept
from losslake_contributions.review.submissions import return_to_contributor
from losslake_contributions.store.database import Database
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA
from tests.contributions.made_runs import runs_in
from tests.contributions.review.test_acceptance import REWOUND, check_stored
from tests.contributions.running import RunningService, running_service
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.contributions.stored import submissions_of
from tests.servers.processes import program, wait_until

Push = Callable[..., str]
Submissions = Callable[[], Sequence[SubmissionStatus]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(Lake.create(tmp_path_factory.mktemp("running") / "lake")) as service:
        yield service


@pytest.fixture(scope="module")
def stored() -> list[SpooledRun]:
    """The runs that the tests of this module had accepted so far."""
    return []


@pytest.fixture
def token(running: RunningService, monkeypatch: pytest.MonkeyPatch) -> str:
    """A token of a contributor who has sent nothing yet."""
    made = create_token(Database.open(running.lake), "Ada", None, ["contribute", "review"], 1)
    monkeypatch.setenv("LOSSLAKE_TOKEN", made)
    return made


@pytest.fixture
def submissions(running: RunningService, token: str) -> Submissions:
    """List the submissions of this contributor."""
    return lambda: submissions_of(running.lake, token)


@pytest.fixture
def push(running: RunningService, token: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Push:
    """Push the folder `runs`, which has to end with this code; return what is printed."""

    def command(*options: str, url: str = running.url, code: int = 0) -> str:
        assert (app(["push", str(tmp_path / "runs"), "--url", url, *options], standalone_mode=False) or 0) == code
        return capsys.readouterr().out

    return command


def run_of(scale: float) -> SpooledRun:
    """Return a run that no other test of this module has accepted: the same bytes are stored once."""
    return SpooledRun(segments={"0001/000001.jsonl": rows(range(12), scale)})


def test_runs_are_pushed_submitted_and_found_in_the_release(
    running: RunningService, push: Push, submissions: Submissions, stored: list[SpooledRun], tmp_path: Path
) -> None:
    runs = [SpooledRun(segments=dict(REWOUND)), SpooledRun(batch_size=8)]
    for run in runs:
        run.write(tmp_path / "runs" / "deep")
    said = push("--contributor", f"Ada; {ADA}; software", "--claim", f"{runs[0].id}:val/loss=0.5@2", "--note", "hi")
    (submission,) = submissions()
    assert f"submission {submission.id} of 2 runs" in said
    assert f"{running.url}/v1/submissions/{submission.id}" in said
    assert submission.contributors == (Credit(name="Ada", orcid=ADA, role="software"),)
    assert (submission.claims[0].target, submission.note) == (0.5, "hi")
    release = accept(Database.open(running.lake), submission.id, "me").submission.release
    stored += runs
    check_stored(running.lake, *stored)
    again = push()
    for run in runs:
        assert f"accepted     {run.id} in the submission {submission.id} into release {release}" in again
    assert running.lake.release().number == release


def test_what_is_held_is_not_sent_again(running: RunningService, push: Push, tmp_path: Path) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    run.write(tmp_path / "runs")
    push()
    push()
    sent = [
        line
        for line in map(json.loads, filter(_is_json, running.errors))
        if f"/{run.id}/segments/" in line.get("path", "")
    ]
    assert [line["status"] for line in sent] == [201] * len(REWOUND)


def _is_json(line: str) -> bool:
    return line.startswith("{")


def test_new_runs_of_the_folder_are_submitted_by_themselves(
    push: Push, submissions: Submissions, tmp_path: Path
) -> None:
    first, second = SpooledRun(), SpooledRun()
    first.write(tmp_path / "runs")
    push()
    second.write(tmp_path / "runs")
    assert f"submitted    {first.id} in the submission" in push()
    listed = submissions()
    assert [each.contributions for each in listed] == [(first.id,), (second.id,)]


def test_returned_runs_are_submitted_again_only_on_request(
    push: Push, running: RunningService, submissions: Submissions, tmp_path: Path
) -> None:
    run = SpooledRun()
    run.write(tmp_path / "runs")
    push()
    database = Database.open(running.lake)
    (submission,) = submissions()
    return_to_contributor(database, "me", submission.id, "say more")
    said = push()
    assert f"returned     {run.id} in the submission {submission.id}: say more" in said
    assert "add --again" in said
    assert "submitted    submission" in push("--again", "--note", "more")


def test_a_run_that_goes_on_after_its_push_is_sent_again(
    push: Push, running: RunningService, submissions: Submissions, stored: list[SpooledRun], tmp_path: Path
) -> None:
    run, other = SpooledRun(), run_of(0.75)
    place = run.write(tmp_path / "runs")
    push()
    database = Database.open(running.lake)
    (submission,) = submissions()
    shutil.rmtree(place)
    run.segments["0002-from-5/000001.jsonl"] = rows(range(5, 20), 0.5)
    run.write(tmp_path / "runs")
    other.write(tmp_path / "runs")
    assert "nothing was submitted" in push(code=1)
    assert [each.id for each in submissions()] == [submission.id]
    return_to_contributor(database, "me", submission.id, "train longer")
    push("--again", "--note", "trained longer")
    (again,) = (each for each in submissions() if each.state == "submitted")
    accept(database, again.id, "me")
    stored += [run, other]
    check_stored(running.lake, *stored)


def test_many_runs_are_counted_and_not_listed(
    push: Push, running: RunningService, submissions: Submissions, tmp_path: Path
) -> None:
    runs = [SpooledRun(batch_size=size) for size in range(1, 22)]
    for run in runs:
        run.write(tmp_path / "runs")
    planned = push("--dry-run").splitlines()
    assert (len(planned), planned[-2]) == (22, "  … and 1 more")
    said = push().splitlines()
    assert [line for line in said if line.startswith("held")] == [
        f"held         {number} of 21 runs" for number in range(3, 22, 2)
    ]
    (submission,) = submissions()
    again = push().splitlines()
    assert again[10:] == [f"submitted    21 runs in the submission {submission.id}"]
    SpooledRun().write(tmp_path / "runs")
    return_to_contributor(Database.open(running.lake), "me", submission.id, "say more")
    third = push().splitlines()
    assert f"returned     21 runs in the submission {submission.id}: say more" in third
    assert len(third) < 20


def test_runs_that_are_not_finished_are_named(
    push: Push, running: RunningService, submissions: Submissions, stored: list[SpooledRun], tmp_path: Path
) -> None:
    done, killed = run_of(1.5), SpooledRun(segments={"0001/000001.jsonl": rows(range(30))})
    done.write(tmp_path / "runs")
    place = killed.write(tmp_path / "runs", is_finished=False)
    with (place / "0001/000001.jsonl").open("ab") as file:
        file.write(b'{"step":30,"elapsed_s":1,"val/l')  # as a kill leaves it
    said = push()
    assert f"not finished {place}: wait for its end" in said
    assert killed.id not in str(submissions())
    push("--unfinished")
    database = Database.open(running.lake)
    for each in submissions():
        accept(database, each.id, "me")
    stored += [done, killed]
    check_stored(running.lake, *stored)


def test_a_run_that_changed_after_its_end_is_not_submitted(
    push: Push, submissions: Submissions, tmp_path: Path
) -> None:
    run, other = SpooledRun(), SpooledRun()
    place = run.write(tmp_path / "runs")
    other.write(tmp_path / "runs")
    (place / "0001/000001.jsonl").write_text("{}")
    said = push(code=1)
    assert "nothing was submitted" in said
    assert f"held         {other.id}" in said
    assert submissions() == []


def test_a_dry_run_sends_nothing(push: Push, running: RunningService, tmp_path: Path) -> None:
    SpooledRun().write(tmp_path / "runs")
    said = push("--dry-run", url="http://127.0.0.1:9")
    assert "would submit 1 run of" in said
    assert "CC-BY-4.0" in said


def test_folders_that_are_no_runs_are_left_alone(push: Push, tmp_path: Path) -> None:
    (tmp_path / "runs" / "other").mkdir(parents=True)
    (tmp_path / "runs" / "other" / "run.json").write_text('{"name": "of another tool"}')
    with pytest.raises(LossLakeError, match="there is no finished run in"):
        push()


def test_files_that_are_no_runs_are_said_to_be_none(tmp_path: Path) -> None:
    renamed = SpooledRun().write(tmp_path)
    renamed.rename(tmp_path / "best")
    run = SpooledRun(parameters={"a": "b\x07"})
    run.write(tmp_path)
    escaped = SpooledRun().write(tmp_path)
    (escaped / "end.json").write_text('{"status": "COMPLETE", "ended_at": 1, "segments": {"../../x.jsonl": {}}}')
    found = runs_in(tmp_path)
    assert found.runs == []
    assert len(found.faulty) == 3


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://losslake.example", "isn't https://, so that others could read the token on its way"),
        ("http://192.0.2.7:8010", "isn't https://, so that others could read the token on its way"),
        ("ftp://localhost", "is not an http:// or https:// URL"),
        ("https://a:b@losslake.example", "give the URL without user, password and query"),
        ("x", "is not an http:// or https:// URL"),
    ],
)
def test_the_token_is_sent_only_on_safe_ways(url: str, message: str) -> None:
    with pytest.raises(LossLakeError, match=message) as caught:
        ContributionClient(url, "llc_1_2")
    assert "llc_" not in str(caught.value)


def test_the_token_follows_no_redirect() -> None:
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        target = f"http://127.0.0.1:{second.getsockname()[1]}/"
        answer = f"HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()

        def redirect() -> None:
            connection, _ = first.accept()
            with connection:
                received.append(connection.recv(10_000))
                connection.sendall(answer)

        thread = threading.Thread(target=redirect)
        thread.start()
        with (
            ContributionClient(f"http://127.0.0.1:{first.getsockname()[1]}", "llc_secret") as client,
            pytest.raises(LossLakeError, match="307"),
        ):
            client.send("GET", "v1/submissions", SubmissionList)
        thread.join(60)
        second.settimeout(0)
        with pytest.raises(BlockingIOError):
            second.accept()
    assert b"llc_secret" in received[0].split(b"\r\n\r\n")[0]
    assert b"llc_secret" not in received[0].split(b"\r\n")[0]


def test_the_token_is_in_no_log(push: Push, running: RunningService, token: str, tmp_path: Path) -> None:
    n_submissions = n_submitted(running)
    SpooledRun().write(tmp_path / "runs")
    said = push()
    wait_until(lambda: n_submitted(running) > n_submissions, "the last request of the push is logged")
    secret = token.split("_", 2)[2]
    assert secret not in said + "".join(running.errors)
    assert len(running.errors) > 4


def n_submitted(running: RunningService) -> int:
    lines = [json.loads(line) for line in running.errors if _is_json(line)]
    return sum((line.get("method"), line.get("path")) == ("POST", "/v1/submissions") for line in lines)


def test_credits_and_claims_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    SpooledRun().write(tmp_path)
    SpooledRun(licence=None).write(tmp_path)
    runs = runs_in(tmp_path).runs
    assert parse_credit("Ada Lovelace") == Credit(name="Ada Lovelace")
    assert parse_credit("Ada; ; software") == Credit(name="Ada", role="software")
    for text in ("", ";", "a; b; c; d", "Ada; 0000-0002-1825-0098"):
        with pytest.raises(LossLakeError, match="is not a contributor"):
            parse_credit(text)
    for claim, message in (
        ("val/loss", "is not a claim"),
        ("val/loss=x@1", "is not a claim"),
        ("val/loss=0.5@1", "there are 2 runs, so name one as RUN:val/loss=0.5@1, such as"),
        (f"{SpooledRun().id}:val/loss=0.5@1", "isn't among the runs to submit"),
        (f"{runs[0].id}:val/loss=inf@1", "finite"),
    ):
        with pytest.raises(LossLakeError, match=message):
            submission_of(runs, Terms(claims=(claim,)))
    with pytest.raises(LossLakeError, match=r"was recorded with the licence CC-BY-4\.0, not CC0-1\.0"):
        submission_of(runs, Terms(licence="CC0-1.0"))
    with pytest.raises(LossLakeError, match="no run has a licence"):
        submission_of([run for run in runs if run.facts.licence is None], Terms())


def test_the_walk_with_curl_works(
    running: RunningService, token: str, submissions: Submissions, stored: list[SpooledRun], tmp_path: Path
) -> None:
    program("curl", "curl")
    program("zstd", "zstd")
    text = (Path(__file__).parents[3] / "docs" / "contributions.md").read_text()
    (walk,) = (block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if block.startswith("URL="))
    run = run_of(3.0)
    run.write(tmp_path / "losslake-runs")
    script = (
        f"set -e\n{walk.replace('https://contribute.losslake.example', running.url).replace('curl ', 'curl -sS -f ')}"
    )
    environment = {**os.environ, "LOSSLAKE_TOKEN": token, "RUN": run.id}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (submission,) = submissions()
    assert submission.contributions == (run.id,)
    accept(Database.open(running.lake), submission.id, "me")
    stored.append(run)
    check_stored(running.lake, *stored)
