"""Tokens of links: only the service makes them, and each is of one kind."""

from __future__ import annotations

import base64
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.people.signing_key import TOKEN_LENGTH, Kind, link_token, read_token

KEY = bytes(range(32))
LINK = UUID("0193f3a0-0000-4000-8000-000000000001")
KINDS: tuple[Kind, ...] = ("draft", "live")


@given(st.sampled_from(KINDS), st.uuids())
def test_token_names_its_link(kind: Kind, link: UUID) -> None:
    token = link_token(kind, KEY, link)
    assert len(token) == TOKEN_LENGTH
    assert read_token(kind, KEY, token) == link


@given(st.sampled_from(KINDS), st.integers(0, 41), st.integers(1, 255))
def test_changed_token_shows_nothing(kind: Kind, at: int, change: int) -> None:
    data = bytearray(base64.urlsafe_b64decode(link_token(kind, KEY, LINK)))
    data[at] ^= change
    assert read_token(kind, KEY, base64.urlsafe_b64encode(data).decode()) is None


@pytest.mark.parametrize("text", ["", "a" * TOKEN_LENGTH, "é" * TOKEN_LENGTH, "-" * 10_000, "../" * 18 + "aa"])
def test_text_that_is_no_token_shows_nothing(text: str) -> None:
    assert read_token("live", KEY, text) is None


@pytest.mark.parametrize(("kind", "other"), [("draft", "live"), ("live", "draft")])
def test_token_of_another_kind_shows_nothing(kind: Kind, other: Kind) -> None:
    assert read_token(other, KEY, link_token(kind, KEY, LINK)) is None


def test_token_of_another_key_shows_nothing() -> None:
    assert read_token("draft", bytes(32), link_token("draft", KEY, LINK)) is None
