"""The parameters of /v1/analysis/rcp and /v1/analysis/compare that only make sense together, or name workloads."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from tests.service.routes.test_validity import GOAL


@pytest.mark.parametrize(
    ("question", "parameter", "said"),
    [
        ("rcp?samples=100&samples=200", "batch_size", "give batch_size together"),
        ("rcp?failed_runs=2", "batch_size", "give batch_size together"),
        ("rcp?batch_size=64", "batch_size", "give batch_size together"),
        ("rcp?submission=shelf/mnist/cnn/sgd&samples=1", "samples", "give either submission"),
        ("rcp?submission=mnist", "submission", "'mnist' is not a workload"),
        ("rcp?samples=0&batch_size=1", "samples", "greater than 0"),
        ("rcp?samples=NaN&batch_size=1", "samples", "finite"),
        ("rcp?submission_runs=2", "submission_runs", "greater than or equal to 3"),
        ("compare?baseline=mnist", "baseline", "'mnist' is not a workload"),
        ("compare?baseline=shelf/mnist/cnn/sgd", "baseline", "is not one of the workloads"),
        ("compare?budget=0", "budget", "greater than or equal to 1"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_a_problem_that_names_it(
    client: TestClient, question: str, parameter: str, said: str
) -> None:
    response = client.get(f"/v1/analysis/{question}&{GOAL}")
    assert response.status_code == 422
    assert response.json()["parameter"] == parameter
    assert said in response.json()["detail"]


def test_runs_are_given_by_repeating_them(client: TestClient) -> None:
    runs = "samples=10&samples=20&samples=30&failed_runs=1&batch_size=8&submission_runs=4"
    answer = client.get(f"/v1/analysis/rcp?{GOAL}&{runs}").json()
    assert answer["rules"]["submission_runs"] == 4
    assert [(each["n_runs"], each["n_not_converged"]) for each in answer["verdicts"]] == [(4, 1)]
