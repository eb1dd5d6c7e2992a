"""Every path answers what was ingested."""

from __future__ import annotations

import html
import math
import random
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_schema.statuses import STATUSES
from tests.made_up_lake import ERROR, METRICS, ODD, PRECISION, Curves
from tests.oracle import Goal, scaling_rows, steps_to_target_rows

DEEP = "shelf/deep/mnist/cnn/sgd"


def get(client: TestClient, path: str, **parameters: Any) -> dict[str, Any]:
    response = client.get(path, params={name: value for name, value in parameters.items() if value is not None})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    answer: dict[str, Any] = response.json()
    return answer


def random_goals(count: int) -> list[tuple[str, Goal, bool]]:
    """A metric, a goal, and whether its direction has to be said because it is not the metric's own."""
    rng = random.Random(7)
    goals = []
    for _ in range(count):
        metric = rng.choice(METRICS)
        goal = Goal(
            target=rng.choice([0.1, 0.2, 0.25, 0.3, 0.9, 1.0]),
            direction=rng.choice(["minimize", "maximize"]),
            step_budget=rng.choice([None, 0, 20, 59]),
            example_budget=rng.choice([None, 0, 200, 10_000]),
            trials=rng.choice([None, 1, 3]),
            statuses=tuple(rng.sample(STATUSES, rng.randint(1, 3))),
        )
        own = {ERROR: "minimize", PRECISION: "maximize", ODD: None}[metric]
        goals.append((metric, goal, own != goal.direction))
    return goals


@pytest.mark.parametrize("workload", [pytest.param("shelf/mnist/cnn/sgd", marks=pytest.mark.slow), DEEP])
def test_scaling_and_steps_to_target_answer_as_brute_force_does(
    client: TestClient, curves: Curves, workload: str
) -> None:
    for metric, goal, is_said in random_goals(20):
        asked = {
            "workload": workload,
            "metric": metric,
            "target": goal.target,
            "direction": goal.direction if is_said else None,
            "step_budget": goal.step_budget,
            "example_budget": goal.example_budget,
            "trials": goal.trials,
            "status": goal.statuses,
        }
        head = {"release": 1, "workloads": [workload], "metric": metric, "target": goal.target}
        head["direction"] = goal.direction
        rows = curves[workload][metric]
        for path, expected in (("scaling", scaling_rows), ("steps-to-target", steps_to_target_rows)):
            answer = get(client, f"/v1/{path}", **asked)
            assert {name: answer[name] for name in head} == head
            expected_rows = expected(rows, goal)
            assert [{name: row[name] for name in expected_rows[0]} for row in answer["rows"]] == expected_rows


def test_scaling_says_what_the_sql_macro_says(client: TestClient, lake: Lake) -> None:
    connection = open_release(lake, lake.release())
    names = ["batch_size", "steps", "trial_id", "value", "examples", "previous_step", "n_trials", "n_reached"]
    result = connection.execute(
        f"SELECT {', '.join(names)} FROM result_at($m, 0.2) WHERE collection = 'shelf' ORDER BY 1", {"m": ERROR}
    )
    answer = get(client, "/v1/scaling", workload="shelf/mnist/cnn/sgd", metric=ERROR, target=0.2)
    assert [tuple(row[name] for name in names) for row in answer["rows"]] == result.fetchall()


def test_only_complete_trials_count_unless_a_status_is_given(client: TestClient) -> None:
    asked = {"workload": DEEP, "metric": ERROR, "target": 0.5}
    assert {row["status"] for row in get(client, "/v1/steps-to-target", **asked)["rows"]} == {"COMPLETE"}
    answer = get(client, "/v1/steps-to-target", **asked, status=["INFEASIBLE", "INCOMPLETE"])
    assert {row["status"] for row in answer["rows"]} == {"INFEASIBLE", "INCOMPLETE"}


@pytest.mark.parametrize("metrics", [None, [ERROR], [ODD, ERROR]])
def test_curves_of_a_study_are_its_measurements_as_logged(
    client: TestClient, curves: Curves, metrics: list[str] | None
) -> None:
    answer = get(client, "/v1/curves", study=f"{DEEP}/64", metric=metrics)
    expected = [
        [64, row.trial_id, row.step, metric, as_json(row.value), None]
        for metric in metrics or sorted(METRICS)
        for row in sorted(
            (r for r in curves[DEEP][metric] if r.batch_size == 64 and r.step is not None),
            key=lambda r: (r.trial_id, r.step or 0),
        )
    ]
    assert list(answer["rows"][0]) == ["workload", "batch_size", "trial_id", "step", "metric", "value", "elapsed_s"]
    assert [list(row.values())[1:] for row in answer["rows"]] == expected
    assert {row["workload"] for row in answer["rows"]} == {DEEP}
    assert (answer["release"], answer["studies"], answer["thinned"]) == (1, [f"{DEEP}/64"], None)


