"""SQL over HTTP: on the views of a release, in any format, with its limits told as problems."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_service.routes import sql
from tests.applications import client_with_sql, without_sql
from tests.made_up_lake import ERROR

ENDLESS = "SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c"
QUESTION = (
    "SELECT batch_size, steps, trial_id, value FROM result_at($metric, $target) WHERE collection = 'shelf' ORDER BY 1"
)
PARAMETERS = {"metric": ERROR, "target": 0.25}


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with client_with_sql(lake, sql_memory_mb=300, sql_result_rows=5000) as client:
        yield client


def post(client: TestClient, statement: str, parameters: Any = None, path: str = "/v1/sql", **more: Any) -> Any:
    return client.post(path, json={"sql": statement, "parameters": parameters, **more})


def test_a_statement_answers_what_the_release_says(client: TestClient, lake: Lake) -> None:
    rows = open_release(lake, lake.release()).execute(QUESTION, PARAMETERS).fetchall()
    answer = post(client, QUESTION, PARAMETERS).json()
    assert (answer["release"], answer["truncated"]) == (1, False)
    assert [tuple(row.values()) for row in answer["rows"]] == rows


def test_values_are_given_by_position_or_by_name_and_in_a_url_as_json(client: TestClient) -> None:
    by_name = post(client, "SELECT $a + 1 AS x, $b AS y", {"a": 1, "b": "it's"}).json()["rows"]
    by_position = post(client, "SELECT ? + 1 AS x, ? AS y", [1, "it's"]).json()["rows"]
    asked = {"q": "SELECT ? + 1 AS x, ? AS y", "parameters": '[1, "it\'s"]'}
    in_url = client.get("/v1/sql", params=asked).json()["rows"]
    assert by_name == by_position == in_url == [{"x": 2, "y": "it's"}]


def nested(levels: int, start: bytes, end: bytes) -> bytes:
    return b'{"sql": "SELECT 1", "parameters": ' + start * levels + b"1" + end * levels + b"}"


MALFORMED: dict[str, bytes] = {
    "empty": b"",
    "other JSON": b"[]",
    "not UTF-8": b'{"sql": "\xff"}',
    "UTF-16": '{"sql": "SELECT 1"}'.encode("utf-16"),
    "half a surrogate": b'{"sql": "SELECT \'\\ud800\'"}',
    "form": b"--x\r\nContent-Disposition: form-data; name=sql\r\n\r\nSELECT 1",
    "release of 64 bits": b'{"sql": "SELECT 1", "release": 9223372036854775808}',
    "release of 100 digits": b'{"sql": "SELECT 1", "release": ' + b"9" * 100 + b"}",
    "release true": b'{"sql": "SELECT 1", "release": true}',
    "limit of 65 bits": b'{"sql": "SELECT 1", "limit": 18446744073709551616}',
    "NUL": b'{"sql": "SELECT \\u0000"}',
    **{f"{levels} lists": nested(levels, b"[", b"]") for levels in (256, 500, 1000, 1023, 1024, 400_000)},
    **{f"{levels} objects": nested(levels, b'{"a":', b"}") for levels in (256, 500, 1000, 1023, 1024, 200_000)},
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_gets_422(client: TestClient, name: str) -> None:
    for content_type in ("application/json", "multipart/form-data", "multipart/form-data; boundary=x", "\xff", ""):
        headers = {b"Content-Type": content_type.encode("latin-1")}
        response = client.post("/v1/sql", content=MALFORMED[name], headers=headers)
        assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")


def test_values_may_be_nested(client: TestClient) -> None:
    response = post(client, "SELECT ?[1].a AS x", [[{"a": [[[1]]]}]])
    assert response.json()["rows"] == [{"x": [[[1]]]}]


def test_every_format_holds_the_same_rows(client: TestClient) -> None:
    expected = pl.DataFrame(post(client, QUESTION, PARAMETERS).json()["rows"])
    csv = post(client, QUESTION, PARAMETERS, "/v1/sql.csv")
    assert csv.headers["content-disposition"] == 'attachment; filename="sql.csv"'
    assert pd.read_csv(io.StringIO(csv.text)).to_dict("list") == expected.to_pandas().to_dict("list")
    arrow = post(client, QUESTION, PARAMETERS, "/v1/sql?format=arrow")
    assert pl.DataFrame(pa.ipc.open_stream(arrow.content).read_all()).equals(expected)
    parquet = post(client, QUESTION, PARAMETERS, "/v1/sql.parquet")
    assert pl.read_parquet(io.BytesIO(parquet.content)).equals(expected)
    assert {r.headers["losslake-release"] for r in (csv, arrow, parquet)} == {"1"}


def test_measurements_are_read_from_the_release_s_files(client: TestClient) -> None:
    (row,) = post(client, "SELECT count(*) AS n FROM measurements").json()["rows"]
    (release,) = client.get("/v1/releases").json()["rows"]
    assert row["n"] == release["n_measurements"]


@pytest.mark.parametrize("format", ["json", "csv", "arrow", "parquet"])
def test_truncated_result_is_marked(client: TestClient, format: str) -> None:  # noqa: A002
    response = post(client, "SELECT * FROM range(6000)", path=f"/v1/sql?format={format}")
    assert response.headers["losslake-truncated"] == "rows"
    if format == "json":
        assert (response.json()["truncated"], len(response.json()["rows"])) == ("rows", 5000)


def test_fewer_rows_may_be_asked_for_and_more_than_the_service_gives_may_not(client: TestClient) -> None:
    few = client.get("/v1/sql", params={"q": "SELECT * FROM range(5)", "limit": 3})
    assert (few.json()["truncated"], len(few.json()["rows"])) == ("rows", 3)
    assert post(client, "SELECT * FROM range(3)", limit=3).json()["truncated"] is False
    assert len(post(client, "SELECT * FROM range(6000)", limit=5500).json()["rows"]) == 5000
    assert post(client, "SELECT 1", limit=0).status_code == 422


def test_json_has_ten_thousand_rows_unless_a_limit_is_given(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "JSON_ROWS", 100)
    answer = post(client, "FROM range(200)").json()
    assert (len(answer["rows"]), answer["truncated"]) == (100, "rows")
    assert ".parquet" in answer["all_rows"]
    whole = post(client, "FROM range(200)", limit=1000).json()
    assert (len(whole["rows"]), whole["truncated"], whole["all_rows"]) == (200, False, None)
    assert len(post(client, "FROM range(200)", path="/v1/sql.csv").text.splitlines()) == 201


def test_columns_and_types_are_returned_without_rows(client: TestClient) -> None:
    answer = post(client, "SELECT 1::BIGINT AS a, 'x' AS b, 0.5::DOUBLE AS b, MAP {'c': 1} AS d WHERE false").json()
    types = {column["name"]: column["type"] for column in answer["columns"]}
    assert types == {"a": "int64", "b": "string", "b_1": "double", "d": "map<string, int32>"}
    assert answer["rows"] == []


def test_matching_etag_of_a_result_returns_304(client: TestClient) -> None:
    first = client.get("/v1/sql", params={"q": "SELECT 1 AS x"})
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get("/v1/sql", params={"q": "SELECT 1 AS x"}, headers=known).status_code == 304
    assert client.get("/v1/sql", params={"q": "SELECT 2 AS x"}, headers=known).status_code == 200
    assert client.get("/v1/sql.csv", params={"q": "SELECT 1 AS x"}, headers=known).status_code == 200


def test_sql_results_are_not_cached(client: TestClient) -> None:
    first, second = (client.get("/v1/sql", params={"q": "SELECT random() AS x"}).json()["rows"] for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("COPY (SELECT 1) TO '/tmp/x'", "sql-not-allowed"),
        ("SELECT 1; SELECT 2", "sql-not-allowed"),
        ("SELECT * FROM read_text('/etc/passwd')", "sql-not-allowed"),
        ("SELECT colour FROM trials", "sql-error"),
        ("SELEC 1", "sql-error"),
        ("SELECT ?", "sql-error"),
        ("SELECT length(repeat('x', 2000000000))", "sql-memory-limit"),
    ],
)
def test_sql_errors_are_problems_of_their_kind(client: TestClient, statement: str, kind: str) -> None:
    response = post(client, statement)
    document = response.json()
    assert (response.status_code, document["type"]) == (422, f"urn:losslake:problem:{kind}")
    assert document["detail"]
    assert post(client, "SELECT 1 AS x").json()["rows"] == [{"x": 1}]


@pytest.mark.slow
def test_time_limit_is_a_problem_of_its_kind(lake: Lake) -> None:
    with client_with_sql(lake, sql_seconds=0.5) as client:
        response = post(client, ENDLESS)
    assert (response.status_code, response.json()["type"]) == (422, "urn:losslake:problem:sql-time-limit")
    assert "longer than 0.5 s" in response.json()["detail"]


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (b"", "body"),
        (b"[1]", "body"),
        (b"{}", "sql"),
        (b'{"sql": 1}', "sql"),
        (b'{"sql": "SELECT 1", "colour": 2}', "colour"),
        (b'{"sql": "SELECT 1", "parameters": "x"}', "parameters"),
        (b'{"sql": "SELECT 1", "release": 0}', "release"),
    ],
)
def test_invalid_body_gets_an_example(client: TestClient, body: bytes, parameter: str) -> None:
    response = client.post("/v1/sql", content=body)
    assert (response.status_code, response.json()["parameter"]) == (422, parameter)
    assert '{"sql"' in response.json()["detail"]


def test_unknown_parameter_is_refused(client: TestClient) -> None:
    assert client.get("/v1/sql?q=SELECT+1&colour=3").json()["parameter"] == "colour"
    assert client.get("/v1/sql").json()["parameter"] == "q"
    assert client.get("/v1/sql?q=SELECT+1&parameters=x").json()["parameter"] == "parameters"
    assert client.get("/v1/sql?q=SELECT+1&release=9").status_code == 404


def test_statement_is_cancelled_when_the_client_disconnects(client: TestClient) -> None:
    body = json.dumps({"sql": ENDLESS}).encode()
    statuses = []
    app: Any = client.app

    async def leave_at_once() -> None:
        messages = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/sql",
            "headers": [(b"host", b"localhost")],
            "query_string": b"",
            "app": app,
        }
        await app(scope, receive, send)

    assert client.portal is not None
    client.portal.call(leave_at_once)
    assert statuses[0] == 499


def test_sql_can_be_switched_off(lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        assert client.get("/v1/sql?q=SELECT+1").status_code == 404
        assert "/v1/sql" not in client.get("/openapi.json").json()["paths"]
