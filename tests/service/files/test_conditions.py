"""Conditional and range requests as RFC 9110 has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from losslake_service.files.conditions import Version, not_modified, precondition_failed, requested_range

MOMENT = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
VERSION = Version('"abc"', MOMENT)
BEFORE, SAME, AFTER = (format_datetime(MOMENT + timedelta(seconds=s), usegmt=True) for s in (-1, 0, 1))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("bytes=0-0", range(1)),
        ("bytes=0-", range(10)),
        ("bytes=3-5", range(3, 6)),
        ("bytes=3-500", range(3, 10)),
        ("BYTES=3-5", range(3, 6)),
        ("bytes=-4", range(6, 10)),
        ("bytes=-400", range(10)),
        ("bytes=9-9", range(9, 10)),
    ],
)
def test_a_range_is_cut_to_the_file(asked: str, expected: range) -> None:
    assert requested_range({"range": asked}, VERSION, 10) == expected


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999-"])
def test_a_range_without_a_byte_of_the_file_is_refused(asked: str) -> None:
    with pytest.raises(HTTPException) as caught:
        requested_range({"range": asked}, VERSION, 10)
    assert (caught.value.status_code, caught.value.headers) == (416, {"Content-Range": "bytes */10"})


@pytest.mark.parametrize(
    "asked",
    ["", "bytes=-", "bytes=5-3", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1", "bytes=\u0661-\u0662", "bytes=" + "1" * 99],
)
def test_what_is_no_single_range_of_bytes_is_answered_with_the_whole_file(asked: str) -> None:
    assert requested_range({"range": asked}, VERSION, 10) is None


@given(st.text(), st.integers(0, 1000))
def test_no_text_breaks_a_range(text: str, size: int) -> None:
    for asked in (text, f"bytes={text}"):
        try:
            found = requested_range({"range": asked}, VERSION, size)
        except HTTPException:
            continue
        assert found is None or (0 <= found.start < found.stop <= size)


@pytest.mark.parametrize(("if_range", "valid"), [('"abc"', True), ('"x"', False), ('W/"abc"', False), (SAME, True)])
def test_a_range_of_another_version_is_answered_with_the_whole_file(if_range: str, valid: bool) -> None:
    found = requested_range({"range": "bytes=0-1", "if-range": if_range}, VERSION, 10)
    assert found == (range(2) if valid else None)


@pytest.mark.parametrize("if_range", [BEFORE, AFTER, "never"])
def test_if_range_wants_the_exact_moment(if_range: str) -> None:
    assert requested_range({"range": "bytes=0-1", "if-range": if_range}, VERSION, 10) is None


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
def test_what_the_requester_knows_is_not_sent_again(headers: dict[str, str], expected: bool) -> None:
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
def test_another_version_than_wanted_is_not_sent(headers: dict[str, str], expected: bool) -> None:
    assert precondition_failed(headers, VERSION) is expected


@given(st.text(), st.text())
def test_no_header_breaks_a_condition(known: str, since: str) -> None:
    headers = {"if-none-match": known, "if-match": known, "if-range": since, "if-modified-since": since}
    not_modified(headers, VERSION)
    not_modified({"if-modified-since": since}, VERSION)
    precondition_failed(headers, VERSION)
    precondition_failed({"if-unmodified-since": since}, VERSION)
