"""Conditional requests as RFC 9110 has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_service.entity_tags import (
    Coding,
    Version,
    not_modified,
    precondition_failed,
    tag_of_304,
    with_suffix,
    without_suffix,
)

MOMENT = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
VERSION = Version('"abc"', MOMENT)
BEFORE, SAME, AFTER = (format_datetime(MOMENT + timedelta(seconds=s), usegmt=True) for s in (-1, 0, 1))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"if-none-match": '"abc"'}, True),
        ({"if-none-match": 'W/"abc"'}, True),
        ({"if-none-match": '"x", "abc"'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": '"x"'}, False),
        ({"if-none-match": "abc"}, False),
        ({"if-none-match": '"x"', "if-modified-since": AFTER}, False),
        ({"if-modified-since": SAME}, True),
        ({"if-modified-since": AFTER}, True),
        ({"if-modified-since": BEFORE}, False),
        ({"if-modified-since": "yesterday"}, False),
    ],
)
def test_matching_validators_return_not_modified(headers: dict[str, str], expected: bool) -> None:
    assert not_modified(headers, VERSION) is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"if-match": '"abc"'}, False),
        ({"if-match": "*"}, False),
        ({"if-match": 'W/"abc"'}, True),
        ({"if-match": '"x"'}, True),
        ({"if-match": '"abc"', "if-unmodified-since": BEFORE}, False),
        ({"if-unmodified-since": SAME}, False),
        ({"if-unmodified-since": BEFORE}, True),
    ],
)
def test_failed_if_match_returns_412(headers: dict[str, str], expected: bool) -> None:
    assert precondition_failed(headers, VERSION) is expected


@given(st.text(), st.text())
def test_any_conditional_header_is_parsed_without_error(known: str, since: str) -> None:
    headers = {"if-none-match": known, "if-match": known, "if-range": since, "if-modified-since": since}
    may_match = VERSION.etag in known or known.strip() == "*"
    assert may_match or not not_modified(headers, VERSION)
    assert may_match or precondition_failed(headers, VERSION)
    # A date is before the change or not; a text that is none is neither.
    is_after = not_modified({"if-modified-since": since}, VERSION)
    assert not (is_after and precondition_failed({"if-unmodified-since": since}, VERSION))


@pytest.mark.parametrize(
    ("asked", "coding", "expected"),
    [
        (b'"abc-gzip"', "gzip", b'"abc-gzip"'),
        (b'"abc-gzip"', "zstd", b'"abc-gzip"'),
        (b'"abc"', "gzip", b'"abc"'),
        (b'"x", "abc-gzip", "abc-zstd"', "zstd", b'"abc-zstd"'),
        (b'"abc-gzip"', None, b'"abc-gzip"'),
        (b"*", "zstd", b'"abc-zstd"'),
        (b"*", None, b'"abc"'),
    ],
)
def test_etag_of_a_304_is_one_of_the_clients(asked: bytes, coding: Coding | None, expected: bytes) -> None:
    assert tag_of_304(b'"abc"', asked, coding) == expected


def test_only_suffixes_of_codings_are_removed_from_tags() -> None:
    tags = b'"abc-gzip", W/"def-zstd", "ghi-br", "gzip", "-gzip"'
    assert without_suffix(tags) == b'"abc", W/"def", "ghi-br", "gzip", ""'
    assert with_suffix(b'W/"abc"', "gzip") == b'W/"abc"'
