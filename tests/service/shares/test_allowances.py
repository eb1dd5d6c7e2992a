"""An allowance gives each client an amount that comes back; checked against a slow and obvious bucket."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_service.shares.allowances import MINUTE, Allowance
from tests.service.operation.conftest import Clock


@given(
    st.integers(1, 8),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 64), st.integers(1, 3)), max_size=60),
)
def test_allowance_equals_a_token_bucket(rate: int, amount: int, requests: list[tuple[int, int]]) -> None:
    clock = Clock()
    allowance = Allowance(amount, amount / rate, clock=clock)
    tokens = Fraction(amount)
    for wait, cost in requests:
        clock.now += wait / 64
        tokens = min(Fraction(amount), tokens + Fraction(wait * rate, 64))
        assert allowance.used("client") == pytest.approx(float(amount - tokens), abs=1e-6)
        balance = allowance.take("client", cost)
        assert balance.is_allowed == (tokens >= cost)
        if balance.is_allowed:
            tokens -= cost
            assert balance.remaining == pytest.approx(float(tokens), abs=1e-6)
        else:
            assert balance.retry == pytest.approx(float((cost - tokens) / rate), abs=1e-6)
        assert balance.full == pytest.approx(float((amount - tokens) / rate), abs=1e-6)


def test_each_client_has_an_amount_and_memory_is_bounded() -> None:
    allowance = Allowance(1, 1.0, max_clients=1000, clock=Clock())
    for number in range(100_000):
        assert allowance.take(f"client {number}").is_allowed
    assert len(allowance) == 1000
    assert not allowance.take("client 99999").is_allowed


def test_charged_costs_may_exceed_the_amount_and_come_back_within_the_time() -> None:
    clock = Clock()
    allowance = Allowance(30, MINUTE, clock=clock)
    for used, is_allowed in ((20, True), (40, False)):
        allowance.charge("a", 20)
        assert allowance.used("a") == pytest.approx(used)
        assert allowance.take("a", 0).is_allowed is is_allowed
    assert allowance.take("a", 0).retry == pytest.approx(20)
    assert allowance.take("b", 0).is_allowed
    clock.now += 20
    assert allowance.take("a", 0).is_allowed
    clock.now += 60
    assert allowance.used("a") == 0
