"""`losslake ingest --url` is not led to private addresses, nor to download without end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from losslake.client.client import Client, RemoteError, parse_url
from tests.cli.conftest import Run
from tests.cli.web import Fault, Web, running
from tests.servers.processes import SECONDS

LOG = b'{"step": 1, "loss": 0.5}\n'


@pytest.fixture
def web() -> Iterator[Web]:
    with running() as web:
        web.served["/run.jsonl"] = LOG
        yield web


@pytest.fixture
def private() -> Iterator[Web]:
    with running() as private:
        private.served["/run.jsonl"] = LOG
        yield private


def ingest(losslake: Run, url: str, lake: Path, *more: object) -> Any:
    return losslake("ingest", "--url", url, "--dry-run", "--lake", lake, *more)


def redirect(web: Web, target: str) -> str:
    web.faults["/moved.jsonl"] = Fault(times=9, status=302, headers={"Location": target})
    return f"{web.url}/moved.jsonl"


def test_redirect_to_a_private_address_is_refused_before_anything_is_sent(
    losslake: Run, web: Web, private: Web, tmp_path: Path
) -> None:
    done = ingest(losslake, redirect(web, f"{private.url}/run.jsonl"), tmp_path / "lake")
    address = private.url.removeprefix("http://")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"losslake: the URL leads to {address}, not a public address: give --allow-private if you trust it"
    )
    assert not private.requests
    assert not (tmp_path / "lake").exists()


def test_name_that_leads_to_a_private_address_is_refused(
    losslake: Run, web: Web, private: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo

    def lie(host: str, *more: Any, **named: Any) -> Any:
        return resolve("127.0.0.1" if host == "public.example" else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", lie)
    target = f"http://public.example:{urlsplit(private.url).port}/run.jsonl"
    assert "not a public address" in ingest(losslake, redirect(web, target), tmp_path / "lake").stderr
    assert not private.requests


def test_redirects_are_followed_with_the_flag_and_to_the_given_address(
    losslake: Run, web: Web, private: Web, tmp_path: Path
) -> None:
    assert ingest(losslake, redirect(web, "/run.jsonl"), tmp_path / "lake").returncode == 0
    url = redirect(web, f"{private.url}/run.jsonl")
    done = ingest(losslake, url, tmp_path / "lake", "--allow-private")
    assert done.returncode == 0, done.stderr
    assert private.requests


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:127.0.0.1", "fd00::1"]
)
def test_addresses_that_arent_public_are_refused(address: str) -> None:
    class Stream:
        def __init__(self, host: str) -> None:
            self.host = host

        def get_extra_info(self, _: str) -> tuple[str, int]:
            return self.host, 443

        def close(self) -> None:
            pass

    with Client(to_private=False) as client:
        client._check_address(Stream("192.168.0.1"))
        client._check_address(Stream("192.168.0.1"))
        client._check_address(Stream("8.8.8.8"))
        client._check_address(Stream("2606:4700::1111"))
        with pytest.raises(RemoteError, match="not a public address"):
            client._check_address(Stream(address))


def test_download_larger_than_the_limit_is_refused(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.served["/run.jsonl"] = LOG * 100
    done = ingest(losslake, f"{web.url}/run.jsonl", tmp_path / "lake", "--max-gb", "0.000001")
    assert done.returncode == 1
    assert "has 2,500 bytes or more, and the limit --max-gb is 1e-06: give a larger one" in done.stderr
    assert ingest(losslake, f"{web.url}/run.jsonl", tmp_path / "lake", "--max-gb", "0.00001").returncode == 0


def test_download_of_unknown_size_ends_at_the_limit(losslake: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
                try:
                    while True:
                        connection.sendall(LOG * 1000)
                except OSError:
                    return

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/run.jsonl"
        done = ingest(losslake, url, tmp_path / "lake", "--max-gb", "0.0005")
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert done.returncode == 1
    assert "the limit --max-gb is 0.0005" in done.stderr


def test_url_of_a_loopback_address_that_the_user_gave_is_fine(web: Web) -> None:
    with Client(to_private=False) as client:
        for _ in range(2):
            with client.stream("GET", parse_url(f"{web.url}/run.jsonl"), {"Connection": "close"}) as response:
                assert response.read() == LOG
