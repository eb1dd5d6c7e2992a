"""Segments that are sent: checked before the first byte, in pieces, from a folder and from a bucket."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_contributions.intake.segment_files import open_segment, pieces_of, store_segment
from losslake_contributions.protocol.contributions import Segment
from losslake_schema.errors import LakeBroken
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.s3 import S3

PATH = "0001/000001.jsonl"
MOST_AT_ONCE = 1 << 16


@pytest.fixture
def large() -> SpooledRun:
    return SpooledRun(segments={PATH: rows(range(20_000))})


def where(run: SpooledRun) -> str:
    return f"/v1/contributions/{run.id}/segments/1/1"


def test_segment_is_sent_with_its_length_and_without_compression(ada: Sender, large: SpooledRun) -> None:
    ada.create(large)
    ada.put(large)
    response = ada.send("GET", where(large), headers={"Accept-Encoding": "zstd, gzip"})
    assert response.content == large.data(PATH)
    assert response.headers["content-length"] == str(len(response.content))
    assert "content-encoding" not in response.headers
    assert response.headers["cache-control"] == "no-store, no-transform"


@pytest.mark.parametrize("data", [b"altered", None])
def test_segment_whose_file_was_altered_is_not_sent(
    service: Service, ada: Sender, large: SpooledRun, data: bytes | None
) -> None:
    ada.create(large)
    ada.put(large)
    (file,) = service.lake.store.list_files("contributions")
    place = service.lake.folder / file.path
    # With the end of another segment, a file is unpacked whole, but its digest isn't that of what was acknowledged.
    other = SpooledRun(segments={PATH: rows(range(20_000), 0.5)})
    if data is None:
        ada.create(other)
        ada.put(other)
        (another,) = (each for each in service.lake.store.list_files("contributions") if each.path != file.path)
        data = (service.lake.folder / another.path).read_bytes()
    place.write_bytes(data)
    response = ada.send("GET", where(large))
    assert response.status_code >= 500
    assert "val/loss" not in response.text


def test_pieces_of_a_large_segment_are_small(service: Service) -> None:
    data = b"\n".join(os.urandom(50).hex().encode() for _ in range(50_000))
    segment = Segment.model_construct(attempt=1, n=1, from_step=None, bytes=len(data), sha256="0" * 64)
    path = store_segment(service.lake, "run", segment, data)
    file, n_bytes = open_segment(service.lake, path, hashlib.sha256(data).hexdigest())
    with file:
        pieces = [*pieces_of(file, path)]
    assert n_bytes == len(data)
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= MOST_AT_ONCE
    with pytest.raises(LakeBroken, match="was altered: restore it"):
        open_segment(service.lake, path, "0" * 64)


def test_segment_in_a_bucket_is_sent_and_leaves_no_copy(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: SpooledRun
) -> None:
    s3.let_in(monkeypatch, tmp_path / "cache")
    lake = Lake.create(f"sqlite:///{tmp_path / 'catalog.db'} {s3.new_warehouse()}")
    with serving(lake) as service:
        ada = service.sender("Ada", ADA)
        ada.create(large)
        ada.put(large)
        before = sorted(lake.folder.rglob("*"))
        assert ada.send("GET", where(large)).content == large.data(PATH)
        (file,) = lake.store.list_files("contributions")
        # A kill while it is sent leaves nothing either: the copy has no name.
        opened, _ = open_segment(lake, file.path, hashlib.sha256(large.data(PATH)).hexdigest())
        with opened:
            assert sorted(lake.folder.rglob("*")) == before
            assert b"".join(pieces_of(opened, file.path)) == large.data(PATH)
        lake.store.delete([file.path])
        assert ada.send("GET", where(large)).status_code >= 500
