"""Strangers against pages of live runs, and their streams; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import base64
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import psutil
import pytest

from losslake_contributions.live.watching import MOST_RUNS_OF_ONE, MOST_WATCHERS_OF_ONE
from losslake_contributions.people.links import rotate_key
from losslake_contributions.people.signing_key import SigningKey, link_token
from losslake_contributions.people.tokens import revoke_token
from tests.attacks.contributors import BROWSER, Target, fresh_run
from tests.contributions.conftest import Sender
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.attack]
FIRST, SECOND = "0001/000001.jsonl", "0001/000002.jsonl"
SECRET = {"secret_of_victoria": 4242}


def live(sender: Sender, **changes: Any) -> tuple[SpooledRun, str]:
    """A run with a segment, and the path of its page."""
    run = fresh_run(**changes)
    link = sender.create(run).json()["links"]["live"]
    assert sender.put(run, FIRST).status_code == 201
    return run, urlsplit(link).path


@pytest.fixture(scope="module")
def theirs(target: Target) -> tuple[SpooledRun, str]:
    """A run of the victim, and the path of its page."""
    return live(target.victim, parameters=SECRET)


def follow(target: Target, places: ExitStack, path: str) -> httpx.Response:
    """Open the stream of a page."""
    return places.enter_context(target.client.stream("GET", f"{path}/events", timeout=60))


def curves(response: httpx.Response) -> Iterator[dict[str, Any]]:
    for line in response.iter_lines():
        if line.startswith('data: {"metrics"'):
            yield json.loads(line.removeprefix("data: "))


def test_forged_live_links(target: Target, theirs: tuple[SpooledRun, str]) -> None:
    """see a live run by a link that is made up, changed, to nothing, to a draft, or signed with another key"""
    run, path = theirs
    key, right = SigningKey.of(target.lake).read(), path.removeprefix("/live/")
    assert target.client.get(path).status_code == 200
    data = base64.urlsafe_b64decode(right)
    forged = [
        base64.urlsafe_b64encode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]).decode() for at in range(len(data))
    ]
    forged += [
        link_token("live", bytes(32), UUID(bytes=data[:16])),
        link_token("draft", key, UUID(bytes=data[:16])),
        link_token("live", key, UUID(run.id)),
        right[:-1],
        f"{right}A",
        right.swapcase(),
        f"{right}%00",
        run.id,
        "A" * 56,
    ]
    for token in forged:
        for rest in ("", "/events", "/v1/scaling.json", "/figures/curves.vl.json?metric=x"):
            answer = target.client.get(f"/live/{token}{rest}")
            assert answer.status_code in (307, 404), token
            assert "secret_of_victoria" not in answer.text
    # Nor is it a link to a draft, or a cookie of one.
    assert target.client.get(f"/drafts/{right}/v1/workloads").status_code == 404


def test_links_of_revoked_tokens(target: Target) -> None:
    """go on watching by the link, the open page or the draft of a token that was revoked, or by a link that was"""
    leaver, careless = target.someone("Leaver"), target.someone("Careless")
    run, path = live(leaver)
    name = leaver.submitted(fresh_run(batch_size=4343))
    draft = target.draft(name, leaver)
    mine, other = live(careless)
    (listed,) = careless.send("GET", "/v1/links").json()["links"]
    assert (listed["kind"], listed["subject"]) == ("live", mine.id)
    assert target.mallory.send("DELETE", f"/v1/links/{listed['id']}").status_code == 404
    with ExitStack() as places:
        coming = [curves(follow(target, places, each)) for each in (path, other)]
        assert [next(each)["last_step"] for each in coming] == [11, 11]
        began = time.monotonic()
        revoke_token(target.database, leaver.token)
        assert careless.send("DELETE", f"/v1/links/{listed['id']}").status_code == 204
        for each in (path, other):
            for rest in ("", "/events", "/v1/scaling.json", "/figures/curves.vl.json?metric=x"):
                assert target.client.get(f"{each}{rest}").status_code == 404
        for cookie in ({}, {"cookie": f"losslake_draft={draft}"}):
            assert target.client.get(f"/drafts/{draft}/v1/studies", headers=cookie).status_code == 404
        assert target.client.get("/v1/studies", headers={"cookie": f"losslake_draft={draft}"}).status_code == 404
        assert [list(each) for each in coming] == [[], []]
        seconds = time.monotonic() - began
    again = urlsplit(careless.send("GET", f"/v1/contributions/{mine.id}").json()["links"]["live"]).path
    assert target.client.get(again).status_code == 200
    assert run.id != mine.id
    print(f"links of a revoked token: dead at once, open streams ended after {seconds:.1f} s")
    assert seconds < 10


def test_runs_beside_a_live_link(target: Target, theirs: tuple[SpooledRun, str]) -> None:
    """see another run, or the drafts and submissions of others, by the link to one's own run"""
    run, _ = theirs
    _, path = live(target.mallory)
    for query in (f"run={run.id}", f"workload={run.id}", f"metric={run.id}", f"token={run.id}"):
        answer = target.client.get(f"{path}?{query}")
        assert answer.status_code in (404, 422)
        assert "secret_of_victoria" not in answer.text
    for rest in (f"/{run.id}", f"/../{run.id}", f"/v1/contributions/{run.id}", "/v1/submissions", "/reviews"):
        answer = target.client.get(f"{path}{rest}", headers=BROWSER)
        assert answer.status_code in (303, 404)
        assert "secret_of_victoria" not in answer.text