def as_json(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def test_the_curve_of_a_trial_is_its_part_of_the_study_s(client: TestClient) -> None:
    study = get(client, "/v1/curves", study=f"{DEEP}/8", metric=ERROR)["rows"]
    trial_id = study[-1]["trial_id"]
    trial = get(client, "/v1/curves", trial=f"{DEEP}/8/{trial_id}", metric=ERROR)["rows"]
    assert trial == [row for row in study if row["trial_id"] == trial_id]


def test_repeated_metric_is_returned_once(client: TestClient) -> None:
    once, twice = (get(client, "/v1/curves", study=f"{DEEP}/8", metric=[ERROR] * n)["rows"] for n in (1, 2))
    assert once == twice


def test_the_curve_of_a_trial_that_was_never_evaluated_is_empty(client: TestClient) -> None:
    assert get(client, "/v1/curves", trial=f"{DEEP}/64/40")["rows"] == []


def test_workloads_have_batch_sizes_metrics_and_counts(client: TestClient) -> None:
    rows = get(client, "/v1/workloads")["rows"]
    assert {row["workload"] for row in rows} == {"shelf/mnist/cnn/sgd", DEEP}
    (deep,) = (row for row in rows if row["workload"] == DEEP)
    assert (deep["collection"], deep["dataset"], deep["model"], deep["optimizer"]) == tuple(DEEP.rsplit("/", 3))
    assert deep["batch_sizes"] == [1, 8, 64, 512]
    assert deep["metrics"] == sorted(METRICS)
    assert (deep["n_studies"], deep["n_trials"]) == (4, 25)
    assert deep["n_complete"] + deep["n_incomplete"] + deep["n_infeasible"] == 25
    assert deep["goals"] == []


def test_studies_are_of_the_release_or_of_one_workload(client: TestClient) -> None:
    everything = get(client, "/v1/studies")["rows"]
    of_one = get(client, "/v1/studies", workload=DEEP)["rows"]
    assert [row["study"] for row in of_one] == [f"{DEEP}/{b}" for b in (1, 8, 64, 512)]
    assert [row for row in everything if row["workload"] == DEEP] == of_one
    assert len(everything) == 8
    assert of_one[0]["parameter_configs"] == {"learning_rate": {"type": "DOUBLE"}}


def test_trials_are_of_a_workload_or_of_a_study_and_of_the_statuses_asked_for(client: TestClient) -> None:
    of_workload = get(client, "/v1/trials", workload=DEEP)["rows"]
    of_study = get(client, "/v1/trials", study=f"{DEEP}/64")["rows"]
    assert len(of_workload) == 25
    assert [row for row in of_workload if row["batch_size"] == 64] == of_study
    assert of_study[-1]["trial"] == f"{DEEP}/64/40"
    assert (of_study[-1]["last_step"], of_study[-1]["n_evaluations"]) == (None, 0)
    assert of_study[-1]["parameters"] == {"learning_rate": pytest.approx(4.0), "momentum": 0.9}
    complete = get(client, "/v1/trials", workload=DEEP, status="COMPLETE")["rows"]
    assert complete == [row for row in of_workload if row["status"] == "COMPLETE"]


def test_releases_are_listed_with_their_digest(client: TestClient, lake: Lake) -> None:
    (row,) = get(client, "/v1/releases")["rows"]
    assert (row["release"], row["n_studies"], row["n_trials"]) == (1, 8, 50)
    assert row["content_digest"] == lake.release().content_digest


def test_healthz_names_the_release(client: TestClient) -> None:
    assert get(client, "/healthz") == {"status": "ok", "release": 1}


def test_the_links_and_examples_of_the_root_page_work(client: TestClient) -> None:
    response = client.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    links = [part.split('"')[0].replace("&amp;", "&") for part in response.text.split('href="/')[1:]]
    # What takes long is tested where it belongs: rendered figures, documentation, SQL.
    slow = (".svg?", ".png?", ".pdf?", "docs", "openapi.json", "sql?")
    asked = [f"/{link}" for link in links if not any(text in link for text in slow)]
    assert len(asked) > 20
    for link in asked:
        assert client.get(link).status_code == 200, link
    (scaling,) = {*re.findall(r"curl '[^'<]+(/v1/scaling\?[^'<]+)'", html.unescape(response.text))}
    assert any(row["steps"] is not None for row in client.get(scaling).json()["rows"])
