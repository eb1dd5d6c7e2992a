"""Strangers who send too much, too slowly or at the same moment; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import hashlib
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import zstandard

from losslake.record.spool import new_name
from losslake_contributions.people.tokens import Quota
from losslake_contributions.protocol.limits import LARGEST_FACTS, LARGEST_SEGMENT
from tests.attacks.contributors import Target, fresh_run, raw, refused
from tests.contributions.conftest import Sender
from tests.servers.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.attack]
CURVE = "0001/000001.jsonl"


def test_bombs_of_zstd(target: Target) -> None:
    """fill the memory by a body of zstd: zeros, a huge window, many frames, nested frames, skippable ones, cut ones"""
    zeros = bytes(2**20)
    packed = zstandard.ZstdCompressor(19).compress(bytes(400 * 2**20))
    window = zstandard.ZstdCompressionParameters.from_level(1, window_log=30, enable_ldm=True)
    wide = zstandard.ZstdCompressor(compression_params=window).compressobj()
    bodies = {
        "400 MB of zeros": packed,
        "a window of 1 GB": wide.compress(zeros) + wide.flush(),
        "a thousand frames": zstandard.ZstdCompressor().compress(zeros) * 1000,
        "nested frames": zstandard.ZstdCompressor().compress(packed),
        "a skippable frame": b"\x50\x2a\x4d\x18" + (2**31).to_bytes(4, "little") + zeros,
        "cut short": packed[: len(packed) // 2],
        "a stated size of 2^62": b"\x28\xb5\x2f\xfd\xe0" + (2**62).to_bytes(8, "little") + b"\x01\x00\x00",
        "no zstd": b"\x1f\x8b" + zeros,
        "empty": b"",
    }
    run = fresh_run()
    target.mallory.create(run)
    where = f"/v1/contributions/{run.id}/segments/1/1?sha256={'0' * 64}"
    for body in bodies.values():
        refused(target.mallory.send("PUT", where, content=body, headers={"content-encoding": "zstd"}), 413, 422)
    for coding in ("gzip", "br", "zstd, zstd", "x" * 200):
        answer = target.mallory.send("PUT", where, content=zeros, headers={"content-encoding": coding})
        assert answer.status_code in (400, 415)
    assert target.mallory.send("GET", f"/v1/contributions/{run.id}").json()["n_segments"] == 0


def test_bytes_after_the_frame(target: Target) -> None:
    """smuggle bytes behind a frame whose digest is right"""
    run = fresh_run()
    target.mallory.create(run)
    body = zstandard.ZstdCompressor().compress(run.data(CURVE)) + b"<script>more</script>" * 100
    where = f"/v1/contributions/{run.id}/segments/1/1"
    query = {"sha256": run.place(CURVE)["sha256"]}
    answer = target.mallory.send("PUT", where, params=query, content=body, headers={"content-encoding": "zstd"})
    refused(answer, 422)


def test_oversized_bodies(target: Target) -> None:
    """fill memory or disk by bodies of any size, with a length or without one"""
    run = fresh_run()
    target.mallory.create(run)
    where = f"/v1/contributions/{run.id}/segments/1/1?sha256={'0' * 64}"
    large = bytes(LARGEST_SEGMENT + 1)
    refused(target.mallory.send("PUT", where, content=large), 413)
    refused(target.mallory.send("PUT", where, content=(bytes(2**20) for _ in range(40))), 413)
    facts = {**run.facts, "notes": "x" * LARGEST_FACTS}
    refused(target.mallory.send("PUT", f"/v1/contributions/{new_name()}", json=facts), 413, 422)
    for path in (f"/v1/contributions/{new_name()}", "/v1/submissions", f"/v1/contributions/{run.id}/finish"):
        method = "PUT" if path.count("/") == 3 and "contributions" in path else "POST"
        refused(target.mallory.send(method, path, content=b"[" * 3_000_000), 413)
    assert target.press("/sign-in", None, token="x" * 300_000).status_code in (413, 422)


def test_slow_bodies(target: Target) -> None:
    """hold every place for uploads by bodies that never end"""
    slow, run = target.someone("Slow"), fresh_run()
    slow.create(run)
    head = (
        f"PUT /v1/contributions/{run.id}/segments/1/1?sha256={'0' * 64} HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{target.service.port}"
        f"\r\nAuthorization: Bearer {slow.token}\r\nContent-Length: 1000\r\n\r\n{{"
    )
    connections = [socket.create_connection(("127.0.0.1", target.service.port), 60) for _ in range(8)]
    for connection in connections:
        connection.sendall(head.encode())
    assert target.victim.create(other := fresh_run()).status_code == 201
    assert target.victim.put(other).status_code == 201
    first = Counter(connection.recv(12)[9:12] for connection in connections)
    assert first == {b"408": 4, b"429": 4}
    for connection in connections:
        connection.close()
    wait_until(lambda: slow.put(run).status_code == 201, "its places are free again")


def test_wrong_lengths(target: Target) -> None:
    """let the service and a proxy disagree where a request ends"""
    run = fresh_run()
    target.mallory.create(run)
    host = f"Host: 127.0.0.1:{target.service.port}\r\nAuthorization: Bearer {target.mallory.token}"
    put = f"PUT /v1/contributions/{run.id}/segments/1/1?sha256={'0' * 64} HTTP/1.1\r\n{host}\r\n"
    for lengths in (
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: \xb2\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length: 99999999999999999999999\r\n",
    ):
        answer = raw(target, f"{put}{lengths}\r\nGET /".encode("latin-1"))
        assert answer[9:10] in (b"4", b""), answer
        assert b"HTTP/1.1 20" not in answer
    answer = raw(target, f"{put}Content-Length: 3\r\n\r\nxyzGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 422")
    raw(target, f"{put}Content-Length: 3000\r\n\r\nxyz".encode(), wait=False)
    assert target.mallory.put(run).status_code == 201


def test_quotas_by_small_requests(target: Target) -> None:
    """get around a quota by many small requests at once"""
    runs = [fresh_run() for _ in range(12)]
    greedy = target.someone("Greedy", quota=Quota(runs=5, segments=3, bytes=10_000_000))
    with ThreadPoolExecutor(6) as pool:
        created = Counter(answer.status_code for answer in pool.map(greedy.create, runs))
    assert created == {201: 5, 403: 7}
    mine = next(run for run in runs if greedy.send("GET", f"/v1/contributions/{run.id}").status_code == 200)
    line = b'{"step":1}\n'
    digest = hashlib.sha256(line).hexdigest()

    def put(n: int) -> int:
        return int(greedy.put(mine, data=line, sha256=digest, n=n).status_code)

    with ThreadPoolExecutor(6) as pool:
        sent = Counter(pool.map(put, range(1, 13)))
    assert set(sent) <= {201, 403, 429}
    assert sent[201] <= 3
    assert greedy.send("GET", f"/v1/contributions/{mine.id}").json()["n_segments"] == sent[201]


def test_database_filled_by_documents(target: Target) -> None:
    """fill the database by texts that are no measurements: run.json, ends, submissions withdrawn and sent again"""
    writer = target.someone("Writer", quota=Quota(document_bytes=100_000))
    long = [fresh_run(parameters={str(n): "x" * 9_000 for n in range(8)}) for _ in range(2)]
    assert [writer.create(run).status_code for run in long] == [201, 403]
    short = target.someone("Short", quota=Quota(document_bytes=60_000))
    run = fresh_run()
    short.contribute(run)
    states = []
    for number in range(10):
        answer = short.submit(run, note=f"{number}" + "x" * 9_000)
        states.append(answer.status_code)
        if answer.status_code == 201:
            short.send("POST", f"/v1/submissions/{answer.json()['id']}/withdraw")
    assert states[0] == 201
    assert states[-1] == 403
    gaps = [{"reason": "x" * 9_000, "n": 1}] * 10
    other = fresh_run()
    stopped = target.someone("Stopped", quota=Quota(document_bytes=20_000))
    stopped.create(other)
    stopped.put(other)
    refused(stopped.send("POST", f"/v1/contributions/{other.id}/finish", json={**other.end, "gaps": gaps}), 403)


@contextmanager
def at_once(*calls: Any) -> Iterator[list[Any]]:
    """Send requests at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        yield [future.result() for future in [pool.submit(call) for call in calls]]