def test_lake_below_live_links(target: Target) -> None:
    """run SQL, read files or draw figures without end of the lake below a live link"""
    _, path = live(target.mallory)
    for rest in (
        "v1/sql?q=SELECT+1",
        "data/",
        "v1/figures/curves.png?scale=4",
        "v1/curves.json?study=given/mnist/cnn/sgd/64",
        "v1/figures/../sql",
        "v1/figures/..%2fsql",
        "metrics",
        "v1/..%2f..%2fmetrics",
        "mcp",
    ):
        assert target.client.get(f"{path}/{rest}").status_code == 404, rest
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = target.client.request(method, f"{path}/v1/scaling.json", content=b"{}")
        assert answer.status_code == 405


def test_flood_of_watchers(target: Target, theirs: tuple[SpooledRun, str]) -> None:
    """keep others from following their runs by opening streams, and pages of many runs, without end"""
    _, path = theirs
    mine = [live(target.mallory)[1] for _ in range(MOST_RUNS_OF_ONE + 2)]
    with ExitStack() as places:
        statuses = [follow(target, places, mine[at % 3]).status_code for at in range(MOST_WATCHERS_OF_ONE + 20)]
        assert statuses.count(200) == MOST_WATCHERS_OF_ONE
        assert statuses.count(503) == 20
        statuses = [target.client.get(each).status_code for each in mine]
        assert set(statuses) == {200}
        response = follow(target, places, path)
        assert response.status_code == 200
        assert next(curves(response))["last_step"] == 11
        assert target.client.get(path, headers=BROWSER).status_code == 200

    def is_free() -> bool:
        with ExitStack() as places:
            return follow(target, places, mine[0]).status_code == 200

    wait_until(is_free, "places are free again")


