"""`losslake analyze`: the answers of the service, defaults from the goal, and errors of one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.questions import ANALYSES, PREFIX
from losslake_cli.answers.analysis_table import with_options
from tests.applications import without_sql
from tests.cli.conftest import Run
from tests.ingest.offers import TrialOffer, study_files, unpacked

WORKLOAD = "root/mnist/cnn/sgd"
OPTIONS = ("--workload", WORKLOAD, "--metric", "val/classification_error", "--target", "0.3")
NAMES = [question.path.removeprefix(PREFIX) for question in ANALYSES]


def test_every_analysis_is_listed(losslake: Run) -> None:
    text = losslake("analyze", "--help").stdout
    assert [name for name in NAMES if f"  {name} " not in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_an_option_with_a_description(losslake: Run, name: str) -> None:
    (question,) = (each for each in ANALYSES if each.path == PREFIX + name)
    text = losslake("analyze", name, "--help").stdout
    options = {f"--{field.replace('_', '-')}" for field in question.parameters.model_fields}
    assert [option for option in options if option not in text] == []


def test_the_answer_equals_that_of_the_service(losslake: Run, lake: Lake) -> None:
    answer = json.loads(losslake("analyze", "regimes", *OPTIONS, "--format", "json").stdout)
    with TestClient(without_sql(lake)) as client:
        parameters = {name.removeprefix("--"): value for name, value in zip(OPTIONS[::2], OPTIONS[1::2], strict=True)}
        assert client.get("/v1/analysis/regimes", params=parameters).json() == answer


def test_the_argument_names_workloads_as_the_option_does(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer()}) | study_files({1: TrialOffer()}, workload="root/mnist/cnn/adam")
    goal = ("--metric", "val/classification_error", "--target", "0.3", "--lake", tmp_path / "new")
    losslake("ingest", unpacked(tmp_path / "logs", files), *goal[-2:])
    both = losslake("analyze", "compare", "--workload", WORKLOAD, "--workload", "root/mnist/cnn/adam", *goal)
    assert both.returncode == 0
    for names in ((WORKLOAD, "root/mnist/cnn/adam"), ("cnn sgd", "mnist adam"), ("cnn", "sgd", "root/mnist/cnn/adam")):
        assert losslake("analyze", "compare", *names, *goal).stdout == both.stdout
    assert losslake("analyze", "compare", "sgd", "--workload", "adam", *goal).stdout == both.stdout
    several = losslake("analyze", "regimes", "mnist", "cnn", *goal).stderr
    assert several.startswith("losslake: 'mnist cnn' matches 2 workloads: give more words")


@pytest.mark.parametrize("name", NAMES)
def test_every_analysis_of_workloads_takes_them_as_an_argument(losslake: Run, name: str) -> None:
    (question,) = (each for each in ANALYSES if each.path == PREFIX + name)
    text = losslake("analyze", name, "--help").stdout
    assert ("[WORKLOAD]…" in text) == ("workload" in question.parameters.model_fields)


def test_a_table_has_a_headline_and_names_omissions(losslake: Run) -> None:
    text = losslake("analyze", "regimes", *OPTIONS).stdout
    assert f"{WORKLOAD}: val/classification_error < 0.3, release 1" in text
    assert "left out: no trial of 1 reached the target at batch size 16" in text
    assert "batch_size" in text


def test_a_fact_that_is_a_list_of_objects_is_a_separate_table(losslake: Run) -> None:
    lines = losslake("analyze", "metaparameters", *OPTIONS).stdout.splitlines()
    headings = lines[lines.index("exponents:") + 1].split()
    assert headings[:3] == ["n_batch_sizes", "exponent", "lower"]


def test_sentences_of_advice_come_first(losslake: Run) -> None:
    lines = losslake("analyze", "advice", *OPTIONS, "--step-time", "8=0.5").stdout.splitlines()
    assert lines[1].startswith("Fastest: batch size 8, ")


def test_missing_metric_and_target_come_from_the_goal(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer(rows=["0,0.9", "10,0.0001"])}, 8, "bundled/digits/softmax/sgd")
    at = ("--lake", tmp_path / "new")
    losslake("ingest", unpacked(tmp_path / "logs", files), *at)
    arguments = ("analyze", "regimes", "--workload", "bundled/digits/softmax/sgd", "--format", "json")
    answer = json.loads(losslake(*arguments, *at).stdout)
    assert answer["metric"] == "val/classification_error"
    assert answer["rows"][0]["steps"] == 10


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "give WORKLOAD: 'losslake analyze regimes --help' describes it"),
        (
            ("--workload", WORKLOAD),
            f"give --metric and --target: {WORKLOAD} has no goal as a default; metrics are ",
        ),
        ((*OPTIONS, "--max-useful-tau", "nan"), "--max-useful-tau nan: input should be a finite number"),
        ((*OPTIONS, "--trials", "-3"), "--trials -3: give a whole number from 0 to 9223372036854775807, in digits"),
        ((*OPTIONS, "--target", "low"), "--target low: input should be a valid number"),
        (
            (*OPTIONS, "--status", "DONE"),
            "--status DONE: input should be 'COMPLETE', 'MISSED', 'INCOMPLETE' or 'INFEASIBLE'",
        ),
        (("--workload", "imagenet"), f"release 1 has no workload 'imagenet': did you mean {WORKLOAD}?"),
    ],
)
def test_a_wrong_option_is_one_line(losslake: Run, more: tuple[str, ...], said: str) -> None:
    failed = losslake("analyze", "regimes", *more)
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"losslake: {said}")
    assert failed.stderr.count("\n") == 1


def test_an_unknown_analysis_is_refused(losslake: Run) -> None:
    failed = losslake("analyze", "regims")
    assert failed.returncode == 2
    assert "No such command 'regims'" in failed.stderr


def test_texts_about_parameters_name_the_options() -> None:
    said = with_options("give direction=minimize; trials= takes equally many; 1=2", ["direction", "trials"])
    assert said == "give --direction minimize; --trials takes equally many; 1=2"
    several = with_options(
        "of status INCOMPLETE: status=COMPLETE&status=MISSED&status=INCOMPLETE includes them", ["status"]
    )
    assert several == "of status INCOMPLETE: --status COMPLETE --status MISSED --status INCOMPLETE includes them"
