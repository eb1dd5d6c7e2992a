"""SQL over HTTP: on the views of a release, in any format, with its limits told as problems."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.settings import Settings
from tests.applications import without_sql
from tests.made_up_lake import ERROR

QUESTION = (
    "SELECT batch_size, steps, trial_id, value FROM result_at($metric, $target) WHERE collection = 'shelf' ORDER BY 1"
)
ASKED = {"metric": ERROR, "target": 0.25}


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    settings = Settings.model_construct(log_format="off", sql_seconds=2.0, sql_memory_mb=300, sql_result_rows=5000)
    with TestClient(create_app(lake, settings), raise_server_exceptions=False) as client:
        yield client


def post(client: TestClient, sql: str, parameters: Any = None, path: str = "/v1/sql", **more: Any) -> Any:
    return client.post(path, json={"sql": sql, "parameters": parameters, **more})


def test_a_statement_answers_what_the_release_says(client: TestClient, lake: Lake) -> None:
    rows = open_release(lake, lake.release()).execute(QUESTION, ASKED).fetchall()
    answer = post(client, QUESTION, ASKED).json()
    assert (answer["release"], answer["truncated"]) == (1, False)
    assert [tuple(row.values()) for row in answer["rows"]] == rows


def test_values_are_given_by_position_or_by_name_and_in_a_url_as_json(client: TestClient) -> None:
    by_name = post(client, "SELECT $a + 1 AS x, $b AS y", {"a": 1, "b": "it's"}).json()["rows"]
    by_position = post(client, "SELECT ? + 1 AS x, ? AS y", [1, "it's"]).json()["rows"]
    asked = {"q": "SELECT ? + 1 AS x, ? AS y", "parameters": '[1, "it\'s"]'}
    in_url = client.get("/v1/sql", params=asked).json()["rows"]
    assert by_name == by_position == in_url == [{"x": 2, "y": "it's"}]


def test_every_format_holds_the_same_rows(client: TestClient) -> None:
    expected = pl.DataFrame(post(client, QUESTION, ASKED).json()["rows"])
    csv = post(client, QUESTION, ASKED, "/v1/sql.csv")
    assert pd.read_csv(io.StringIO(csv.text)).to_dict("list") == expected.to_pandas().to_dict("list")
    arrow = post(client, QUESTION, ASKED, "/v1/sql?format=arrow")
    assert pl.DataFrame(pa.ipc.open_stream(arrow.content).read_all()).equals(expected)
    parquet = post(client, QUESTION, ASKED, "/v1/sql.parquet")
    assert pl.read_parquet(io.BytesIO(parquet.content)).equals(expected)
    assert {r.headers["losslake-release"] for r in (csv, arrow, parquet)} == {"1"}


def test_measurements_are_read_from_the_release_s_files(client: TestClient) -> None:
    (row,) = post(client, "SELECT count(*) AS n FROM measurements").json()["rows"]
    (release,) = client.get("/v1/releases").json()["rows"]
    assert row["n"] == release["n_measurements"]


@pytest.mark.parametrize("format", ["json", "csv", "arrow", "parquet"])
def test_a_cut_result_says_so(client: TestClient, format: str) -> None:  # noqa: A002
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


def test_columns_are_told_with_their_types_also_without_rows(client: TestClient) -> None:
    answer = post(client, "SELECT 1::BIGINT AS a, 'x' AS b, 0.5::DOUBLE AS b, MAP {'c': 1} AS d WHERE false").json()
    types = {column["name"]: column["type"] for column in answer["columns"]}
    assert types == {"a": "int64", "b": "string", "b_1": "double", "d": "map<string, int32>"}
    assert answer["rows"] == []


def test_the_same_result_is_known_by_its_tag_and_another_is_not(client: TestClient) -> None:
    first = client.get("/v1/sql", params={"q": "SELECT 1 AS x"})
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get("/v1/sql", params={"q": "SELECT 1 AS x"}, headers=known).status_code == 304
    assert client.get("/v1/sql", params={"q": "SELECT 2 AS x"}, headers=known).status_code == 200
    assert client.get("/v1/sql.csv", params={"q": "SELECT 1 AS x"}, headers=known).status_code == 200


def test_what_may_change_is_not_answered_from_memory(client: TestClient) -> None:
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
        ("SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c", "sql-time-limit"),
        ("SELECT length(repeat('x', 2000000000))", "sql-memory-limit"),
    ],
)
def test_what_can_t_be_answered_is_a_problem_of_its_kind(client: TestClient, statement: str, kind: str) -> None:
    response = post(client, statement)
    document = response.json()
    assert (response.status_code, document["type"]) == (422, f"urn:losslake:problem:{kind}")
    assert document["detail"]
    assert post(client, "SELECT 1 AS x").json()["rows"] == [{"x": 1}]


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
def test_a_body_that_is_no_question_says_what_to_send(client: TestClient, body: bytes, parameter: str) -> None:
    response = client.post("/v1/sql", content=body)
    assert (response.status_code, response.json()["parameter"]) == (422, parameter)
    assert '{"sql"' in response.json()["detail"]


def test_a_parameter_that_is_not_there_is_refused(client: TestClient) -> None:
    assert client.get("/v1/sql?q=SELECT+1&colour=3").json()["parameter"] == "colour"
    assert client.get("/v1/sql").json()["parameter"] == "q"
    assert client.get("/v1/sql?q=SELECT+1&parameters=x").json()["parameter"] == "parameters"
    assert client.get("/v1/sql?q=SELECT+1&release=9").status_code == 404


def test_a_statement_ends_when_whoever_asked_has_left(client: TestClient) -> None:
    body = b'{"sql": "SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c"}'
    statuses = []
    app: Any = client.app

    async def leave_at_once() -> None:
        messages = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))

        scope = {"type": "http", "method": "POST", "path": "/v1/sql", "headers": [], "query_string": b"", "app": app}
        await app(scope, receive, send)

    assert client.portal is not None
    client.portal.call(leave_at_once)
    assert statuses[0] == 499


def test_sql_can_be_switched_off(lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        assert client.get("/v1/sql?q=SELECT+1").status_code == 404
        assert "/v1/sql" not in client.get("/openapi.json").json()["paths"]
