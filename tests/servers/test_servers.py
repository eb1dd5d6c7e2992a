"""That the servers which tests start are what they say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import obstore
import psycopg
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.repository.checkout import ROOT
from tests.servers.failing_proxy import FailingProxy, Failure, failing_proxy
from tests.servers.nginx import check, nginx_server
from tests.servers.postgresql import PostgreSQL
from tests.servers.processes import SECONDS, free_port
from tests.servers.s3 import S3


def client(s3: S3, endpoint: str | None = None, secret_key: str | None = None, retries: int = 10) -> S3Store:
    return S3Store(
        s3.bucket,
        endpoint=endpoint or s3.endpoint,
        access_key_id=s3.access_key,
        secret_access_key=secret_key or s3.secret_key,
        region=s3.region,
        client_options={"allow_http": True},
        retry_config={"max_retries": retries, "backoff": {"init_backoff": timedelta(milliseconds=1)}},
    )


@pytest.fixture
def proxy(s3: S3) -> Iterator[FailingProxy]:
    with failing_proxy(s3.port) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("end", [PostgreSQL.stop, PostgreSQL.kill], ids=["stop", "kill"])
def test_postgresql_keeps_what_was_committed_however_it_ended(
    postgresql: PostgreSQL, end: Callable[[PostgreSQL], None]
) -> None:
    database = postgresql.new_database().rpartition("/")[2]
    with postgresql.connect(database) as before:
        before.execute("create table trial (id int)")
        before.execute("insert into trial values (7)")
        before.commit()
        end(postgresql)
        with pytest.raises(psycopg.OperationalError):
            before.execute("select 1")
    postgresql.start()
    with postgresql.connect(database) as after:
        assert after.execute("select id from trial").fetchall() == [(7,)]


def test_the_store_gives_back_ranges_and_lists_of_what_was_put(s3: S3) -> None:
    store = client(s3)
    data = bytes(range(256)) * 40_000
    prefix = s3.new_warehouse().rpartition("/")[2]
    store.put(f"{prefix}/a file.parquet", data)
    assert bytes(store.get(f"{prefix}/a file.parquet").bytes()) == data
    assert (
        bytes(store.get_range(f"{prefix}/a file.parquet", start=9_999_999, end=10_000_002))
        == data[9_999_999:10_000_002]
    )
    assert [found["size"] for found in store.list(prefix).collect()] == [len(data)]
    store.delete([f"{prefix}/a file.parquet"])
    assert store.list(prefix).collect() == []


def test_the_store_refuses_wrong_keys_and_urls_that_nobody_signed_or_whose_time_is_over(s3: S3) -> None:
    store = client(s3)
    store.put("signed", b"text")
    with pytest.raises(BaseError, match="403"):
        client(s3, secret_key="guessed", retries=0).put("signed", b"text")
    url = obstore.sign(store, "GET", "signed", timedelta(minutes=5))
    assert httpx.get(url).text == "text"
    assert httpx.get(url.replace("signed?", "another?")).status_code == 403
    assert httpx.get(url.partition("?")[0]).status_code == 403
    assert httpx.get(obstore.sign(store, "GET", "signed", timedelta(seconds=0))).status_code == 403


@pytest.mark.parametrize("failure", Failure)
def test_a_request_fails_in_the_way_that_was_chosen(s3: S3, proxy: FailingProxy, failure: Failure) -> None:
    client(s3).put("large", bytes(1_000_000))
    careless = client(s3, proxy.url, retries=0)
    assert len(bytes(careless.get("large").bytes())) == 1_000_000
    proxy.share, proxy.failures = 1.0, (failure,)
    with pytest.raises(BaseError, match="Generic S3 error"):
        bytes(careless.get("large").bytes())
    assert proxy.failed[failure] == proxy.requests - 1 >= 1


def test_what_failed_after_it_was_done_is_done(s3: S3, proxy: FailingProxy) -> None:
    proxy.share = 1.0
    for failure, is_done in [(Failure.UNANSWERED, True), (Failure.DROPPED, False)]:
        proxy.failures = (failure,)
        with pytest.raises(BaseError, match="error sending request"):
            client(s3, proxy.url, retries=0).put(f"{failure.name}/text", b"text")
        assert len(client(s3).list(failure.name).collect()) == is_done


def test_a_share_of_requests_fails_and_a_client_that_tries_again_notices_nothing(s3: S3, proxy: FailingProxy) -> None:
    proxy.share = 0.2
    patient = client(s3, proxy.url)
    for number in range(50):
        patient.put(f"share/{number}", bytes(100))
    assert len(patient.list("share").collect()) == 50
    assert 3 <= proxy.failed.total() <= 30


def test_only_the_requests_that_are_meant_fail(s3: S3, proxy: FailingProxy) -> None:
    proxy.share, proxy.only = 1.0, lambda method, _: method == "GET"
    careless = client(s3, proxy.url, retries=0)
    careless.put("meant", b"text")
    with pytest.raises(BaseError, match="Generic S3 error"):
        careless.get("meant").bytes()


def test_nginx_serves_what_its_configuration_says_and_complains_of_a_wrong_one(tmp_path: Path) -> None:
    port = free_port()
    configuration = tmp_path / "nginx.conf"
    server = f'server {{ listen 127.0.0.1:{port}; location / {{ return 200 "loss"; }} }}'
    configuration.write_text(f"pid nginx.pid; events {{}} http {{ access_log off; {server} }}")
    assert check(configuration).returncode == 0
    with nginx_server(configuration, port) as nginx:
        assert httpx.get(nginx.url).text == "loss"
    configuration.write_text("events {} http { no_such_directive on; }")
    refused = check(configuration)
    assert refused.returncode != 0
    assert "no_such_directive" in refused.stderr


def test_a_free_port_is_given_to_nobody_else() -> None:
    mine, others = free_port(), [free_port() for _ in range(20)]
    assert mine not in others
    ask = f"from tests.servers.processes import free_port; free_port([{mine}])"
    refused = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    assert "every port is taken" in refused.stderr
    # Whoever asks the system for any port gets another, also while no server listens on this one.
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not low <= mine <= high
