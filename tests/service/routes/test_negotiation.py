"""The format of an answer: by the path's ending, by `format=`, or by Accept with its weights."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

JSON, CSV = "application/json", "text/csv; charset=utf-8"
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
PATHS = {"": None, ".json": JSON, ".csv": CSV, ".arrow": ARROW, ".parquet": PARQUET}


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        ("text/*", CSV),
        ("text/csv", CSV),
        ("TEXT/CSV ; header=present", CSV),
        ("application/vnd.apache.arrow.stream", ARROW),
        ("application/vnd.apache.parquet", PARQUET),
        ("application/x-parquet", PARQUET),
        ("text/csv;q=0.5, application/json;q=0.4", CSV),
        ("text/csv;q=0.5, application/json;q=0.6", JSON),
        ("text/csv;q=0.5,application/vnd.apache.parquet;q=0.9,*/*;q=0.1", PARQUET),
        ("application/json;q=0, text/csv;q=0.001", CSV),
        ("text/csv;q=0", JSON),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", JSON),
        ("text/html", JSON),
        ("text/csv;q=much", JSON),
        (";;,,q=1;/", JSON),
        (",".join(["text/html"] * 3000), JSON),
    ],
)
def test_accept_chooses_by_weight(client: TestClient, accept: str, media_type: str) -> None:
    response = client.get("/v1/metrics", headers={"Accept": accept})
    assert (response.status_code, response.headers["content-type"]) == (200, media_type)
    assert "Accept" in [part.strip() for part in response.headers["vary"].split(",")]


@pytest.mark.parametrize(("ending", "media_type"), PATHS.items())
@pytest.mark.parametrize("name", ["json", "csv", "arrow", "parquet", None])
def test_suffix_overrides_header_and_must_not_contradict_the_parameter(
    client: TestClient, ending: str, media_type: str | None, name: str | None
) -> None:
    url = f"/v1/metrics{ending}" + (f"?format={name}" if name else "")
    response = client.get(url, headers={"Accept": "text/csv"})
    if ending and name and ending != f".{name}":
        assert (response.status_code, response.json()["parameter"]) == (422, "format")
        assert "give only one of them" in response.json()["detail"]
    else:
        assert response.headers["content-type"] == (media_type or PATHS[f".{name}" if name else ".csv"])


@pytest.mark.parametrize("name", ["csv", "arrow", "parquet"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_data_for_files_is_an_attachment_with_the_name_of_its_path(client: TestClient, name: str, method: str) -> None:
    for url in (f"/v1/metrics.{name}", f"/v1/metrics?format={name}", f"/v1/metrics.{name}?metric=%22%0d%0ax"):
        disposition = client.request(method, url).headers["content-disposition"]
        assert disposition == f'attachment; filename="metrics.{name}"'


@pytest.mark.parametrize("url", ["/v1/metrics", "/v1/metrics.json", "/v1/nothing.csv"])
def test_json_and_problems_are_shown_by_browsers(client: TestClient, url: str) -> None:
    assert "content-disposition" not in client.get(url).headers


@pytest.mark.parametrize(
    "url", ["/v1/metrics.xlsx", "/v1/metrics.", "/v1/metrics.csv.gz", "/v1/metrics/", "/v1/metricsjson"]
)
def test_unknown_suffix_is_an_unknown_path(client: TestClient, url: str) -> None:
    assert client.get(url).json()["type"] == "urn:losslake:problem:unknown-path"


def test_unknown_format_is_refused(client: TestClient) -> None:
    response = client.get("/v1/metrics?format=xlsx")
    assert (response.status_code, response.json()["parameter"]) == (422, "format")
