"""Links to drafts: only the service makes them, and they expire."""

from __future__ import annotations

import base64
import time
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.review.draft_links import TOKEN_LENGTH, draft_token, submission_of

KEY = bytes(range(32))
SUBMISSION = UUID("0193f3a0-0000-7000-8000-000000000001")


@given(st.uuids())
def test_token_names_its_submission(submission: UUID) -> None:
    token = draft_token(KEY, submission)
    assert len(token) == TOKEN_LENGTH
    assert submission_of(KEY, token) == submission


@given(st.integers(0, 41), st.integers(1, 255))
def test_changed_token_shows_nothing(at: int, change: int) -> None:
    data = bytearray(base64.urlsafe_b64decode(draft_token(KEY, SUBMISSION)))
    data[at] ^= change
    assert submission_of(KEY, base64.urlsafe_b64encode(data).decode()) is None


@pytest.mark.parametrize("text", ["", "a" * TOKEN_LENGTH, "é" * TOKEN_LENGTH, "-" * 10_000, "../" * 18 + "aa"])
def test_text_that_is_no_token_shows_nothing(text: str) -> None:
    assert submission_of(KEY, text) is None


def test_token_of_another_key_shows_nothing() -> None:
    assert submission_of(bytes(32), draft_token(KEY, SUBMISSION)) is None


def test_expired_token_shows_nothing() -> None:
    now = int(time.time())
    assert submission_of(KEY, draft_token(KEY, SUBMISSION, now)) is None
    assert submission_of(KEY, draft_token(KEY, SUBMISSION, now + 3600)) == SUBMISSION
