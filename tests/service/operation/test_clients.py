"""What counts as one client."""

from __future__ import annotations

import pytest

from losslake_service.operation.clients import client_key


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::ffff:127.8.0.1", "127.8.0.1"),
        ("testclient", "testclient"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_a_client_is_an_address_or_a_network_of_ipv6(host: str, expected: str) -> None:
    assert client_key(host) == expected
