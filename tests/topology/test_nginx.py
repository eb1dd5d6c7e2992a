"""What nginx does with requests and answers, in front of a stand-in for the service that says what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import obstore
import pytest
from obstore.store import S3Store

from tests.servers.failing_proxy import FailingProxy, Failure, failing_proxy
from tests.servers.nginx import Nginx, check, nginx_server
from tests.servers.processes import ADDRESS, free_port
from tests.servers.s3 import S3
from tests.topology.nginx_configuration import rendered
from tests.topology.odd_store import OddStore, failed, odd_store

pytestmark = pytest.mark.slow
MEGABYTE = 1 << 20
# nginx ends the connection with a client for a 408 of the store: no answer, and no wrong one.
TAKEN_FOR_A_CLIENT = HTTPStatus.REQUEST_TIMEOUT
# A connection that isn't closed would be waited for: longer than nginx keeps it.
NEVER = 100
DATA = bytes(range(251)) * (3 * MEGABYTE // 251)


@dataclass
class Replica:
    """A stand-in: answers a status it is told, a file of the store by nginx, or what it was asked."""

    port: int
    status: int = 200
    paths: list[str] = field(default_factory=list)
    place: str = ""
    signed: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    replica: Replica

    def do_GET(self) -> None:
        self.replica.paths.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        store_status = self.headers.get("X-Store-Status")
        self.send_response(503 if store_status else self.replica.status)
        if self.path.startswith("/data/") and not store_status:
            self.send_header("X-Accel-Redirect", self.replica.place)
            self.send_header("X-Store-URL", self.replica.signed)
            self.send_header("ETag", '"of-the-service"')
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.send_header("X-File-Cache-Control", "public, immutable")
            self.send_header("Content-Type", "application/vnd.apache.parquet")
            text = b""
        else:
            text = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_HEAD = do_POST = do_GET  # noqa: N815

    def log_message(self, *message: object) -> None:
        """Say nothing."""


@contextmanager
def stand_in() -> Iterator[Replica]:
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer((ADDRESS, 0), handler) as server:
        replica = Replica(server.server_address[1])
        handler.replica = replica  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield replica
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Front:
    """nginx, what is behind it, a client of it, and one of the store; odd: in front of the store, behind `store`."""

    nginx: Nginx
    client: httpx.Client
    replicas: tuple[Replica, Replica]
    store: FailingProxy
    odd: OddStore
    bucket: S3Store


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Iterator[Front]:
    with ExitStack() as stack:
        replicas = stack.enter_context(stand_in()), stack.enter_context(stand_in())
        odd = stack.enter_context(odd_store(s3.port))
        store = stack.enter_context(failing_proxy(odd.port))
        port = free_port()
        ports = [replica.port for replica in replicas]
        configuration = rendered(tmp_path_factory.mktemp("front"), port, ports, store.port)
        nginx = stack.enter_context(nginx_server(configuration, port))
        client = stack.enter_context(httpx.Client(base_url=nginx.url))
        bucket = S3Store(
            s3.bucket,
            endpoint=s3.endpoint,
            access_key_id=s3.access_key,
            secret_access_key=s3.secret_key,
            region=s3.region,
            client_options={"allow_http": True},
        )
        bucket.put("nginx/a+b c.parquet", DATA)
        yield Front(nginx, client, replicas, store, odd, bucket)


@pytest.fixture
def front(running: Front, request: pytest.FixtureRequest) -> Front:
    """All is well, and nothing is cached of the file of this test."""
    for replica in running.replicas:
        replica.status, replica.paths = 200, []
        replica.place = f"/stored-data/wareh%6Fuse/{abs(hash(request.node.name))}.parquet"
        replica.signed = obstore.sign(running.bucket, "GET", "nginx/a+b c.parquet", timedelta(minutes=5))
    running.store.share, running.store.only, running.store.requests = 0.0, None, 0
    running.odd.becomes(None)
    return running


def test_nginx_accepts_the_configuration(tmp_path: Path) -> None:
    said = check(rendered(tmp_path, free_port(), [free_port(), free_port()], free_port()))
    assert said.returncode == 0, said.stderr
    assert "warn" not in said.stderr


def test_the_service_learns_who_asked_and_nobody_can_pretend(front: Front) -> None:
    pretended = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https", "X-Request-ID": "mine"}
    told = front.client.get("/v1/workloads", headers=pretended).json()
    assert told["x-forwarded-for"] == ADDRESS
    assert told["x-forwarded-proto"] == "http"
    assert len(told["x-request-id"]) == 32
    assert told["host"] == front.client.base_url.netloc.decode()


def test_metrics_are_not_for_everybody(front: Front) -> None:
    assert front.client.get("/metrics").status_code == 404
    assert [replica.paths for replica in front.replicas] == [[], []]


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/workloads"), ("POST", "/v1/sql"), ("POST", "/mcp")])
def test_a_reading_request_goes_to_the_other_replica_where_one_cannot_answer(
    front: Front, method: str, path: str, status: int
) -> None:
    front.replicas[0].status = status
    answers = [front.client.request(method, path, content=b"x" if method == "POST" else None) for _ in range(6)]
    assert {answer.status_code for answer in answers} == {200}
    assert front.replicas[0].paths
    assert len(front.replicas[1].paths) == 6


def test_what_both_replicas_refuse_is_said_as_they_say_it_and_the_next_request_is_tried_again(front: Front) -> None:
    for replica in front.replicas:
        replica.status = 503
    refused = front.client.get("/v1/workloads")
    assert refused.status_code == 503
    assert refused.json()["x-forwarded-for"] == ADDRESS
    for replica in front.replicas:
        replica.status = 200
    assert front.client.get("/v1/workloads").status_code == 200


def test_a_data_file_comes_from_the_store_under_the_names_of_the_service(front: Front) -> None:
    answer = front.client.get("/data/1/data.parquet")
    assert answer.status_code == 200
    assert answer.content == DATA
    assert answer.headers["etag"] == '"of-the-service"'
    assert answer.headers["last-modified"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert answer.headers["cache-control"] == "public, immutable"
    assert answer.headers["accept-ranges"] == "bytes"
    assert not {"x-store-url", "x-accel-redirect", "x-amz-request-id"} & set(answer.headers)


def test_ranges_fetch_the_file_once(front: Front) -> None:
    for start in (MEGABYTE + 5, MEGABYTE + 500):
        wanted = {"Range": f"bytes={start}-{start + 9}"}
        answer = front.client.get("/data/1/data.parquet", headers=wanted)
        assert (answer.status_code, answer.content) == (206, DATA[start : start + 10])
        assert answer.headers["content-range"] == f"bytes {start}-{start + 9}/{len(DATA)}"
    assert front.store.requests == 1


def test_a_length_can_be_asked_for_and_a_range_only_of_the_file_that_is_meant(front: Front) -> None:
    head = front.client.head("/data/1/data.parquet")
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(DATA)))
    for tag, status in [('"of-the-service"', 206), ('"another"', 200)]:
        answer = front.client.get("/data/1/data.parquet", headers={"Range": "bytes=0-9", "If-Range": tag})
        assert answer.status_code == status


@pytest.mark.parametrize("failure", [Failure.INTERNAL_ERROR, Failure.SLOW_DOWN, Failure.DROPPED, Failure.UNANSWERED])
def test_a_store_that_fails_once_is_asked_again(front: Front, failure: Failure) -> None:
    front.store.failures = (failure,)
    front.store.share = 1.0
    front.store.only = lambda *_: front.store.requests % 2 == 1
    answer = front.client.get("/data/1/data.parquet", headers={"Range": "bytes=0-9"})
    assert (answer.status_code, answer.content) == (206, DATA[:10])
    assert front.store.failed[failure] >= 1


def test_every_error_of_the_store_is_answered_by_the_service(front: Front) -> None:
    for status in HTTPStatus:
        if status < HTTPStatus.MULTIPLE_CHOICES or status == TAKEN_FOR_A_CLIENT:
            continue
        front.odd.becomes(failed(status))
        for headers in ({}, {"Range": "bytes=0-9"}):
            answer = front.client.get("/data/1/data.parquet", headers=headers)
            assert (answer.status_code, answer.json()["x-store-status"]) == (503, str(status.value))
            assert not {"cache-control", "location", "etag", "content-range", "last-modified"} & {*answer.headers}
    front.odd.becomes(None)
    assert front.client.get("/data/1/data.parquet").content == DATA


def test_silent_and_absent_stores_are_answered_by_the_service(front: Front, tmp_path: Path) -> None:
    with socket.create_server((ADDRESS, 0)) as silent, silenced(front, tmp_path, silent.getsockname()[1]) as client:
        told = client.get("/data/1/data.parquet")
        assert (told.status_code, told.json()["x-store-status"]) == (503, "504")
    with silenced(front, tmp_path / "absent", free_port()) as client:
        told = client.get("/data/1/data.parquet")
        assert (told.status_code, told.json()["x-store-status"]) == (503, "502")
        assert client.get("/healthz").status_code == 200


@contextmanager
def silenced(front: Front, folder: Path, store: int) -> Iterator[httpx.Client]:
    """Provide a client of another nginx, which waits a second for a store on a port."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    configuration = rendered(folder, port, [replica.port for replica in front.replicas], store)
    text = configuration.read_text()
    assert "proxy_read_timeout 20s;" in text
    configuration.write_text(text.replace("proxy_read_timeout 20s;", "proxy_read_timeout 1s;"))
    with nginx_server(configuration, port) as nginx, httpx.Client(base_url=nginx.url) as client:
        yield client


