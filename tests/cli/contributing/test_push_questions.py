"""`losslake push` on a terminal: what it asks, what it shows before it submits, and how it can be left."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_cli.main import app
from losslake_contributions.people.tokens import create_token
from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.review.acceptance import accept
from losslake_contributions.store.database import Database
from losslake_ingest.pipeline.stored_curves import stored_curves
from losslake_schema.names import Study
from tests.cli.contributing import folders_of_loggers as loggers
from tests.cli.terminal import Terminal
from tests.contributions.running import RunningService, running_service
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.contributions.stored import submissions_of

Start = Callable[..., Terminal]
Submissions = Callable[[], list[SubmissionStatus]]
WHERE = {"collection": "my-runs", "dataset (": "mnist", "model (": "cnn"}
OPTIMIZER, BATCH_SIZE = {"optimizer (": "adamw"}, {"batch_size (": "64"}
# What is asked of each folder, in order, with the answers; empty: the default.
FOLDERS: dict[str, tuple[Callable[[Path], Path], dict[str, str]]] = {
    "wandb": (loggers.wandb, {**WHERE, "column val_loss is the metric": ""}),
    "trackio": (loggers.trackio, {**WHERE, **OPTIMIZER, **BATCH_SIZE, "column loss is the metric": "val/loss"}),
    "tensorboard": (loggers.tensorboard, {**WHERE, **OPTIMIZER, **BATCH_SIZE, "column Loss/val is the metric": ""}),
    "mlflow": (loggers.mlflow, {**WHERE, **OPTIMIZER, "column val_loss is the metric": ""}),
    "hugging_face": (loggers.hugging_face, {**WHERE, **OPTIMIZER, **BATCH_SIZE}),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(Lake.create(tmp_path_factory.mktemp("running") / "lake")) as service:
        yield service


@pytest.fixture
def token(running: RunningService, monkeypatch: pytest.MonkeyPatch) -> str:
    made = create_token(Database.open(running.lake), "Ada", None, ["contribute"], 1)
    monkeypatch.setenv("LOSSLAKE_TOKEN", made)
    return made


@pytest.fixture
def submissions(running: RunningService, token: str) -> Submissions:
    """List the submissions of this contributor."""
    return lambda: submissions_of(running.lake, token)


@pytest.fixture
def start(running: RunningService, token: str, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that pushes on a pseudo-terminal; stop what it started after the test."""
    started: list[Terminal] = []

    def run(*arguments: object) -> Terminal:
        command = ["push", *map(str, arguments)]
        started.append(Terminal(command, running.lake.folder, tmp_path, 200))
        return started[-1]

    yield run
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()


def answer(terminal: Terminal, answers: dict[str, str]) -> None:
    for question, text in answers.items():
        terminal.wait_for(question)
        terminal.type(f"{text}\r")


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_a_logger_is_submitted_after_its_questions(
    name: str, running: RunningService, submissions: Submissions, start: Start, tmp_path: Path
) -> None:
    make, answers = FOLDERS[name]
    folder = make(tmp_path)
    push = start(folder, "--url", running.url)
    answer(push, answers | {"licence (": "", "contributor to be cited": "Ada Lovelace", "ORCID": "0000-0002-1825-0097"})
    push.wait_for("not refused")
    assert submissions() == []
    push.wait_for("submit 1 run with the licence CC-BY-4.0?")
    push.type("y\r")
    push.wait_for("submitted    submission ")
    assert push.ends() == 0
    (submission,) = submissions()
    assert [(each.name, each.orcid) for each in submission.contributors] == [("Ada Lovelace", "0000-0002-1825-0097")]
    study = Study.parse(submission.runs[0].study)
    assert str(study) == "my-runs/mnist/cnn/adamw/64" or name == "hugging_face"
    release = accept(Database.open(running.lake), submission.id, "me").submission.release
    check_curve(running.lake, release or 0, study)
    again = start(folder, "--url", running.url)
    answer(again, {"contributor to be cited": "-"})  # everything else is in losslake.toml
    again.wait_for("accepted     ")
    assert again.ends() == 0


def check_curve(lake: Lake, release: int, study: Study) -> None:
    """Compare the stored losses with those that were logged."""
    files = [each for each in lake.files(lake.release(release)) if each.table == "measurements" and each.study == study]
    values = [stored_curves(lake.store, files, [trial]).trial(0).values for trial in range(1, 9)]
    assert loggers.LOSSES in [curve["val/loss"].tolist() for curve in values if "val/loss" in curve]


