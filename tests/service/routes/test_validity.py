"""Entity tags, 304, caching, HEAD and ranges of answers."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from losslake.figures.papers import listing as papers
from losslake.lake.lake import Lake
from losslake.questions import curves as curves_module
from losslake.questions import questions as questions_module
from losslake_ingest.run import ingest
from tests.applications import HERE, without_sql
from tests.losslake.questions.release.test_releases import publish_a_better_trial
from tests.made_up_lake import ERROR

DEEP = "shelf/deep/mnist/cnn/sgd"
GOAL = f"workload={DEEP}&metric={ERROR}&target=0.3"
ENDINGS = ("", ".csv", ".arrow", ".parquet")
EVERY_FORMAT = ("curves", "scaling", "studies")
QUESTIONS = {
    "curves": f"study={DEEP}/8&study={DEEP}/64",
    "scaling": GOAL,
    "steps-to-target": GOAL,
    "papers": "",
    "cite": f"workload={DEEP}",
    "results": "limit=5",
    "best": f"workload={DEEP}&metric={ERROR}",
    "metaparameters": GOAL,
    "targets": f"{GOAL}&target=0.2",
    "analysis/advice": f"{GOAL}&step_time=8=0.1&step_time=16=0.15&price=2",
    "analysis/atlas": "",
    "analysis/compare": f"workload=shelf/mnist/cnn/sgd&{GOAL}",
    "analysis/critical-batch-law": "workload=*/*/*/*&unit=batch_unit",
    "analysis/critical-batch-size": f"{GOAL}&fit=least-squares",
    "analysis/doublings": GOAL,
    "analysis/forecast": f"workload=*/mnist/cnn/sgd&metric={ERROR}&target=0.3&flagged=include"
    "&batch_size=1&curve=20=0.9",
    "analysis/profiles": f"workload=shelf/mnist/cnn/sgd&{GOAL}",
    "analysis/quality": f"workload={DEEP}&metric={ERROR}&step_budget=20&step_budget=40&example_budget=200&last=true",
    "analysis/frontier": f"workload=*/*/*/*&metric={ERROR}",
    "analysis/league": "",
    "analysis/loss-law": f"workload=*/*/*/*&metric={ERROR}",
    "analysis/records": "",
    "analysis/metaparameter-map": GOAL,
    "analysis/metaparameters": f"{GOAL}&within=0.2",
    "analysis/rcp": f"{GOAL}&submission=shelf/mnist/cnn/sgd",
    "analysis/regimes": GOAL,
    "analysis/recommend": "parameters=1e9&tokens=2e10&loss=3",
    "analysis/survival": GOAL,
    "analysis/target-sweep": f"workload={DEEP}&workload=shelf/mnist/cnn/sgd&metric={ERROR}",
    "analysis/time-cost": GOAL,
    "analysis/tuning-budget": f"{GOAL}&budget=1&budget=3",
    "collections": "",
    "workloads": "",
    "studies": "",
    "trials": "sort=-last_step",
    "metrics": "",
    "goals": "",
    "contributors": "",
}
# Formats are written by the same code for every question: each question as JSON, and a few of them in every format.
CASES = [(name, ending) for name in QUESTIONS for ending in (ENDINGS if name in EVERY_FORMAT else ("",))]


@pytest.fixture(scope="module")
def clients(lake: Lake) -> tuple[TestClient, TestClient]:
    """Two instances, as workers are, that keep no answers."""
    first, second = (TestClient(without_sql(lake, answer_cache_mb=0, expensive_seconds=HERE)) for _ in range(2))
    return first, second


@pytest.mark.parametrize(("name", "ending"), CASES)
def test_equal_etags_mean_equal_bytes_on_every_instance(
    clients: tuple[TestClient, TestClient], name: str, ending: str
) -> None:
    url = f"/v1/{name}{ending}?{QUESTIONS[name]}"
    answers = [client.get(url) for client in (*clients, clients[0])]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.headers["etag"] for answer in answers}) == 1
    assert answers[0].headers["etag"].startswith('"')
    assert len({answer.content for answer in answers}) == 1


def test_tags_differ_by_format_query_path_and_release(tmp_path: Path, small_archive: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    publish_a_better_trial(lake, tmp_path)
    client = TestClient(without_sql(lake))
    urls = [
        *(f"/v1/trials{ending}?release={release}" for ending in ENDINGS for release in (1, 2)),
        "/v1/trials?release=2&limit=1",
        "/v1/studies?release=2",
    ]
    tags = [client.get(url).headers["etag"] for url in urls]
    assert len(set(tags)) == len(tags)
    assert client.get("/v1/trials?release=2").headers["etag"] != client.get("/v1/trials").headers["etag"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("known", ["{tag}", "W/{tag}", '"x", {tag}', '"a,b" ,W/"y",{tag}', "*"])
def test_matching_etag_returns_304(client: TestClient, ending: str, known: str) -> None:
    url = f"/v1/scaling{ending}?{GOAL}&release=1"
    whole = client.get(url, headers={"Accept-Encoding": "identity"})
    headers = {"If-None-Match": known.format(tag=whole.headers["etag"]), "Accept-Encoding": "identity"}
    for method in ("GET", "HEAD"):
        response = client.request(method, url, headers=headers)
        assert (response.status_code, response.content) == (304, b"")
        for name in ("etag", "cache-control"):
            assert response.headers[name] == whole.headers[name]
        assert set(whole.headers["vary"].split(", ")) <= set(response.headers["vary"].split(", "))
    assert client.get(url, headers={"If-None-Match": '"x", W/"y"'}).status_code == 200


def test_matching_etag_returns_304_without_a_query(
    clients: tuple[TestClient, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"/v1/curves?study={DEEP}/8"
    tag = clients[0].get(url).headers["etag"]

    def never(*_: Any) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr(curves_module, "measurements", never)
    assert clients[0].get(url, headers={"If-None-Match": tag}).status_code == 304


def test_a_star_is_not_answered_304_for_what_does_not_exist(client: TestClient) -> None:
    url = f"/v1/scaling?workload=a/b/c/d&metric={ERROR}&target=0.3"
    assert client.get(url, headers={"If-None-Match": "*"}).status_code == 404


@pytest.mark.parametrize("name", QUESTIONS)
def test_only_answers_of_a_named_release_are_immutable(client: TestClient, name: str) -> None:
    url = f"/v1/{name}?{QUESTIONS[name]}"
    assert client.get(url).headers["cache-control"] == "public, no-cache"
    assert client.get(f"{url}&release=1").headers["cache-control"] == "public, max-age=31536000, immutable"


def test_errors_are_not_cacheable(client: TestClient) -> None:
    response = client.get(f"/v1/scaling?workload=a/b/c/d&metric={ERROR}&target=0.3&release=1")
    assert "immutable" not in response.headers.get("cache-control", "")


def test_list_of_releases_is_revalidated(client: TestClient) -> None:
    response = client.get("/v1/releases")
    assert "immutable" not in response.headers["cache-control"]
    again = client.get("/v1/releases", headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(("name", "ending"), [*CASES, ("releases", "")])
def test_head_has_the_headers_of_get_and_no_body(client: TestClient, name: str, ending: str) -> None:
    url = f"/v1/{name}{ending}?{QUESTIONS.get(name, '')}"
    get, head = client.get(url), client.head(url)
    assert (head.status_code, head.content) == (200, b"")
    ours = {"content-length", "content-type", "etag", "cache-control", "losslake-release", "losslake-total", "link"}
    identity = client.get(url, headers={"Accept-Encoding": "identity"})
    assert {n: head.headers.get(n) for n in ours} == {n: identity.headers.get(n) for n in ours}
    assert get.content == identity.content


def test_only_get_and_head_are_allowed(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        response = client.request(method, "/v1/scaling")
        if method != "OPTIONS":
            assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


PARQUET = f"/v1/curves.parquet?study={DEEP}/8"


def part(client: TestClient, **headers: str) -> Any:
    return client.get(PARQUET, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("url", [f"/v1/curves{ending}?study={DEEP}/8" for ending in ENDINGS])
@pytest.mark.parametrize(
    ("asked", "found"),
    [("0-3", slice(0, 4)), ("4-", slice(4, None)), ("-8", slice(-8, None)), ("0-999999999", slice(None))],
)
def test_every_format_supports_ranges(client: TestClient, url: str, asked: str, found: slice) -> None:
    whole = client.get(url, headers={"Accept-Encoding": "identity"})
    assert whole.headers["accept-ranges"] == "bytes"
    answer = client.get(url, headers={"Range": f"bytes={asked}"})
    assert (answer.status_code, answer.content) == (206, whole.content[found])
    begin = range(len(whole.content))[found].start
    end = begin + len(answer.content) - 1
    assert answer.headers["content-range"] == f"bytes {begin}-{end}/{len(whole.content)}"
    for name in ("etag", "content-type", "losslake-release"):
        assert answer.headers[name] == whole.headers[name]


def test_range_beyond_the_end_gets_416_with_the_size(client: TestClient) -> None:
    size = len(client.get(PARQUET).content)
    answer = part(client, Range=f"bytes={size}-")
    assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{size}")
    assert answer.json()["type"] == "urn:losslake:problem:unsatisfiable-range"


@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6", "bytes=-", "", "bytes"])
def test_invalid_range_gets_the_whole_answer(client: TestClient, asked: str) -> None:
    assert part(client, Range=asked).status_code == 200


def test_if_range_returns_206_for_the_same_version_only(client: TestClient) -> None:
    tag = client.get(PARQUET).headers["etag"]
    assert part(client, Range="bytes=0-3", If_Range=tag).status_code == 206
    assert part(client, Range="bytes=0-3", If_Range='"other"').status_code == 200
    assert part(client, Range="bytes=0-3", If_Range=f"W/{tag}").status_code == 200
    assert part(client, Range="bytes=0-3", If_Range="Thu, 01 Jan 1970 00:00:00 GMT").status_code == 200


def test_if_match_of_another_version_returns_412(client: TestClient) -> None:
    tag = client.get(PARQUET).headers["etag"]
    assert part(client, If_Match=tag, Range="bytes=0-3").status_code == 206
    assert part(client, If_Match='"other"', Range="bytes=0-3").status_code == 412


def test_joined_ranges_equal_the_whole_file(client: TestClient) -> None:
    whole = client.get(PARQUET)
    size = len(whole.content)
    bounds = [*range(0, size, 1000), size]
    parts = [part(client, Range=f"bytes={a}-{b - 1}").content for a, b in pairwise(bounds)]
    assert b"".join(parts) == whole.content
    table = pq.read_table(io.BytesIO(whole.content))
    rows = client.get(PARQUET.replace(".parquet", "")).json()["rows"]
    assert table.num_rows == len(rows)
    assert pl.read_parquet(io.BytesIO(whole.content))["step"].to_list() == [row["step"] for row in rows]


def test_no_temporary_file_remains(client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for url in (PARQUET, f"{PARQUET}&release=1", f"/v1/scaling.parquet?{GOAL}&trials=1"):
        assert client.get(url).status_code == 200
    assert client.get(PARQUET, headers={"Range": "bytes=999999999-"}).status_code == 416
    assert list(tmp_path.iterdir()) == []


def test_the_questions_tried_here_are_all_there_are() -> None:
    paths = {question.path.removeprefix("/v1/") for question in (*questions_module.QUESTIONS, papers.QUESTION)}
    assert paths == {*QUESTIONS, "releases", "withdrawn"}
