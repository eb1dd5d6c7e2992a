"""Lists over HTTP: filters, order, fields, totals, pages and links."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.lists import lists
from losslake_ingest.run import ingest
from losslake_service.app import create_app
from tests.archives import write_workload
from tests.made_up_lake import ERROR
from tests.oracle import Row

DEEP = "shelf/deep/mnist/cnn/sgd"
LISTS = ("collections", "workloads", "studies", "trials", "metrics", "goals", "releases")
# RFC 8288, section 3: a link-value whose target is a URI reference.
LINK = re.compile(r'<([^<>"\s]*)>; rel="next"')


def rows(client: TestClient, url: str) -> list[dict[str, Any]]:
    return page_at(client, url)[0]


def page_at(client: TestClient, url: str) -> tuple[list[dict[str, Any]], str | None]:
    """The rows at a URL, and the URL of the next page."""
    response = client.get(url)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["total"] == int(response.headers["losslake-total"])
    return answer["rows"], next_url(response.headers.get("link"), url)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("batch_size=8", lambda row: row["batch_size"] == 8),
        ("batch_size=8&batch_size=64", lambda row: row["batch_size"] in (8, 64)),
        ("batch_size_min=8&batch_size_max=64", lambda row: 8 <= row["batch_size"] <= 64),
        ("collection=shelf/deep&status=COMPLETE", lambda row: row["trial"].startswith(DEEP) and is_complete(row)),
        ("optimizer=adam", lambda _: False),
        ("last_step_min=30", lambda row: row["last_step"] is not None and row["last_step"] >= 30),
        ("trial_id_max=20&status=COMPLETE", lambda row: row["trial_id"] <= 20 and is_complete(row)),
        ("parameter.momentum=0.9", lambda _: True),
        ("parameter.learning_rate_min=1&parameter.learning_rate_max=2.5", lambda row: 1 <= rate(row) <= 2.5),
        (f"workload={DEEP}", lambda row: row["trial"].startswith(DEEP + "/")),
        (f"workload={DEEP}&workload=shelf/mnist/cnn/sgd", lambda _: True),
        (f"study={DEEP}/8&study={DEEP}/1", lambda row: row["trial"].startswith((DEEP + "/8/", DEEP + "/1/"))),
        (f"workload={DEEP}&study=shelf/mnist/cnn/sgd/8", lambda _: False),
        (f"study={DEEP}/8&batch_size=64", lambda _: False),
    ],
)  # fmt: skip
def test_filters_leave_the_rows_for_which_they_all_hold(
    client: TestClient, query: str, holds: Callable[[dict[str, Any]], bool]
) -> None:
    everything = rows(client, "/v1/trials")
    assert len(everything) == 50
    assert rows(client, f"/v1/trials?{query}") == [row for row in everything if holds(row)]


def rate(row: dict[str, Any]) -> float:
    found: float = row["parameters"]["learning_rate"]
    return found


def is_complete(row: dict[str, Any]) -> bool:
    return bool(row["status"] == "COMPLETE")


def test_workloads_and_studies_are_filtered_by_what_is_in_their_lists(client: TestClient) -> None:
    assert len(rows(client, f"/v1/workloads?metrics={ERROR}&batch_sizes=8")) == 2
    assert rows(client, "/v1/workloads?batch_sizes=7") == []
    assert len(rows(client, "/v1/studies?early_stopping=false&metrics=val/odd_thing")) == 8
    assert rows(client, "/v1/studies?early_stopping=true") == []


@pytest.mark.parametrize(
    ("query", "n_matches"),
    [("q=MNIST+cnn", 2), ("q=deep", 1), ("q=deep&optimizer=adam", 0), ("q=resnet50", 0), ("q=--", 0), ("q=", 2)],
)
def test_workloads_are_found_by_words_in_any_spelling(client: TestClient, query: str, n_matches: int) -> None:
    assert len(rows(client, f"/v1/workloads?{query}")) == n_matches


def test_a_search_is_bounded_and_its_pages_stay_with_it(client: TestClient) -> None:
    assert client.get(f"/v1/workloads?q={'a' * 201}").status_code == 422
    assert client.get("/v1/studies?q=mnist").json()["type"] == "urn:losslake:problem:unknown-parameter"
    first = client.get("/v1/workloads?q=mnist&limit=1").json()
    assert first["total"] == 2
    following = {"limit": 1, "cursor": first["next_cursor"]}
    (second,) = client.get("/v1/workloads", params={"q": "mnist", **following}).json()["rows"]
    assert second["workload"] != first["rows"][0]["workload"]
    assert client.get("/v1/workloads", params={"q": "deep", **following}).status_code == 422


def test_releases_are_filtered_by_their_number(client: TestClient) -> None:
    assert [row["release"] for row in rows(client, "/v1/releases?release=1")] == [1]
    assert rows(client, "/v1/releases?release=2") == []
    created = rows(client, "/v1/releases")[0]["created_at"]
    assert len(rows(client, f"/v1/releases?created_at={created}&created_at_min={created}")) == 1


@pytest.mark.parametrize(
    "name", ["trials", *(pytest.param(name, marks=pytest.mark.slow) for name in LISTS if name != "trials")]
)
def test_a_list_can_be_sorted_by_each_ordered_column_both_ways(client: TestClient, name: str) -> None:
    document = client.get("/openapi.json").json()["paths"][f"/v1/{name}"]["get"]["parameters"]
    pattern = next(parameter["schema"]["pattern"] for parameter in document if parameter["name"] == "sort")
    columns = re.findall(r"\w+", pattern.partition("(,")[0])
    plain = rows(client, f"/v1/{name}")
    assert columns
    for column in columns:
        for minus in ("", "-"):
            found = rows(client, f"/v1/{name}?sort={minus}{column}")
            assert key_set(found) == key_set(plain)
            present = [row[column] for row in found if row[column] is not None]
            assert present == sorted(present, reverse=bool(minus))
            assert [row[column] for row in found][len(present) :] == [None] * (len(found) - len(present))


def key_set(found: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, found))


def test_sorting_by_an_unordered_column_is_refused(client: TestClient) -> None:
    response = client.get("/v1/trials?sort=parameters")
    assert (response.status_code, response.json()["parameter"]) == (422, "sort")
    assert "can't be sorted by 'parameters': give one or more of trial, collection" in response.json()["detail"]


@pytest.mark.parametrize("name", LISTS)
def test_fields_are_those_asked_for_in_their_order(client: TestClient, name: str) -> None:
    plain = rows(client, f"/v1/{name}")
    columns = list(plain[0]) if plain else ["target", "metric"]
    chosen = columns[:2][::-1]
    assert rows(client, f"/v1/{name}?fields={','.join(chosen)}") == [{c: row[c] for c in chosen} for row in plain]


@pytest.mark.parametrize(
    "query",
    ["colour=red", "batch_size_mean=1", "Batch_size=1", "parameter.=1", "parameter.colour=1", "limit=5&colour="],
)
@pytest.mark.parametrize("name", LISTS)
def test_unknown_parameter_is_refused(client: TestClient, name: str, query: str) -> None:
    assert client.get(f"/v1/{name}?{query}").json()["status"] in (404, 422)


@pytest.mark.parametrize("limit", [pytest.param(1, marks=pytest.mark.slow), 7, 49, 50, 51])
def test_links_lead_to_every_row_once_and_in_order(client: TestClient, limit: int) -> None:
    start = f"/v1/trials?sort=-status,last_step&limit={limit}&batch_size=8&batch_size=64&batch_size=1&batch_size=512"
    whole = rows(client, "/v1/trials?sort=-status,last_step")
    found: list[dict[str, Any]] = []
    url: str | None = start
    pages = 0
    while url is not None:
        more, url = page_at(client, url)
        found += more
        pages += 1
    assert found == whole
    assert pages == -(-50 // limit)


def next_url(link: str | None, url: str) -> str | None:
    if link is None:
        return None
    parsed = LINK.fullmatch(link)
    assert parsed is not None, link
    return urljoin(url, str(parsed[1]))


def test_next_link_works_behind_a_proxy_prefix_and_with_an_extension(client: TestClient) -> None:
    link = client.get("/v1/trials.csv?limit=10&fields=trial").headers["link"]
    target = LINK.fullmatch(link)
    assert target is not None
    there = urljoin("https://example.org/losslake/v1/trials.csv?limit=10&fields=trial", target[1])
    assert there.startswith("https://example.org/losslake/v1/trials.csv?limit=10&fields=trial&cursor=")
    page = client.get(there.removeprefix("https://example.org/losslake")).text
    assert page.splitlines()[1:] == client.get("/v1/trials.csv?fields=trial").text.splitlines()[11:21]


def test_json_has_pages_by_default_and_the_other_formats_everything(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lists.JSON_PAGE == 1000
    monkeypatch.setattr(lists, "JSON_PAGE", 10)
    # Asked in a way of its own, as answers are kept.
    assert len(rows(client, "/v1/trials?fields=trial&sort=trial_id")) == 10
    response = client.get("/v1/trials.csv?fields=trial&sort=trial_id")
    assert len(response.text.splitlines()) == 51
    assert response.headers["losslake-total"] == "50"
    assert "link" not in response.headers


@pytest.mark.slow
def test_pages_neither_skip_nor_repeat_when_a_release_is_published_between_them(
    tmp_path: Path, small_archive: Path
) -> None:
    lake = Lake.create(tmp_path / "lake")
    runs = [Row(8, trial, "COMPLETE", 0, 0.5) for trial in range(2, 8)]
    ingest(lake, [small_archive, write_workload(tmp_path / "more", "mnist/cnn/adam", {ERROR: runs})])
    app = create_app(lake)
    client = TestClient(app)
    first = client.get("/v1/trials?limit=3&fields=trial")
    whole = rows(client, "/v1/trials?fields=trial")
    ingest(lake, [write_workload(tmp_path / "another", "aaa/cnn/adam", {ERROR: runs})])
    app.state.releases.refresh()
    assert client.get("/v1/trials").json()["release"] == 2
    found, response = first.json()["rows"], first
    while "link" in response.headers:
        response = client.get(urljoin("/v1/trials", response.headers["link"].split(">")[0][1:]))
        assert response.json()["release"] == 1
        assert "immutable" in response.headers["cache-control"]
        found += response.json()["rows"]
    assert found == whole
    cursor = first.json()["next_cursor"]
    problem = client.get(f"/v1/trials?limit=3&fields=trial&release=2&cursor={cursor}").json()
    assert "the cursor is of release 1, not of 2" in problem["detail"]


def test_cursor_of_a_missing_release_is_refused(client: TestClient) -> None:
    for release in (0, -1, 2, 2**63, 2**70):
        cursor = cursor_of(release)
        assert client.get(f"/v1/trials?cursor={cursor}").status_code in (404, 422), release


def cursor_of(release: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([release, "x", [1]]).encode()).decode().rstrip("=")
