"""Data files that nginx sends are those that the service sends, with the same headers; so are errors of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product

import httpx
import pytest

from losslake.lake.lake import Lake
from tests.servers.nginx import nginx_server
from tests.servers.processes import ADDRESS, free_port
from tests.servers.s3 import S3
from tests.service.running import served
from tests.topology.nginx_configuration import rendered
from tests.topology.odd_store import Change, OddStore, failed, odd_store

pytestmark = pytest.mark.slow
# nginx keeps none of it, as the store never gives it in these tests.
NOT_CACHED = "/data/1/studies.parquet"
FILE = "/data/1/trials.parquet"
OTHER_SITE = "https://elsewhere.example"
# What differs from request to request.
NEW_EACH_TIME = ("date", "x-request-id", "ratelimit-remaining", "ratelimit-reset")
LENGTH_OF_NGINX_IDS = 32


CONDITIONS: tuple[dict[str, str], ...] = (
    {},
    {"Range": "bytes=10-99"},
    {"Range": "bytes=7-"},
    {"Range": "bytes=-8"},
    {"Range": "BYTES=0-0"},
    {"Range": "bytes=0-99999999999999999999"},
    {"Range": "bytes=9-2"},
    {"Range": "bytes=-"},
    {"Range": "bytes= 1-2"},
    {"Range": "bytes=0-1,4-5"},
    {"Range": "lines=1-2"},
    {"Range": "bytes=999999999-"},
    {"Range": "bytes=-0"},
    {"Range": "bytes=10-99", "If-Range": "{etag}"},
    {"Range": "bytes=10-99", "If-Range": "W/{etag}"},
    {"Range": "bytes=10-99", "If-Range": "{modified}"},
    {"Range": "bytes=10-99", "If-Range": '"other"'},
    {"Range": "bytes=10-99", "If-Range": "Thu, 01 Jan 1970 00:00:00 GMT"},
    {"If-None-Match": "{etag}"},
    {"If-None-Match": '"other"'},
    {"If-None-Match": '"other"', "If-Modified-Since": "{modified}"},
    {"If-Modified-Since": "{modified}"},
    {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
    {"If-Match": '"other"'},
    {"If-Match": "*", "Range": "bytes=3-4"},
    {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
    {"X-Store-Status": "500"},
)


@dataclass(frozen=True)
class Fronts:
    """Clients of the service behind nginx, which sends data files itself, and which leaves them to nginx."""

    by_service: httpx.Client
    by_nginx: httpx.Client
    store: OddStore


@pytest.fixture(scope="module", params=["any origin", "some origins", "none"])
def fronts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, remote_lake: Lake, s3: S3
) -> Iterator[Fronts]:
    origins = {"any origin": ["*"], "some origins": [OTHER_SITE], "none": []}[request.param]
    chosen = {"lake": str(remote_lake), "cors_origins": origins, "trusted_proxies": [ADDRESS], "rate_limit": 50.0}
    with ExitStack() as stack:
        store = stack.enter_context(odd_store(s3.port))
        clients = []
        for delivery in ("proxy", "nginx"):
            folder = tmp_path_factory.mktemp(delivery)
            service = stack.enter_context(served(folder, data_delivery=delivery, **chosen))
            port = free_port()
            nginx = stack.enter_context(nginx_server(rendered(folder, port, [service.port], store.port), port))
            clients.append(stack.enter_context(httpx.Client(base_url=nginx.url)))
        by_service, by_nginx = clients
        yield Fronts(by_service, by_nginx, store)


def headers_of(answer: httpx.Response) -> list[tuple[str, str]]:
    """Return all headers, also those given twice, but for values that differ from request to request."""
    pairs = [(name.decode().lower(), value.decode()) for name, value in answer.headers.raw]
    return sorted((name, "" if name in NEW_EACH_TIME else value) for name, value in pairs if name != "connection")


def test_nginx_answers_as_the_service(fronts: Fronts) -> None:
    head = fronts.by_service.head(FILE).headers
    for conditions, method, origin in product(CONDITIONS, ("GET", "HEAD"), ({}, {"Origin": OTHER_SITE})):
        asked = {
            name: value.format(etag=head["etag"], modified=head["last-modified"]) for name, value in conditions.items()
        }
        own, answer = (
            each.request(method, FILE, headers=asked | origin) for each in (fronts.by_service, fronts.by_nginx)
        )
        assert (asked, method, answer.status_code, headers_of(answer)) == (
            asked,
            method,
            own.status_code,
            headers_of(own),
        )
        assert answer.is_error or answer.content == own.content
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert len(answer.headers["x-request-id"]) == LENGTH_OF_NGINX_IDS


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=0-9"}, {"Origin": OTHER_SITE}], ids=str)
@pytest.mark.parametrize(
    "change", [failed(403), failed(404), failed(500), lambda _: None], ids=[403, 404, 500, "closed"]
)
def test_failed_store_gets_the_problem_document_of_the_service(
    fronts: Fronts, change: Change, headers: dict[str, str]
) -> None:
    fronts.store.becomes(change)
    answer = fronts.by_nginx.get(NOT_CACHED, headers=headers)
    assert fronts.store.n_requests
    fronts.store.becomes(None)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.headers.get_list("cache-control") == ["no-store"]
    own = fronts.by_service.get("/data/1/nothing.parquet", headers=headers)
    assert {*headers_of(answer)} ^ {*headers_of(own)} == {
        ("retry-after", "5"),
        ("content-length", answer.headers["content-length"]),
        ("content-length", own.headers["content-length"]),
    }
    document = answer.json()
    assert document["type"] == "urn:losslake:problem:lake-unavailable"
    assert document["request_id"] == answer.headers["x-request-id"]
    assert {*document} == {"type", "title", "status", "detail", "request_id"}
