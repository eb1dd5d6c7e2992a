"""REST, SQL and the library count every measure alike, as plain Python does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient

import losslake
from losslake.lake.lake import Lake
from losslake.library.lake import Lake as LibraryLake
from losslake.questions.trials.step_amounts import MeasureName
from losslake_ingest.run import ingest
from tests.applications import client_with_sql
from tests.oracle import amount_of

METRIC, WORKLOAD, EPOCH = "val/classification_error", "timed/mnist/cnn/sgd", 1000
# By batch size and trial_id: seconds of a step (None: no clock), accelerators, and the step that reaches 0.5, if any.
TRIALS = {
    (8, 1): (0.5, 1, 100), (8, 2): (0.1, 8, 150), (8, 3): (None, 1, 50), (8, 4): (0.1, 8, None),
    (64, 1): (0.5, 1, 40), (64, 2): (0.5, 1, 40), (64, 3): (0.25, None, 80), (64, 4): (0.7, 4, 30),
    (512, 1): (0.5, 1, None),
}  # fmt: skip
# By batch size and trial_id: facts of the trial's model; some logs have none of some.
MODELS: dict[tuple[int, int], dict[str, float]] = {
    (8, 1): {"tokens_per_example": 16, "n_parameters": 1000},
    (8, 2): {"tokens_per_example": 16, "n_parameters_non_embedding": 500},
    (8, 3): {"n_parameters": 1000},
    (64, 1): {"tokens_per_example": 8, "flops_per_token": 7000.5, "n_parameters": 1000},
    (64, 2): {"tokens_per_example": 16},
    (64, 4): {"tokens_per_example": 32, "n_active_parameters": 100, "n_parameters": 1000},
}
MAPPING = f"""
[collection]
name = "timed"
[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
[path]
patterns = ["{{batch_size:int}}/{{trial_id:int}}.csv"]
[metrics]
error = "{METRIC}"
[time]
elapsed_s = "elapsed_s"
[parameters]
accelerators = "{{accelerators}}"
tokens_per_example = "{{tokens_per_example}}"
n_parameters = "{{n_parameters}}"
n_parameters_non_embedding = "{{n_parameters_non_embedding}}"
n_active_parameters = "{{n_active_parameters}}"
flops_per_token = "{{flops_per_token}}"
system = "{{system}}"
[[goal]]
metric = "{METRIC}"
target = 0.5
source = "a paper"
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, LibraryLake]]:
    folder = tmp_path_factory.mktemp("timed")
    (folder / "logs").mkdir()
    (folder / "logs/losslake.toml").write_text(MAPPING)
    for (size, number), (pace, accelerators, reached) in TRIALS.items():
        path = folder / f"logs/{size}/{number}.csv"
        path.parent.mkdir(exist_ok=True)
        model = {**({"accelerators": accelerators} if accelerators else {}), **MODELS.get((size, number), {})}
        lines = [",".join(["step", "error", "elapsed_s", "system", *model])]
        for step in range(0, 201, 10):
            value = 0.9 + number / 1000 if reached is None or step < reached else 0.4
            clock = "" if pace is None else repr(pace * step)
            lines.append(",".join([str(step), repr(value), clock, f"box{number}", *map(repr, model.values())]))
        path.write_text("\n".join(lines) + "\n")
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [folder / "logs"])
    assert not summary.quarantined, summary.quarantined
    with client_with_sql(lake) as client:
        yield client, losslake.open(lake.folder)


@pytest.fixture
def timed(both: tuple[TestClient, LibraryLake]) -> TestClient:
    return both[0]


def expected(measure: str) -> list[dict[str, Any]]:
    """The least amount by batch size, of plain Python."""
    rows = []
    for size in (8, 64, 512):
        own = [(number, *trial) for (of, number), trial in TRIALS.items() if of == size]
        amounts = [
            (
                amount_of(
                    measure,
                    size,
                    steps,
                    pace and pace * steps,
                    EPOCH,
                    accelerators,
                    MODELS.get((size, number)),
                ),
                steps,
                number,
            )
            for number, pace, accelerators, steps in own
            if steps is not None
        ]
        known = sorted((amount, steps, number) for amount, steps, number in amounts if amount is not None)
        amount, steps, number = known[0] if known else (None, None, None)
        row = {"batch_size": size, "amount": amount, "trial_id": number, "steps": steps}
        rows.append({**row, "n_reached": len(amounts), "n_amounts": len(known)})
    return rows