@pytest.mark.parametrize("part", [range(len(DATA)), range(2 * MEGABYTE + 5, len(DATA))], ids=["file", "part"])
@pytest.mark.parametrize("n_sent", [0, MEGABYTE + 7, 2 * MEGABYTE + 99, len(DATA) - 1])
def test_failure_in_the_middle_of_a_file_breaks_the_connection(front: Front, n_sent: int, part: range) -> None:
    front.odd.becomes(lambda answer: replace(answer, n_sent=n_sent))
    headers = {"Range": f"bytes={part.start}-"} if part.start else {}
    got = bytearray()
    with front.client.stream("GET", "/data/1/data.parquet", headers=headers, timeout=NEVER) as answer:
        assert int(answer.headers["content-length"]) == len(part)
        with pytest.raises(httpx.RemoteProtocolError):
            got.extend(piece for block in answer.iter_raw() for piece in block)
    assert DATA[part.start :].startswith(got)
    front.odd.becomes(None)
    assert front.client.get("/data/1/data.parquet").content == DATA


def test_nobody_reaches_the_store_but_by_the_service(front: Front) -> None:
    assert front.client.get("/stored-data/warehouse/data.parquet").status_code == 404
    assert front.store.requests == 0


def test_who_asks_without_end_is_told_to_wait(front: Front, tmp_path: Path) -> None:
    port = free_port()
    configuration = rendered(tmp_path, port, [replica.port for replica in front.replicas], front.store.port)
    text = configuration.read_text()
    configuration.write_text(text.replace("rate=50r/s", "rate=1r/m").replace("burst=500", "burst=5"))
    with nginx_server(configuration, port) as nginx:
        statuses = [httpx.get(f"{nginx.url}/healthz").status_code for _ in range(8)]
    assert statuses == [200] * 6 + [429] * 2


def test_a_head_that_goes_on_and_on_is_refused_before_its_end(front: Front) -> None:
    url = front.client.base_url
    with socket.create_connection((url.host, url.port or 80), 30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Endless: " + b"a" * 45_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert [replica.paths for replica in front.replicas] == [[], []]


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: a\r\n"])
def test_a_head_that_does_not_arrive_is_given_up(front: Front, tmp_path: Path, sent: bytes) -> None:
    port = free_port()
    configuration = rendered(tmp_path, port, [replica.port for replica in front.replicas], front.store.port)
    text = configuration.read_text()
    assert "client_header_timeout 20s;" in text
    configuration.write_text(text.replace("client_header_timeout 20s;", "client_header_timeout 1s;"))
    with nginx_server(configuration, port), socket.create_connection((ADDRESS, port), 30) as connection:
        connection.sendall(sent)
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