def test_answers_are_kept_beside_the_logs_and_ctrl_c_submits_nothing(
    running: RunningService, submissions: Submissions, start: Start, tmp_path: Path
) -> None:
    folder = loggers.mlflow(tmp_path)
    push = start(folder, "--url", running.url)
    answer(push, {"collection": "a//b", "is empty": "my-runs", "dataset (": "mnist"})
    push.wait_for("model (")
    push.type("\x03")
    push.wait_for("nothing was submitted: run the same command again to go on")
    assert push.ends() == 130
    assert submissions() == []
    kept = tomllib.loads((folder / "losslake.toml").read_text())
    assert (kept["collection"]["name"], kept["fields"]["dataset"]) == ("my-runs", "mnist")
    again = start(folder, "--url", running.url)
    answer(
        again, {"model (": "mlp", **OPTIMIZER, "column val_loss": "", "licence (": "", "contributor to be cited": "-"}
    )
    again.wait_for("submit 1 run")
    again.type("\x03")
    again.wait_for("nothing was submitted")
    assert again.ends() == 130
    assert submissions() == []


def test_recorded_runs_with_short_names_and_percentages_are_asked_about(
    running: RunningService, submissions: Submissions, start: Start, tmp_path: Path
) -> None:
    lines = [{"step": step, "loss": 11.0 / (step + 1), "acc": 30.5 + step} for step in range(12)]
    SpooledRun(segments={"0001/000001.jsonl": lines}).write(tmp_path / "runs")
    push = start(tmp_path / "runs", "--url", running.url)
    answer(push, {"column acc is the metric": "val/accuracy", "column loss is the metric": ""})
    answer(push, {"column acc: metric val/accuracy, scale 0.01 [Y/n]": "", "contributor to be cited": "-"})
    push.wait_for("submit 1 run")
    push.type("y\r")
    assert push.ends() == 0
    (submission,) = submissions()
    release = accept(Database.open(running.lake), submission.id, "me").submission.release
    study = Study.parse(submission.runs[0].study)
    files = running.lake.files(running.lake.release(release))
    of_study = [each for each in files if each.table == "measurements" and each.study == study]
    values = stored_curves(running.lake.store, of_study, [1]).trial(0).values
    assert values["val/accuracy"].tolist() == [(305 + 10 * step) / 1000 for step in range(12)]
    assert values["train/loss"].tolist() == [line["loss"] for line in lines]


def test_the_service_and_the_token_are_asked_for_and_the_token_is_not_shown(
    running: RunningService, token: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SpooledRun(segments={"0001/000001.jsonl": rows(range(12), 13.0)}).write(tmp_path / "runs")
    monkeypatch.delenv("LOSSLAKE_TOKEN")
    push = start(tmp_path / "runs")
    # The space after the colon comes once the terminal shows no more of what is typed.
    answer(push, {"contributor to be cited": "-", "contribution service": running.url, "(it isn't shown): ": token})
    push.wait_for("submit 1 run")
    push.type("n\r")
    push.wait_for("nothing was submitted: push again to submit them")
    assert push.ends() == 0
    assert token not in push.seen


def test_runs_that_a_check_refuses_are_not_submitted(
    running: RunningService, submissions: Submissions, start: Start, tmp_path: Path
) -> None:
    run = SpooledRun(segments={"0001/000001.jsonl": rows(range(12), 3.0)})
    run.write(tmp_path / "runs")
    claim = f"{run.id}:val/loss=0.5@1"
    push = start(tmp_path / "runs", "--url", running.url, "--claim", claim, "--yes")
    push.wait_for("error claim: ")
    push.wait_for("nothing was submitted: correct what is refused, and push again")
    assert push.ends() == 1
    assert submissions() == []


def test_a_second_push_says_why_runs_were_returned(
    running: RunningService, submissions: Submissions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = SpooledRun(segments={"0001/000001.jsonl": rows(range(12), 5.0)})
    run.write(tmp_path / "runs")
    push = ["push", str(tmp_path / "runs"), "--url", running.url]
    app([*push, "--claim", "val/loss=0.5@1"], standalone_mode=False)
    (submission,) = submissions()
    assert f"{running.url}/live/" in capsys.readouterr().out
    app(["submissions", "show", submission.id, "--url", running.url], standalone_mode=False)  # waits for the review
    assert "error claim: " in capsys.readouterr().out
    app(
        ["review", "return", submission.id, "--reason", "see the checks", "--lake", str(running.lake)],
        standalone_mode=False,
    )
    capsys.readouterr()
    app(push, standalone_mode=False)
    out = capsys.readouterr().out
    assert f"returned     {run.id} in the submission {submission.id}: see the checks\n" in out
    assert f"             error claim: {run.id}, " in out


def test_a_contributor_lists_and_withdraws_submissions(
    running: RunningService, submissions: Submissions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    SpooledRun(segments={"0001/000001.jsonl": rows(range(12), 7.0)}).write(tmp_path / "runs")
    app(["push", str(tmp_path / "runs"), "--url", running.url, "--note", "mine"], standalone_mode=False)
    (submission,) = submissions()
    capsys.readouterr()
    app(["submissions", "list", "--url", running.url], standalone_mode=False)
    assert submission.id in capsys.readouterr().out
    app(["submissions", "withdraw", submission.id, "--url", running.url], standalone_mode=False)
    assert f"withdrawn    submission {submission.id} of 1 run" in capsys.readouterr().out
    assert [each.state for each in submissions()] == ["withdrawn"]
