"""Every error is a problem document of a stable type that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_service.app import create_app
from losslake_service.problems import KINDS
from tests.made_up_lake import ERROR, METRICS, ODD

DEEP = "shelf/deep/mnist/cnn/sgd"
GOAL = f"workload={DEEP}&metric={ERROR}&target=0.3"


def problem(client: TestClient, url: str, kind: str, method: str = "GET") -> dict[str, Any]:
    """The problem document that a request is answered with, whose standard members are checked here."""
    response = client.request(method, url)
    document: dict[str, Any] = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert document["type"] == f"urn:losslake:problem:{kind}", document
    assert (document["status"], document["title"]) == KINDS[kind]
    assert response.status_code == document["status"]
    assert document["detail"]
    assert "Traceback" not in response.text
    return document


@pytest.mark.parametrize("path", ["/v1/scaling", "/v1/steps-to-target"])
@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        (f"workload={DEEP}&metric={ERROR}&target=low", "target"),
        (f"workload={DEEP}&metric={ERROR}&target=nan", "target"),
        (f"workload={DEEP}&metric={ERROR}&target=inf", "target"),
        (f"workload={DEEP}&metric={ERROR}&target=1e999", "target"),
        (f"workload={DEEP}&metric={ERROR}&target=", "target"),
        (f"{GOAL}&target=0.4", "target"),
        (f"{GOAL}&trials=0", "trials"),
        (f"{GOAL}&trials=-1", "trials"),
        (f"{GOAL}&trials=1_0", "trials"),
        (f"{GOAL}&trials=5.0", "trials"),
        (f"{GOAL}&step_budget=-1", "step_budget"),
        (f"{GOAL}&step_budget=9223372036854775808", "step_budget"),
        (f"{GOAL}&example_budget=many", "example_budget"),
        (f"{GOAL}&direction=up", "direction"),
        (f"{GOAL}&status=DONE", "status"),
        (f"{GOAL}&status=COMPLETE&status=complete", "status"),
        (f"{GOAL}&release=0", "release"),
        (f"{GOAL}&release=newest", "release"),
        (f"workload=mnist&metric={ERROR}&target=0.3", "workload"),
        (f"workload={DEEP}&metric={ODD}&target=0.3", "direction"),
    ],
)
def test_a_bad_value_names_its_parameter(client: TestClient, path: str, query: str, parameter: str) -> None:
    document = problem(client, f"{path}?{query}", "bad-parameter")
    assert document["parameter"] == parameter
    assert parameter in document["detail"]


@pytest.mark.parametrize("query", [f"{GOAL}&trials={'9' * 400}", GOAL + f"&workload={DEEP}" * 300])
def test_a_long_value_is_not_repeated_whole(client: TestClient, query: str) -> None:
    assert len(problem(client, f"/v1/scaling?{query}", "bad-parameter")["detail"]) < 200


def test_a_missing_parameter_is_named(client: TestClient) -> None:
    query = "&".join(part for part in GOAL.split("&") if not part.startswith("workload"))
    assert problem(client, f"/v1/scaling?{query}", "missing-parameter")["parameter"] == "workload"


@pytest.mark.parametrize("missing", ["metric", "target"])
def test_what_a_workload_has_no_goal_for_is_asked_for(client: TestClient, missing: str) -> None:
    query = "&".join(part for part in GOAL.split("&") if not part.startswith(missing))
    said = problem(client, f"/v1/scaling?{query}", "bad-parameter")
    assert said["parameter"] == missing
    assert said["detail"].startswith(f"give {missing}=: ")


@pytest.mark.parametrize(
    "path",
    ["/healthz", "/v1/releases", "/v1/workloads", "/v1/studies", "/v1/trials", "/v1/curves", "/v1/scaling"],
)
def test_an_unknown_parameter_is_an_error_and_not_ignored(client: TestClient, path: str) -> None:
    document = problem(client, f"{path}?colour=red", "unknown-parameter")
    assert document["parameter"] == "colour"


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("trials?sort=colour", "sort"),
        ("trials?fields=trial,colour", "fields"),
        ("trials?limit=0", "limit"),
        ("trials?cursor=WzEs", "cursor"),
        ("trials?batch_size=many", "batch_size"),
        ("trials?steps_min=1e3", "steps_min"),
        ("trials?steps_min=1&steps_min=2", "steps_min"),
        ("trials?parameter.learning_rate=nan", "parameter.learning_rate"),
        ("studies?early_stopping=yes", "early_stopping"),
        ("goals?target_min=low", "target_min"),
        ("releases?created_at_min=yesterday", "created_at_min"),
        (f"curves?study={DEEP}/8&points=3", "points"),
        (f"curves?study={DEEP}/8&points=8&every=2", "every"),
        (f"curves?study={DEEP}/8&step_min=9&step_max=8", "step_min"),
        (f"scaling.csv?{GOAL}&format=json", "format"),
        (f"scaling?{GOAL}&format=xml", "format"),
        (f"scaling?{GOAL}&normalize_to=7", "normalize_to"),
        (f"metaparameters?{GOAL}&within=-1", "within"),
        (f"targets?workload={DEEP}&metric={ERROR}", "target"),
        (f"targets?{GOAL}&target_min=0.1&target_max=0.2", "target"),
        (f"targets?workload={DEEP}&metric={ERROR}&target_min=0.1", "target_min"),
        (f"targets?workload={DEEP}&metric={ERROR}&target_min=0.3&target_max=0.2", "target_min"),
        (f"targets?workload={DEEP}&metric={ERROR}&target_min=0&target_max=0.2&spacing=log", "spacing"),
        (f"trials?study={DEEP}", "study"),
        ("curves", "trial"),
        (f"curves?trial={DEEP}/8/1&study={DEEP}/8", "trial"),
        (f"curves?trial={DEEP}/eight/1", "trial"),
        (f"curves?study={DEEP}/-8", "study"),
        ("studies?workload=//", "workload"),
    ],
)
def test_lists_and_curves_say_which_of_their_parameters_is_wrong(
    client: TestClient, query: str, parameter: str
) -> None:
    assert problem(client, f"/v1/{query}", "bad-parameter")["parameter"] == parameter


def test_an_unknown_workload_comes_with_near_matches(client: TestClient) -> None:
    for path in ("scaling", "steps-to-target"):
        query = f"workload=shelf/mnist/cnn/sgf&metric={ERROR}&target=0.3"
        document = problem(client, f"/v1/{path}?{query}", "unknown-workload")
        assert document["near_matches"] == ["shelf/mnist/cnn/sgd", DEEP]
    assert problem(client, "/v1/studies?workload=q/q/q/q", "unknown-workload")["near_matches"]


def test_an_unknown_metric_comes_with_those_that_the_workload_measures(client: TestClient) -> None:
    url = f"/v1/scaling?workload={DEEP}&metric=val/clasification_eror&target=0.3"
    document = problem(client, url, "unknown-metric")
    assert document["near_matches"][0] == ERROR
    assert set(document["near_matches"]) == set(METRICS)
    assert problem(client, f"/v1/curves?study={DEEP}/8&metric=val/loss", "unknown-metric")["near_matches"]


def test_an_unknown_study_or_trial_comes_with_its_neighbours(client: TestClient) -> None:
    document = problem(client, f"/v1/curves?study={DEEP}/9", "unknown-study")
    assert document["near_matches"][0] == f"{DEEP}/8"
    document = problem(client, f"/v1/curves?trial={DEEP}/64/41", "unknown-trial")
    assert document["near_matches"][0] == f"{DEEP}/64/40"


def test_an_unknown_release_comes_with_the_nearest(client: TestClient) -> None:
    for path in ("workloads?", f"scaling?{GOAL}&", f"curves?study={DEEP}/8&"):
        document = problem(client, f"/v1/{path}release=7", "unknown-release")
        assert document["near_matches"] == ["1"]


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/scalings", "/v1/scaling/", "/v1/scaling.xml", "/redoc", "/v1/%00", "/../etc"]
)
def test_an_unknown_path_is_not_found(client: TestClient, path: str) -> None:
    near = problem(client, path, "unknown-path")["near_matches"]
    assert len(near) == 5
    if path.startswith("/v1/scaling"):
        assert near[0] == "/v1/scaling"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_wrong_method_gets_405_with_allow(client: TestClient, method: str) -> None:
    assert "GET" in problem(client, f"/v1/scaling?{GOAL}", "wrong-method", method)["detail"]
    assert client.request(method, "/v1/scaling").headers["allow"] == "GET, HEAD"


def test_internal_error_reveals_no_details(lake: Lake) -> None:
    app = create_app(lake)

    @app.get("/broken")
    def broken(request: Request) -> None:
        raise RuntimeError("the secret")

    document = problem(TestClient(app, raise_server_exceptions=False), "/broken", "internal-error")
    assert "secret" not in str(document)


def test_a_lake_without_a_release_is_unavailable(tmp_path: Path) -> None:
    client = TestClient(create_app(Lake.create(tmp_path / "empty")), raise_server_exceptions=False)
    assert client.get("/v1/releases").json()["rows"] == []
    for path in ("/healthz", "/", "/v1/workloads"):
        assert "ingest" in problem(client, path, "lake-unavailable")["detail"]


def test_missing_data_file_is_reported_without_its_path(tmp_path: Path, small_archive: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    client = TestClient(create_app(lake), raise_server_exceptions=False)
    assert client.get("/healthz").status_code == 200
    for path in (lake.folder / "warehouse" / "losslake" / "measurements").rglob("*.parquet"):
        path.unlink()
    document = problem(client, f"/v1/curves?study=small/mnist/cnn/sgd/8&metric={ERROR}", "lake-unavailable")
    assert str(tmp_path) not in str(document)
