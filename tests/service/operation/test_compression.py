"""Answers are coded as the client wants them, with entity tags that go with the code."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from losslake_service.entity_tags import CODINGS, Coding
from losslake_service.operation.compression import Compress, Encoder, compress, preferred_coding
from tests.service.operation.conftest import BODY, Make

ZSTD = bytes.fromhex("28b52ffd")


def decoded(coding: str | None, data: bytes) -> bytes:
    if coding == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return zlib.decompress(data, 31) if coding == "gzip" else data


def undone(content: bytes) -> bytes:
    """A body as the test client gives it, which decodes gzip by itself, and zstd not everywhere."""
    return decoded("zstd", content) if content.startswith(ZSTD) else content


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip", "gzip"),
        ("zstd", "zstd"),
        ("gzip, zstd", "zstd"),
        ("gzip;q=0.9, zstd;q=0.5", "gzip"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("*", "zstd"),
        ("*, zstd;q=0", "gzip"),
        ("gzip;q=0", None),
        ("gzip;q=0.0, *;q=0", None),
        ("br, deflate", None),
        ("identity", None),
        ("identity, gzip;q=0.5", None),
        ("identity;q=0.5, gzip", "gzip"),
        ("identity;q=0, gzip;q=0.1", "gzip"),
        ("gzip;q=nan", None),
        ("gzip;q=2", None),
        ("gzip;q=", None),
        ("gzip ; q = 0.5", "gzip"),
        ("", None),
        (",;,q=1", None),
    ],
)
def test_coding_with_the_highest_weight_is_used_and_zstd_on_ties(accepted: str, expected: str | None) -> None:
    assert preferred_coding(accepted.encode()) == expected


@given(st.binary(max_size=200))
def test_any_accept_encoding_is_parsed_without_error(header: bytes) -> None:
    assert preferred_coding(header) in (*CODINGS, None)


@given(st.lists(st.binary(max_size=3000), max_size=5), st.sampled_from(CODINGS))
def test_compressed_pieces_and_bodies_decode_to_the_input(pieces: list[bytes], coding: Coding) -> None:
    coder = Encoder(coding)
    coded = b"".join(coder.compress(compress, is_last=False) for compress in pieces) + coder.compress(b"", is_last=True)
    assert decoded(coding, coded) == b"".join(pieces)
    assert decoded(coding, compress(coding, b"".join(pieces))) == b"".join(pieces)


@pytest.mark.parametrize("coding", CODINGS)
def test_compressed_response_has_content_encoding_and_its_own_etag(operated: Make, coding: str) -> None:
    response = operated().client.get("/constant", headers={"Accept-Encoding": coding})
    assert response.headers["content-encoding"] == coding
    assert response.headers["etag"] == f'"abc-{coding}"'
    assert response.headers["vary"] == "Accept-Encoding"
    assert "accept-ranges" not in response.headers
    assert int(response.headers["content-length"]) < len(BODY) / 2
    assert undone(response.content) == BODY


def test_response_without_accept_encoding_is_uncompressed_with_vary(operated: Make) -> None:
    response = operated().client.get("/constant", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in response.headers
    assert (response.headers["etag"], response.headers["vary"]) == ('"abc"', "Accept-Encoding")
    assert response.headers["accept-ranges"] == "bytes"
    assert response.content == BODY


@pytest.mark.parametrize("coding", ["gzip", "zstd", "identity"])
def test_etag_of_a_compressed_response_matches_if_none_match(operated: Make, coding: str) -> None:
    client = operated().client
    tag = client.get("/constant", headers={"Accept-Encoding": coding}).headers["etag"]
    again = client.get("/constant", headers={"Accept-Encoding": coding, "If-None-Match": tag})
    assert (again.status_code, again.headers["etag"], again.content) == (304, tag, b"")
    assert again.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in again.headers


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("application/json", "zstd"),
        ("text/csv; charset=utf-8", "zstd"),
        ("application/vnd.apache.arrow.stream", "zstd"),
        ("image/svg+xml", "zstd"),
        ("application/vnd.vegalite.v6+json", "zstd"),
        ("application/vnd.apache.parquet", None),
        ("application/octet-stream", None),
        ("application/problem+json", None),
        ("image/png", None),
    ],
)
def test_only_compressible_types_are_compressed(operated: Make, media_type: str, expected: str | None) -> None:
    response = operated().client.get("/typed", params={"media_type": media_type}, headers={"Accept-Encoding": "zstd"})
    assert response.headers.get("content-encoding") == expected
    assert ("vary" in response.headers) == (expected is not None)
    assert undone(response.content) == b"a" * 5000


@pytest.mark.parametrize(("size", "is_coded"), [(99, False), (100, True)])
def test_short_responses_are_not_compressed(operated: Make, size: int, is_coded: bool) -> None:
    client = operated(compression_least_bytes=100).client
    response = client.get(f"/typed?media_type=text/plain&size={size}", headers={"Accept-Encoding": "gzip"})
    assert ("content-encoding" in response.headers) == is_coded


def test_head_and_range_responses_are_not_compressed(operated: Make) -> None:
    client = operated().client
    assert client.get("/constant", headers={"Accept-Encoding": "gzip"}).headers["content-encoding"] == "gzip"
    for response in (
        client.head("/constant", headers={"Accept-Encoding": "gzip"}),
        client.get("/constant", headers={"Accept-Encoding": "gzip", "Range": "bytes=0-9"}),
    ):
        assert "content-encoding" not in response.headers
        assert response.headers["etag"] == '"abc"'
        assert int(response.headers["content-length"]) == len(BODY)


def test_compression_can_be_switched_off(operated: Make) -> None:
    on, off = (
        operated(compression=is_on).client.get("/constant", headers={"Accept-Encoding": "gzip"})
        for is_on in (True, False)
    )
    assert (on.headers.get("content-encoding"), off.headers.get("content-encoding")) == ("gzip", None)
    assert on.content == off.content


@pytest.mark.parametrize("coding", CODINGS)
def test_compressed_stream_decodes_up_to_each_piece(coding: Coding) -> None:
    """Each piece leaves at once, and decodes to all that was sent until then."""
    sent: list[Message] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/csv")]})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"%d" % number * 20_000, "more_body": True})
            arrived = b"".join(message["body"] for message in sent[1:])
            coder = zstandard.ZstdDecompressor().decompressobj() if coding == "zstd" else zlib.decompressobj(31)
            assert coder.decompress(arrived) == b"".join(b"%d" % n * 20_000 for n in range(number + 1))
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "headers": [(b"accept-encoding", coding.encode())]}
    asyncio.run(Compress(app, 0)(scope, receive, send))
    assert decoded(coding, b"".join(message["body"] for message in sent[1:]))[-1:] == b"2"
    assert not sent[-1].get("more_body", False)


def test_messages_of_the_application_are_not_modified() -> None:
    """As a cache of answers does, which sends the same message again."""
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/csv")]}
    body = {"type": "http.response.body", "body": b"a" * 2000}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start)
        await send(body)

    async def send(message: Message) -> None:
        pass

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "headers": [(b"accept-encoding", b"gzip")]}
    for _ in range(2):
        asyncio.run(Compress(app, 0)(scope, receive, send))
    assert start["headers"] == [(b"content-type", b"text/csv")]
    assert body["body"] == b"a" * 2000
