"""An assistant finds workloads, asks, and gets what REST answers, with warnings, bounds and links."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx
import pytest
from mcp import Client

from losslake.lake.lake import Lake
from losslake.questions.release.releases import Releases
from losslake_service.assistants.calls import Tools
from losslake_service.assistants.over_http import MOST_BYTES
from losslake_service.operation.metrics import Metrics
from losslake_service.problems import error_detail
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.settings import Settings
from tests.service.assistants.conftest import METRIC, OTHER, RESNET, TARGET, call, use
from tests.service.running import Running


@pytest.fixture
def mcp(service: httpx.Client) -> str:
    return f"{service.base_url}/mcp".replace("//mcp", "/mcp")


def test_resnet50_is_found_and_asked_for_steps_and_seconds_with_the_numbers_of_rest(
    service: httpx.Client, mcp: str
) -> None:
    found = call(mcp, "search_workloads", q="resnet50")
    assert [row["workload"] for row in found["rows"]] == [RESNET, OTHER]
    goal = found["in_each_row_shown"]["goals"][0]
    assert (goal["metric"], goal["target"]) == (METRIC, TARGET)
    for measure in ("steps", "seconds"):
        query: dict[str, str | float] = {"workload": RESNET, "target": TARGET, "measure": measure}
        answer, rest = call(mcp, "scaling", **query), service.get("/v1/scaling", params=query).json()
        whole = [{**answer["in_each_row_shown"], **row} for row in answer["rows"]]
        assert whole == [{name: row[name] for name in whole[0]} for row in rest["rows"]]
        assert answer["in_each_row_shown"]["workload"] == RESNET
        for name in ("release", "metric", "target", "warnings", "left_out"):
            assert answer[name] == rest[name]
        assert service.get(answer["data"]).json() == {**rest, "release": 1}
        assert service.get(answer["page"]).status_code == 200
    assert [row["steps"] for row in rest["rows"]] == [400, 120]
    assert [row["amount"] for row in rest["rows"]] == [125.0, 84.0]


def test_every_tool_is_read_only_and_has_the_parameters_of_its_question(service: httpx.Client, mcp: str) -> None:
    async def listed(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in use(mcp, listed)}
    assert list(tools) == [
        "search_workloads",
        "scaling",
        "curves",
        "compare",
        "critical_batch_size",
        "advice",
        "forecast",
        "cite",
        "sql",
    ]
    paths = service.get("/openapi.json").json()["paths"]
    for name, tool in tools.items():
        assert tool.annotations.read_only_hint
        described = tool.input_schema["properties"]
        assert all("description" in each for each in described.values())
        if name in ("scaling", "curves", "cite"):
            assert {*described} == {each["name"] for each in paths[f"/v1/{name}"]["get"]["parameters"]} - {"format"}


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("critical_batch_size", {"workload": [RESNET]}, "/v1/analysis/critical-batch-size"),
        ("compare", {"workload": [RESNET, OTHER]}, "/v1/analysis/compare"),
        ("curves", {"trial": f"{RESNET}/256/1", "points": 40}, "/v1/curves"),
        ("scaling", {"workload": "mlperf-training/imagenet/resnet/*"}, "/v1/scaling"),
        ("cite", {}, "/v1/cite"),
    ],
)
def test_answers_are_those_of_rest_and_their_pages_exist(
    service: httpx.Client, mcp: str, tool: str, arguments: dict[str, Any], path: str
) -> None:
    answer, rest = call(mcp, tool, **arguments), service.get(path, params=arguments).json()
    (rows,) = [each for name, each in rest.items() if name in ("rows", "estimates")]
    assert answer["rows"] == [{name: row[name] for name in answer["rows"][0]} for row in rows]
    assert service.get(answer["page"]).status_code == 200
    assert service.get(answer["data"]).json() == rest


def test_a_long_answer_says_what_it_does_not_show(service: httpx.Client, mcp: str) -> None:
    answer = call(mcp, "curves", study=f"{RESNET}/256")
    assert len(answer["rows"]) == 100
    assert answer["not_shown"] == ["rows after the first 100"]
    rows = [{**answer["in_each_row_shown"], **row} for row in answer["rows"]]
    assert rows == service.get(answer["data"]).json()["rows"][:100]
    assert len(service.get(answer["data"]).json()["rows"]) == 122
    long = call(mcp, "sql", sql="SELECT i, repeat('x', 400) AS text FROM range(90) AS r(i)")
    assert 0 < len(long["rows"]) < 50
    assert long["not_shown"] == [f"{90 - len(long['rows'])} of these 90 rows, for their length"]
    assert len(json.dumps(long)) < 22_000


def test_a_search_without_matches_proposes_others(mcp: str) -> None:
    answer = call(mcp, "search_workloads", q="resnett lars")
    assert answer["rows"] == []
    assert "resnet lars" in answer["similar_searches"]


def test_sql_gives_numbers_as_numbers_within_the_limits_of_the_service(service: httpx.Client, mcp: str) -> None:
    statement = f"SELECT batch_size, steps, value, 'nan'::DOUBLE AS odd FROM result_at('{METRIC}', ?) ORDER BY ALL"
    answer = call(mcp, "sql", sql=statement, parameters=[TARGET])
    rest = service.post("/v1/sql", json={"sql": statement, "parameters": [TARGET]}).json()
    assert answer["rows"] == rest["rows"]
    assert answer["columns"]["steps"] == "int64"
    cut = call(mcp, "sql", sql="FROM range(1000)")
    assert (len(cut["rows"]), cut["not_shown"]) == (100, ["rows after the first 100"])


def message(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, **fields}


HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
CALL = message(method="tools/call", params={"name": "cite", "arguments": {}})


def tool_call(name: str, **arguments: Any) -> bytes:
    return json.dumps(message(method="tools/call", params={"name": name, "arguments": arguments})).encode()


HOSTILE = [
    ("scaling", {}, "the parameter 'workload' is missing"),
    ("scaling", {"workload": RESNET, "traget": 1}, "did you mean one of target"),
    ("scaling", {"workload": RESNET, "format": "csv"}, "there is no parameter 'format'"),
    ("scaling", {"workload": "mlperf-training/imagenet/resnet/lamb"}, f"did you mean {RESNET}"),
    ("scaling", {"workload": RESNET, "target": "NaN"}, "target=NaN"),
    ("scaling", {"workload": RESNET, "target": True}, "target=true"),
    ("scaling", {"workload": {"$ne": 1}}, "workload is nested"),
    ("scaling", {"workload": [[RESNET]]}, "workload is nested"),
    ("scaling", {"workload": "\0\r\nX: y", "metric": "a"}, "workload"),
    ("scaling", {"workload": ["a/b/c/d"] * 300}, "workload has 300 values"),
    ("scaling", {"workload": RESNET, "release": 99}, "has no release '99'"),
    ("search_workloads", {"q": "x" * 300}, "q=xxx"),
    ("search_workloads", {"cursor": "nonsense"}, "cursor"),
    ("curves", {}, "give either trial=… or study=…"),
    ("sql", {}, "sql in the body"),
    ("sql", {"sql": "DROP TABLE trials"}, "SELECT"),
    ("sql", {"sql": "SELECT 1; SELECT 2"}, "one"),
    ("sql", {"sql": "FROM read_csv('/etc/passwd')"}, "read_csv"),
    ("sql", {"sql": "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"}, "sql_seconds"),
    ("sql", {"sql": "SELECT ?", "parameters": "none"}, "parameters"),
    ("sql", {"sql": "SELECT 1", "parameters": [1] * 9000}, "the parameters don't match"),
]


@pytest.mark.parametrize(("tool", "arguments", "expected"), HOSTILE)
def test_bad_arguments_get_one_clear_line(
    service: httpx.Client, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    result = service.post("/mcp", content=tool_call(tool, **arguments), headers=HEADERS).json()["result"]
    assert result["isError"] is True
    error = result["content"][0]["text"]
    assert expected in error
    assert "\n" not in error
    assert len(error) < 600
    assert "Traceback" not in error


BROKEN = [
    b"{",
    b"[" * 30_000,
    b"\xff\xfe",
    json.dumps([CALL] * 100).encode(),
    json.dumps(message(method="no/such")).encode(),
    json.dumps(message(method="tools/call", params={"name": "cite", "arguments": [1]})).encode(),
    tool_call("rm", path="/"),
    tool_call("sql", sql="\ud800"),
    tool_call("cite", workload="\ud800"),
]
DEEP = json.loads("[" * 900 + "]" * 900)


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("body", BROKEN)
def test_broken_messages_get_an_error_and_the_service_goes_on(service: httpx.Client, body: bytes, version: str) -> None:
    response = service.post("/mcp", content=body, headers={**HEADERS, "MCP-Protocol-Version": version})
    assert response.headers["content-type"] == "application/json"
    assert "Traceback" not in response.text
    assert "error" in response.json()
    assert service.post("/mcp", json=CALL, headers=HEADERS).json()["result"]["isError"] is False


@pytest.fixture(scope="module")
def tools(resnet: Lake) -> Tools:
    releases = Releases(resnet)
    return Tools(releases, SqlStatements(Settings(), releases, Metrics()))


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("sql", {"sql": "\ud800"}, "error"),
        ("sql", {"sql": "SELECT ?", "parameters": [float("nan")]}, "not JSON"),
        ("sql", {"sql": "SELECT ?", "parameters": [DEEP]}, "levels"),
        ("scaling", {"workload": "\ud800/b/c/d"}, "workload"),
        ("scaling", {"workload": RESNET, "target": float("inf")}, "target=Infinity"),
        ("scaling", {"workload": [DEEP]}, "workload is nested"),
        ("scaling", {"\ud800" * 1000: 1}, "there is no parameter '???"),
    ],
)
def test_what_json_can_hold_and_no_answer_can_is_refused_in_a_line(
    tools: Tools, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 whatever the client is told
        asyncio.run(tools.call(tool, arguments, None, ""))
    line = asyncio.run(error_detail(caught.value))
    assert expected in line
    assert "in the service" not in line


def test_a_client_that_leaves_ends_its_statement_without_a_word_in_the_log(
    service: httpx.Client, running: Running
) -> None:
    slow = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    with pytest.raises(httpx.ReadTimeout):
        service.post("/mcp", content=tool_call("sql", sql=slow), headers=HEADERS, timeout=0.5)
    assert service.post("/v1/sql", json={"sql": "SELECT 1"}).status_code == 200
    metrics = service.get("/metrics").text
    assert re.search(r'^losslake_\w*sql\w*{outcome="left"} 1.0$', metrics, re.MULTILINE)
    assert '"/mcp"' in metrics
    assert not [line for line in running.errors if '"error"' in line or "Traceback" in line]


def test_no_stream_is_opened_and_bounds_of_the_service_hold(service: httpx.Client) -> None:
    for method in ("GET", "DELETE", "PUT"):
        assert service.request(method, "/mcp", headers=HEADERS).status_code == 405
    assert service.post("/mcp", json=CALL, headers={**HEADERS, "Host": "evil.example"}).status_code == 400
    assert service.post("/mcp", content=b" " * (MOST_BYTES + 1), headers=HEADERS).status_code == 413