@pytest.mark.parametrize("measure", get_args(MeasureName))
def test_rest_sql_and_library_give_the_least_amounts_of_plain_python(
    both: tuple[TestClient, LibraryLake], measure: str
) -> None:
    timed, library = both
    asked: dict[str, Any] = {"workload": WORKLOAD, "measure": measure, "examples_per_epoch": EPOCH}
    rest = timed.get("/v1/scaling", params=asked).json()
    names = {"trial_id": "amount_trial_id", "steps": "amount_steps"}
    wanted = expected(measure)
    assert [{name: row[names.get(name, name)] for name in wanted[0]} for row in rest["rows"]] == wanted
    assert library.scaling(**asked).to_dicts() == rest["rows"]
    statement = f"FROM amount_at($metric, 0.5, measure := $measure, examples_per_epoch := {EPOCH}) ORDER BY batch_size"
    body = {"sql": statement, "parameters": {"metric": METRIC, "measure": measure}}
    sql = timed.post("/v1/sql", json=body).json()["rows"]
    assert [{name: row[name] for name in wanted[0]} for row in sql] == wanted
    if "seconds" in measure:
        assert [row["hardware"] for row in rest["rows"]] == [row["hardware"] for row in sql]
        assert rest["rows"][0]["hardware"] == f"box{wanted[0]['trial_id']}"


def test_the_critical_batch_size_of_a_curve_of_seconds_is_said_to_be_of_its_steps(
    both: tuple[TestClient, LibraryLake],
) -> None:
    library = both[1]
    said = "it is of the steps to the target, not of the seconds of this curve"
    assert library.scaling(WORKLOAD, measure="seconds").critical_batch_size().warnings[0] == said
    assert said not in library.scaling(WORKLOAD, measure="examples").critical_batch_size().warnings


def test_a_question_without_metric_and_target_is_about_the_goal(timed: TestClient) -> None:
    named = timed.get("/v1/scaling", params={"workload": WORKLOAD, "metric": METRIC, "target": 0.5}).json()
    assert timed.get("/v1/scaling", params={"workload": WORKLOAD}).json() == named
    assert (named["metric"], named["target"]) == (METRIC, 0.5)
    assert timed.get("/v1/best", params={"workload": WORKLOAD}).json()["metric"] == METRIC
    figure = timed.get("/v1/figures/scaling.vl.json", params={"workload": WORKLOAD})
    assert figure.status_code == 200, figure.text


def test_sql_asks_for_the_examples_of_an_epoch_that_no_log_says(timed: TestClient) -> None:
    body = {"sql": f"FROM amount_at('{METRIC}', 0.5, measure := 'epochs')"}
    answer = timed.post("/v1/sql", json=body)
    assert answer.status_code == 422
    assert "don't agree on the examples in an epoch: add examples_per_epoch := N" in answer.json()["detail"]
    answer = timed.get("/v1/scaling", params={"workload": WORKLOAD, "measure": "epochs"})
    assert answer.json()["parameter"] == "examples_per_epoch"


def test_an_unknown_measure_is_refused_in_sql_too(timed: TestClient) -> None:
    answer = timed.post("/v1/sql", json={"sql": f"FROM amount_at('{METRIC}', 0.5, measure := 'watts')"})
    assert answer.status_code == 422
    assert "measure 'watts' to val/classification_error is none of steps" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["workloads", "studies", "trials"])
def test_pages_offer_tokens_and_flops_where_a_trial_states_them(timed: TestClient, kind: str) -> None:
    place = {"workloads": WORKLOAD, "studies": f"{WORKLOAD}/8", "trials": f"{WORKLOAD}/8/1"}[kind]
    text = timed.get(f"/{kind}/{place}", params={"measure": "flops"}, headers={"accept": "text/html"}).text
    offered = text.partition('<nav class="measures"')[2].partition("</nav>")[0]
    links = {noun.strip() for noun in re.findall(r">([^<>]+)</a>", offered)}
    assert links == {"steps", "examples", "tokens", "FLOPs", "seconds", "accelerator-seconds"}
    assert "FLOPs" in text.partition('<nav class="measures"')[0] or "FLOPs" in text.partition("</nav>")[2]


def test_pages_show_the_size_of_the_model_and_its_tokens(timed: TestClient) -> None:
    facts = {}
    for kind, place in (("studies", "64"), ("trials", "64/4"), ("trials", "64/3")):
        text = timed.get(f"/{kind}/{WORKLOAD}/{place}", headers={"accept": "text/html"}).text
        facts[place] = dict(re.findall(r"<dt>([^<]*(?:arameters|okens|FLOPs)[^<]*)</dt><dd>([^<]*)</dd>", text))
    assert facts["64"] == {
        "Parameters of the model": "1,000",
        "Parameters that a token passes": "100",
        "Tokens in an example": "8 to 32",
        "FLOPs of training on a token": "7,000.5",
    }
    of_trial = {
        "Parameters of the model": "1,000",
        "Parameters that a token passes": "100",
        "Tokens in an example": "32",
    }
    assert facts["64/4"] == of_trial
    assert facts["64/3"] == {}


def test_curves_by_flops_have_an_axis_of_them(timed: TestClient) -> None:
    asked = {"study": f"{WORKLOAD}/64", "metric": METRIC, "measure": "flops"}
    figure = timed.get("/v1/figures/curves.vl.json", params=asked)
    assert figure.status_code == 200, figure.text
    assert '"title": "FLOPs"' in figure.text or '"title":"FLOPs"' in figure.text
    assert "6 for each parameter and token" in figure.text
    stated = timed.get("/v1/figures/curves.vl.json", params={**asked, "flops_per_token": 7})
    assert "6 for each parameter and token" not in stated.text
