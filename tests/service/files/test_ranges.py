"""Ranges as RFC 9110 has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from losslake_service.entity_tags import Version
from losslake_service.files.ranges import requested_range

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
def test_range_is_clipped_to_the_file(asked: str, expected: range) -> None:
    assert requested_range({"range": asked}, VERSION, 10) == expected


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999-"])
def test_range_outside_the_file_gets_416(asked: str) -> None:
    with pytest.raises(HTTPException) as caught:
        requested_range({"range": asked}, VERSION, 10)
    assert (caught.value.status_code, caught.value.headers) == (416, {"Content-Range": "bytes */10"})


@pytest.mark.parametrize(
    "asked",
    ["", "bytes=-", "bytes=5-3", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1", "bytes=\u0661-\u0662", "bytes=" + "1" * 99],
)
def test_invalid_or_multiple_ranges_get_the_whole_file(asked: str) -> None:
    assert requested_range({"range": asked}, VERSION, 10) is None


@given(st.text(), st.integers(0, 1000))
def test_any_range_header_is_parsed_without_error(text: str, size: int) -> None:
    for asked in (text, f"bytes={text}"):
        try:
            found = requested_range({"range": asked}, VERSION, size)
        except HTTPException:
            continue
        assert found is None or (0 <= found.start < found.stop <= size)


@pytest.mark.parametrize(("if_range", "valid"), [('"abc"', True), ('"x"', False), ('W/"abc"', False), (SAME, True)])
def test_if_range_of_another_version_gets_the_whole_file(if_range: str, valid: bool) -> None:
    found = requested_range({"range": "bytes=0-1", "if-range": if_range}, VERSION, 10)
    assert found == (range(2) if valid else None)


@pytest.mark.parametrize("if_range", [BEFORE, AFTER, "never"])
def test_if_range_needs_the_exact_date(if_range: str) -> None:
    assert requested_range({"range": "bytes=0-1", "if-range": if_range}, VERSION, 10) is None