def test_watchers_that_never_read(target: Target) -> None:
    """fill the memory, or hold up others, by streams that are opened and never read"""
    run, path = live(target.victim, segments={FIRST: rows(range(50)), SECOND: rows(range(50, 2000))})
    _, mine = live(target.mallory)
    with ExitStack() as places:
        for each in [path] * 10 + [mine] * 30:
            connection = places.enter_context(socket.create_connection(("127.0.0.1", target.service.port)))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.sendall(f"GET {each}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        coming = curves(follow(target, places, path))
        assert next(coming)["last_step"] == 49
        assert target.victim.put(run, SECOND).status_code == 201
        assert next(coming)["last_step"] == 1999
        assert target.client.get("/healthz").text == "ok"


ODD_EVENT_IDS = ("-1", "9" * 5_000, "NaN", "1e999", "0x1", "' OR 1=1--", "../../etc/passwd", "")
N_SLOW = 2 * MOST_WATCHERS_OF_ONE
SECONDS_OF_ATTACK = 15.0


@contextmanager
def slow_readers(target: Target, paths: Sequence[str], count: int) -> Iterator[None]:
    """Open streams of which one byte a second is read."""
    over = threading.Event()
    with ExitStack() as places:
        readers = []
        for number in range(count):
            connection = places.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.settimeout(60)
            connection.connect(("127.0.0.1", target.service.port))
            path = f"{paths[number % len(paths)]}/events?target=0.{number + 1}"
            connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            assert connection.recv(12) == b"HTTP/1.1 200"
            readers.append(connection)

        def read() -> None:
            while not over.wait(1):
                for connection in readers:
                    with suppress(OSError):
                        connection.recv(1)

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def reconnecting(target: Target, path: str, count: int) -> Iterator[list[int]]:
    """Open and leave streams again and again, each with another odd id of a last event and another target."""
    over, statuses = threading.Event(), []

    def reconnect(number: int) -> None:
        with httpx.Client(base_url=target.service.url, timeout=60) as client:
            for at in itertools.count(number):
                if over.is_set():
                    return
                headers = {"Last-Event-ID": ODD_EVENT_IDS[at % len(ODD_EVENT_IDS)]}
                query = {"target": f"0.{number}{at}"}
                with client.stream("GET", f"{path}/events", params=query, headers=headers) as answer:
                    statuses.append(answer.status_code)

    with ThreadPoolExecutor(count) as clients:
        found = [clients.submit(reconnect, number) for number in range(count)]
        try:
            yield statuses
        finally:
            over.set()
    for each in found:
        each.result()


def test_watchers_that_read_slowly_and_reconnect(target: Target) -> None:
    """hold up those who follow a run, or fill the memory, by 80 slow readers and 8 that reconnect all the time"""
    curve = {f"0001/{n:06}.jsonl": rows(range(2_000 * n, 2_000 * (n + 1))) for n in range(1, 11)}
    people = [target.someone(name) for name in ("Mallory", "Moe", "Max")]
    *slow, again = [live(someone, segments={FIRST: curve[FIRST]})[1] for someone in people]
    run, path = live(target.victim, segments=curve)
    assert target.service.process is not None
    process = psutil.Process(target.service.process.pid)
    before, delays, health = process.memory_info().rss, [], []
    with (
        ExitStack() as places,
        slow_readers(target, slow, N_SLOW),
        reconnecting(target, again, 8) as statuses,
    ):
        coming = curves(follow(target, places, path))
        assert next(coming)["last_step"] == 3_999
        began = time.monotonic()
        for name in [*curve][1:]:
            sent = time.monotonic()
            assert target.victim.put(run, name).status_code == 201
            last = curve[name][-1]["step"]
            next(event for event in coming if event["last_step"] == last)
            delays.append(time.monotonic() - sent)
            asked = time.monotonic()
            assert target.client.get("/healthz").text == "ok"
            health.append(time.monotonic() - asked)
            if time.monotonic() - began > SECONDS_OF_ATTACK:
                break
    grown = process.memory_info().rss - before
    print(
        f"\n{N_SLOW} slow readers and {len(statuses)} reconnections: another's watcher is told after "
        f"{sorted(delays)[len(delays) // 2]:.2f} s (at most {max(delays):.2f}), /healthz {max(health) * 1000:.0f} ms; "
        f"the service has grown by {grown / 1e6:.0f} MB"
    )
    assert {*statuses} == {200}
    assert max(delays) < 10
    assert grown < 200e6


def test_live_links_in_logs(target: Target, theirs: tuple[SpooledRun, str]) -> None:
    """use links to live runs that somebody finds in the log"""
    _, path = theirs
    target.client.get(path)
    target.client.get(f"{path}/v1/scaling.json?metric=x")
    token = path.removeprefix("/live/")
    assert not [line for line in target.service.errors if token[:40] in line]
    assert [line for line in target.service.errors if "/live/..." in line]


def test_key_of_links(target: Target, theirs: tuple[SpooledRun, str]) -> None:
    """make links with the key, found in the database or kept after it was changed"""
    run, path = theirs
    database = b"".join(file.read_bytes() for file in target.lake.folder.glob("catalog.db*"))
    file = target.lake.folder / "signing-key"
    assert file.read_bytes().strip() not in database
    assert file.stat().st_mode & 0o077 == 0
    with ExitStack() as places:
        coming = curves(follow(target, places, path))
        next(coming)
        rotate_key(target.database, SigningKey.of(target.lake))
        assert target.client.get(path).status_code == 404
        assert list(coming) == []
    again = urlsplit(target.victim.send("GET", f"/v1/contributions/{run.id}").json()["links"]["live"]).path
    assert target.client.get(again).status_code == 200