def test_race_of_submission_and_segments(target: Target) -> None:
    """get a segment into a run that is submitted, by requests at the same moment"""
    for _ in range(5):
        target.mallory.contribute(run := fresh_run())
        late = b'{"step":99,"val/loss":0}\n'
        add = {"data": late, "sha256": hashlib.sha256(late).hexdigest(), "n": 2}
        calls = (lambda r=run: target.mallory.submit(r), lambda r=run, a=add: target.mallory.put(r, **a))
        with at_once(*calls) as (submitted, segment):
            held = target.mallory.send("GET", f"/v1/contributions/{run.id}").json()
        assert (submitted.status_code, segment.status_code) in ((201, 409), (409, 201))
        assert (held["state"], held["n_segments"]) in (("finished", 1), ("open", 2))


def test_race_of_submissions(target: Target) -> None:
    """have a run in two submissions, by requests at the same moment"""
    for _ in range(5):
        target.mallory.contribute(run := fresh_run())
        calls = [lambda r=run, n=number: target.mallory.submit(r, note=str(n)) for number in range(4)]
        with at_once(*calls) as found:
            assert Counter(each.status_code for each in found) == {201: 1, 409: 3}


def test_race_of_acceptance_and_withdrawal(target: Target) -> None:
    """withdraw, return or split a submission while it is being accepted, or have it accepted twice"""
    name = target.victim.submitted(fresh_run())
    target.wait_for_review(name)

    def decide(sender: Sender, verb: str, **body: Any) -> Any:
        return sender.send("POST", f"/v1/submissions/{name}/{verb}", json=body, timeout=120)

    calls = [
        lambda: decide(target.reviewer, "accept"),
        lambda: decide(target.victim, "withdraw"),
        lambda: decide(target.reviewer, "accept"),
        lambda: decide(target.reviewer, "return", reason="no"),
    ]
    with at_once(*calls) as found:
        status = target.reviewer.send("GET", f"/v1/submissions/{name}").json()
    statuses = [each.status_code for each in found]
    assert set(statuses) <= {200, 409}
    placed = [trial for trial in (run["trial"] for run in status["runs"]) if trial]
    if status["state"] == "accepted":
        assert statuses == [200, 409, 200, 409]
        assert len(placed) == 1
    else:
        assert (statuses[0], statuses[2], placed) == (409, 409, [])
        assert statuses.count(200) == 1
