"""Webhooks lead only to the internet or to networks that the host allows; nothing else of this machine is reached."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from losslake.client.client import is_public, tls_context
from losslake_contributions.notifications import webhook as module
from losslake_contributions.notifications.webhook import DeliveryFailed, Reach, send_webhook, sign
from losslake_contributions.protocol.errors import ContributionError
from tests.contributions.notifications.conftest import HERE
from tests.contributions.notifications.receivers import Webhook, certificate, receiving

INTERNET = Reach.of(())


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "::127.0.0.1", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_of_machines_and_private_networks_are_not_public(host: str) -> None:
    assert not is_public(host)


@pytest.mark.parametrize("host", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are_public(host: str) -> None:
    assert is_public(host)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/x", "https://hooks.example:8443/x", "https://127.0.0.1/x", "https://[::1]/x",
        "https://169.254.169.254/latest", "https://user:secret@hooks.example/x", "ftp://hooks.example/x", "hooks", "",
        "https:///x", "https://hooks.example/a b", "https://hooks.example/a\r\nX: y", "https://ho\u00f6ks.example/",
        "file:///etc/passwd", "https://10.0.0.1/", "https://[::ffff:10.0.0.1]/",
    ],
)  # fmt: skip
def test_urls_that_lead_elsewhere_are_refused_when_they_are_set(url: str) -> None:
    with pytest.raises(ContributionError) as refusal:
        INTERNET.check(url)
    assert refusal.value.kind == "bad-document"
    assert "\n" not in str(refusal.value)


def test_plain_urls_of_the_internet_are_taken() -> None:
    assert INTERNET.check("https://hooks.example/services/T0/B0").host == "hooks.example"
    assert INTERNET.check("https://hooks.example:443/x").port is None
    assert Reach.of(HERE).check("http://chat.intranet:8065/hooks/x").port == 8065


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Have names resolved to these addresses, one answer after the other; return the names that were."""
    names: list[str] = []
    remaining = list(answers)

    async def getaddrinfo(_: object, host: str, port: int, **__: object) -> list[Any]:
        names.append(host)
        return [(2, 1, 6, "", (address, port)) for address in remaining.pop(0)]

    monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", getaddrinfo)
    return names


def send(reach: Reach, url: str) -> None:
    asyncio.run(send_webhook(reach, url, b"{}", "llw_secret", {"LossLake-Delivery": "1"}))


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["169.254.169.254"], ["fe80::1%lo"], []]
)
def test_names_that_lead_into_private_networks_are_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    resolving(monkeypatch, addresses)
    monkeypatch.setattr(module, "_post", None)  # a connection would raise TypeError
    with pytest.raises(DeliveryFailed, match="the URL leads to no address that this service sends to"):
        send(INTERNET, "https://hooks.example/x")


def test_a_name_is_resolved_once_and_the_certificate_is_that_of_the_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = certificate(tmp_path, "hooks.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    tls_context.cache_clear()
    try:
        with receiving(Webhook(), file) as webhook:
            names = resolving(monkeypatch, ["127.0.0.1"], ["127.0.0.1"])
            send(Reach.of(HERE), f"https://hooks.example:{webhook.port}/x")
            assert names == ["hooks.example"]
            assert webhook.requests[0].headers["host"] == f"hooks.example:{webhook.port}"
            with pytest.raises(DeliveryFailed, match="its certificate isn't valid"):
                send(Reach.of(HERE), f"https://other.example:{webhook.port}/x")
            assert len(webhook.requests) == 1
    finally:
        tls_context.cache_clear()


@pytest.mark.parametrize("number", ["127.1", "2130706433", "0x7f000001", "localhost"])
def test_odd_names_of_this_machine_are_not_connected_to(webhook: Webhook, number: str) -> None:
    for reach in (INTERNET, Reach.of(["10.0.0.0/8"])):
        with pytest.raises(DeliveryFailed):
            send(reach, f"https://{number}:{webhook.port}/x")
    with pytest.raises(DeliveryFailed):
        send(INTERNET, f"https://{number}/x")
    assert webhook.requests == []


def test_redirects_are_failures_and_not_followed(webhook: Webhook) -> None:
    webhook.statuses, webhook.headers = [307], {"Location": "/other"}
    with pytest.raises(DeliveryFailed, match="the answer has the HTTP status 307"):
        send(Reach.of(HERE), webhook.url)
    assert len(webhook.requests) == 1


def test_a_proxy_of_the_environment_is_not_used(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    send(Reach.of(HERE), webhook.url)
    assert [each.path for each in webhook.requests] == ["/hook/secret"]


def test_an_answer_that_drips_is_ended_by_the_limit(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.3)
    webhook.drips = threading.Event()
    try:
        with pytest.raises(DeliveryFailed, match=r"there was no answer within 0\.3 s"):
            send(Reach.of(HERE), webhook.url)
    finally:
        webhook.drips.set()


def test_the_signature_is_that_of_the_documentation() -> None:
    # computed with openssl dgst -sha256 -hmac llw_00
    code = "f78791badc30078c4a22453a003be06b44b60cae312fae012ab9b3eb69653a05"
    assert sign("llw_00", b'{"a":1}', 1790000000) == f"t=1790000000,v1={code}"
