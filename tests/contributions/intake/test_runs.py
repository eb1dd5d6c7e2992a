"""The protocol, status by status: what is new is 201, the same again 200, what contradicts it 409."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import zstandard

from losslake.record.spool import new_name
from losslake_contributions.protocol.limits import LARGEST_ENCODED_SEGMENT, LARGEST_FACTS, LARGEST_SEGMENT
from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun, rows

REWOUND = {
    "0001/000001.jsonl": rows(range(8)),
    "0001/000002.jsonl": rows(range(8, 16)),
    "0002-from-5/000001.jsonl": rows(range(5, 10), 0.5),
}


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


def kind(response: Any) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    return str(response.json()["type"].rpartition(":")[2])


def test_a_run_is_created_once(ada: Sender) -> None:
    run = SpooledRun()
    first = ada.create(run)
    assert (first.status_code, first.json()["state"], first.json()["n_segments"]) == (201, "open", 0)
    assert ada.create(run).status_code == 200
    other = SpooledRun(id=run.id, batch_size=128)
    assert (ada.create(other).status_code, kind(ada.create(other))) == (409, "conflict")


@pytest.mark.parametrize(
    "name",
    [
        "x",
        "..",
        "01A21EF4-18BD-722F-B9DF-1E14CE3B7EB2",
        "123e4567-e89b-42d3-a456-426614174000",
        "01a21ef418bd773bb73c4f80a8c081e8",
    ],
)
def test_only_uuids_of_version_7_and_8_name_a_run(ada: Sender, name: str) -> None:
    response = ada.send("PUT", f"/v1/contributions/{name}", json=SpooledRun().facts)
    assert response.status_code in (404, 422)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "losslake-record/2"},
        {"collection": "a//b"},
        {"collection": "/a"},
        {"dataset": "a/b"},
        {"model": " padded"},
        {"optimizer": "two\nlines"},
        {"collection": "a/../b"},
        {"dataset": "."},
        {"model": "a\\b"},
        {"model": "e\u0301"},
        {"model": "\uff47pt"},
        {"collection": "a/given\u3164"},
        {"optimizer": "sgd\u034f"},
        {"optimizer": "sgd\ufe0f"},
        {"attributes": {"a": 2**63}},
        {"attributes": {"a": [[{"b": -(2**63) - 1}]]}},
        {"batch_size": 0},
        {"batch_size": 2**63},
        {"batch_size": "64"},
        {"batch_size": 64.5},
        {"batch_size": None},
        {"batch_schedule": [[0, 64], [10, 128]]},
        {"batch_schedule_name": "warm-up"},
        *(
            {"batch_size": None, "batch_schedule": pieces}
            for pieces in (
                [],
                [[0, 64]],
                [[1, 64], [9, 8]],
                [[0, 64], [0, 8]],
                [[0, 64], [9, 0]],
                [[0, "64"], [9, 8]],
                64,
            )
        ),
        {"batch_size": None, "batch_schedule": [[0, 64], [9, 8]], "batch_schedule_name": "x" * 101},
        {"licence": "x" * 201},
        {"started_at": "now"},
        {"parameters": {"a": [1]}},
        {"parameters": {"a": {"b": 1}}},
        {"parameters": {"\x1b": 1}},
        {"parameters": {str(n): n for n in range(1001)}},
        {"unknown": 1},
        {"steps": -1},
        {"goals": [{"metric": "val/loss"}]},
        {"origin": {"format": "mlflow", "files": {"a": "not a digest"}}},
    ],
)
def test_facts_out_of_bounds_are_refused(ada: Sender, changes: dict[str, Any]) -> None:
    run = SpooledRun()
    response = ada.send("PUT", f"/v1/contributions/{run.id}", json=run.facts | changes)
    assert (response.status_code, kind(response)) == (422, "bad-document")
    assert ada.send("GET", f"/v1/contributions/{run.id}").status_code == 404


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"format": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_document_is_refused(ada: Sender, body: bytes) -> None:
    assert ada.send("PUT", f"/v1/contributions/{new_name()}", content=body).status_code == 422


def test_numbers_that_json_has_not_are_refused(ada: Sender) -> None:
    run = SpooledRun()
    text = json.dumps(run.facts | {"parameters": {"a": float("nan")}})
    assert ada.send("PUT", f"/v1/contributions/{run.id}", content=text).status_code == 422


@pytest.mark.parametrize("value", ["NaN", "[1, -Infinity]", '{"b": 1e999}', "9" * 5000, "[" * 30 + "]" * 30])
def test_attributes_are_what_every_reader_of_json_takes(ada: Sender, value: str) -> None:
    run = SpooledRun()
    text = json.dumps(run.facts)[:-1] + f', "attributes": {{"a": {value}}}}}'
    assert ada.send("PUT", f"/v1/contributions/{run.id}", content=text).status_code == 422


def test_attributes_are_kept_as_they_are(ada: Sender, reviewer: Sender) -> None:
    given = {"\u00e9": [[1, None, True, {"b": 0.1 + 0.2, "c": "x\x00\n"}]], "d": -(2**63), "e": {}}
    run = SpooledRun()
    assert ada.send("PUT", f"/v1/contributions/{run.id}", json={**run.facts, "attributes": given}).status_code == 201
    ada.put(run)
    ada.finish(run)
    name = ada.submit(run).json()["id"]
    (shown,) = reviewer.send("GET", f"/v1/submissions/{name}").json()["runs"]
    facts = reviewer.send("GET", shown["links"]["facts"])
    assert facts.headers["cache-control"] == "no-store"
    assert facts.json() == {**run.facts, "attributes": given}


@pytest.mark.parametrize("name", ["x", "%00" * 36, "'" * 36, "0" * 36, "ABCDEF00-0000-4000-8000-000000000000"])
def test_ids_of_submissions_are_uuids(ada: Sender, name: str) -> None:
    assert ada.send("GET", f"/v1/submissions/{name}").status_code == 404
    assert ada.send("GET", f"/v1/submissions?after={name}").status_code == 404


def test_a_document_that_is_too_large_is_refused(ada: Sender) -> None:
    run = SpooledRun(parameters={"a" * 200 + str(n): "b" * 2000 for n in range(200)})
    assert len(json.dumps(run.facts)) > LARGEST_FACTS
    assert ada.create(run).status_code == 413


def test_segments_are_held_once(ada: Sender) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    ada.create(run)
    for path in reversed(run.segments):
        assert [ada.put(run, path).status_code for _ in range(2)] == [201, 200]
    held = ada.send("GET", f"/v1/contributions/{run.id}/segments").json()
    assert held == {"id": run.id, "state": "open", "segments": [run.place(path) for path in run.segments]}
    status = ada.send("GET", f"/v1/contributions/{run.id}").json()
    assert (status["n_segments"], status["bytes"]) == (3, sum(len(run.data(path)) for path in run.segments))


def test_a_segment_is_returned_as_it_was_sent(ada: Sender) -> None:
    run = SpooledRun()
    ada.contribute(run)
    response = ada.send("GET", f"/v1/contributions/{run.id}/segments/1/1")
    assert response.content == run.data("0001/000001.jsonl")
    assert response.headers["content-disposition"].startswith("attachment")
    assert ada.send("GET", f"/v1/contributions/{run.id}/segments/1/2").status_code == 404


def test_plain_bytes_are_taken_as_well(ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    where = f"/v1/contributions/{run.id}/segments/1/1"
    data, digest = run.data("0001/000001.jsonl"), run.place("0001/000001.jsonl")["sha256"]
    assert ada.send("PUT", where, params={"sha256": digest}, content=data).status_code == 201
    refused = ada.send("PUT", where, params={"sha256": digest}, content=data, headers={"Content-Encoding": "gzip"})
    assert (refused.status_code, kind(refused)) == (415, "unsupported-encoding")


def test_other_bytes_at_the_same_place_are_refused(ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    ada.put(run)
    other = SpooledRun(id=run.id, segments={"0001/000001.jsonl": rows(range(3))})
    assert (ada.put(other).status_code, kind(ada.put(other))) == (409, "conflict")
    assert ada.put(run, from_step=3).status_code == 409
    assert ada.put(run, n=2, from_step=3).status_code == 409, "all segments of an attempt have the same from_step"
    assert ada.send("GET", f"/v1/contributions/{run.id}/segments/1/1").content == run.data("0001/000001.jsonl")


def test_nothing_is_stored_whose_digest_is_wrong(ada: Sender, service: Service) -> None:
    run = SpooledRun()
    ada.create(run)
    before = list(service.lake.store.list_files("contributions"))
    for data in (b"", b"other bytes", run.data("0001/000001.jsonl")[:-1]):
        response = ada.put(run, data=data)
        assert (response.status_code, kind(response)) == (422, "wrong-digest")
    assert list(service.lake.store.list_files("contributions")) == before


@pytest.mark.parametrize("body", [b"", b"not zstd", zstandard.ZstdCompressor().compress(b"x" * 1000)[:-4]])
def test_a_damaged_frame_is_refused(ada: Sender, body: bytes) -> None:
    run = SpooledRun()
    ada.create(run)
    where = f"/v1/contributions/{run.id}/segments/1/1"
    digest = run.place("0001/000001.jsonl")["sha256"]
    response = ada.send("PUT", where, params={"sha256": digest}, content=body, headers={"Content-Encoding": "zstd"})
    assert response.status_code == 422


@pytest.mark.parametrize("size", [LARGEST_SEGMENT + 1, 2**30])
def test_what_unpacks_to_too_much_is_refused(ada: Sender, service: Service, size: int) -> None:
    run = SpooledRun()
    ada.create(run)
    before = list(service.lake.store.list_files("contributions"))
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(-(-size // 2**20))) + packer.flush()
    where = f"/v1/contributions/{run.id}/segments/1/1"
    headers = {"Content-Encoding": "zstd"}
    response = ada.send("PUT", where, params={"sha256": "0" * 64}, content=bomb, headers=headers)
    assert (response.status_code, kind(response)) == (413, "too-large")
    assert list(service.lake.store.list_files("contributions")) == before


def test_a_body_that_is_too_large_is_refused(ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    where = f"/v1/contributions/{run.id}/segments/1/1"
    response = ada.send("PUT", where, params={"sha256": "0" * 64}, content=bytes(LARGEST_SEGMENT + 100_000))
    assert (response.status_code, kind(response)) == (413, "too-large")


def test_a_body_without_a_length_is_refused_once_it_is_too_large(ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    place, headers = run.place("0001/000001.jsonl"), {"Content-Encoding": "zstd"}
    # Nothing after the first frame is unpacked.
    frame = zstandard.ZstdCompressor().compress(run.data("0001/000001.jsonl"))
    pieces = (frame, *[bytes(2**20)] * (LARGEST_ENCODED_SEGMENT // 2**20 + 1))
    where = f"/v1/contributions/{run.id}/segments/1/1"
    response = ada.send("PUT", where, params={"sha256": place["sha256"]}, content=iter(pieces), headers=headers)
    assert (response.status_code, kind(response)) == (413, "too-large")


def test_the_largest_segment_is_taken(ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    data = (b"x" * 63 + b"\n") * (LARGEST_SEGMENT // 64)
    assert ada.put(run, data=data, sha256=hashlib.sha256(data).hexdigest()).status_code == 201


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("0/1", {"sha256": "0" * 64}),
        ("1/0", {"sha256": "0" * 64}),
        ("1/x", {"sha256": "0" * 64}),
        ("1/²", {"sha256": "0" * 64}),
        ("-1/1", {"sha256": "0" * 64}),
        ("1/1000000000", {"sha256": "0" * 64}),
        ("1/1", {}),
        ("1/1", {"sha256": "0" * 63}),
        ("1/1", {"sha256": "A" * 64}),
        ("1/1", {"sha256": "0" * 64, "from_step": "-1"}),
        ("1/1", {"sha256": "0" * 64, "from_step": "1e3"}),
        ("1/1", {"sha256": "0" * 64, "from_step": str(2**54)}),
        ("1/1", {"sha256": "0" * 64, "to_step": "1"}),
        ("1/1", {"sha256": ["0" * 64, "1" * 64]}),
    ],
)
def test_places_that_a_spool_has_not_are_refused(ada: Sender, path: str, query: dict[str, Any]) -> None:
    run = SpooledRun()
    ada.create(run)
    response = ada.send("PUT", f"/v1/contributions/{run.id}/segments/{path}", params=query, content=b"")
    assert response.status_code == 422
    kind(response)


def test_a_run_is_finished_once_all_of_it_is_held(ada: Sender) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    ada.create(run)
    ada.put(run, "0001/000002.jsonl")
    early = ada.finish(run)
    assert (early.status_code, kind(early), early.json()["missing"]) == (409, "incomplete", ["1/1", "2/1"])
    ada.put(run, "0001/000001.jsonl")
    ada.put(run, "0002-from-5/000001.jsonl")
    assert [ada.finish(run).json()["state"] for _ in range(2)] == ["finished", "finished"]


def test_an_end_that_contradicts_what_is_held_is_refused(ada: Sender) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    ada.create(run)
    for path in run.segments:
        ada.put(run, path)
    differs = run.end | {"segments": [run.place(path) | {"bytes": 7} for path in run.segments]}
    fewer = run.end | {"segments": [run.place("0001/000001.jsonl")]}
    for end in (differs, fewer):
        response = ada.send("POST", f"/v1/contributions/{run.id}/finish", json=end)
        assert (response.status_code, kind(response)) == (409, "conflict")
    twice = run.end | {"segments": [run.place("0001/000001.jsonl")] * 2}
    for bad in (twice, run.end | {"status": "RUNNING"}, run.end | {"n_dropped": -1}, {}):
        assert ada.send("POST", f"/v1/contributions/{run.id}/finish", json=bad).status_code == 422


def test_a_finished_run_may_go_on_until_it_is_submitted(ada: Sender) -> None:
    run = SpooledRun(status="INCOMPLETE")
    ada.contribute(run)
    assert ada.put(run).status_code == 200, "what is held is acknowledged again"
    assert ada.send("GET", f"/v1/contributions/{run.id}").json()["state"] == "finished"
    run.segments["0002-from-5/000001.jsonl"] = rows(range(5, 9))
    early = ada.finish(run)
    assert (early.status_code, kind(early), early.json()["missing"]) == (409, "incomplete", ["2/1"])
    assert ada.put(run, "0002-from-5/000001.jsonl").status_code == 201
    assert ada.send("GET", f"/v1/contributions/{run.id}").json()["state"] == "open"
    assert ada.submit(run).json()["unfinished"] == [run.id]
    run.status = "COMPLETE"
    assert ada.finish(run).status_code == 200
    run.status = "INFEASIBLE"
    assert ada.finish(run).status_code == 200, "the last end counts"


def test_a_submitted_run_takes_nothing_more(ada: Sender, reviewer: Sender) -> None:
    run = SpooledRun()
    name = ada.submitted(run)
    assert {ada.put(run).status_code, ada.finish(run).status_code} == {200}, "what is held is acknowledged again"
    more = SpooledRun(id=run.id, segments={**run.segments, "0001/000002.jsonl": rows(range(12, 15))})
    for response in (ada.put(more, "0001/000002.jsonl"), ada.finish(more)):
        assert (response.status_code, kind(response)) == (409, "conflict")
        assert f"{name} has it as it was: withdraw that first" in response.json()["detail"]
    assert reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": "go on"}).status_code == 200
    assert (ada.put(more, "0001/000002.jsonl").status_code, ada.finish(more).status_code) == (201, 200)
    again = ada.submit(more, note="longer").json()["id"]
    assert reviewer.send("POST", f"/v1/submissions/{again}/accept").json()["state"] == "accepted"
    last = ada.finish(run)
    assert (last.status_code, "is accepted as it was: record a run of its own" in last.json()["detail"]) == (409, True)


def test_segments_of_an_unknown_run_are_refused(ada: Sender) -> None:
    run = SpooledRun()
    assert (ada.put(run).status_code, kind(ada.put(run))) == (404, "unknown-contribution")
    assert ada.finish(run).status_code == 404


def test_unknown_paths_and_methods_give_problems(ada: Sender) -> None:
    assert (ada.send("GET", "/v1/nothing").status_code, kind(ada.send("GET", "/v1/nothing"))) == (404, "unknown-path")
    response = ada.send("POST", f"/v1/contributions/{new_name()}")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, PUT")


def test_the_interface_describes_itself(service: Service) -> None:
    paths = service.client.get("/openapi.json").json()["paths"]
    assert "/v1/contributions/{run}/segments/{attempt}/{n}" in paths
    assert service.client.get("/readyz").json() == {"status": "ready", "checks": ["database"]}
    assert service.client.get("/healthz").status_code == 200
