from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from losslake_ingest.readers.side_files import MOST_FIELDS, SideFiles, fields_in
from losslake_ingest.sources.open import open_source
from tests.ingest.offers import unpacked


def test_keys_of_json_and_yaml_become_fields_with_dots_where_nested() -> None:
    expected = {"optim.lr": 0.1, "optim.name": "sgd", "seed": 3, "amp": True}
    assert (
        fields_in(b'{"optim": {"lr": 0.1, "name": "sgd"}, "seed": 3, "amp": true, "list": [1]}', "config.json")
        == expected
    )
    assert fields_in(b"optim:\n  lr: 0.1\n  name: sgd\nseed: 3\namp: true\nlist: [1]\n", "hparams.yaml") == expected


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"!!python/object/apply:os.system ['touch /tmp/owned']", "a.yaml"),
        (b"a: &a [1]\nb: {x: *unknown}", "a.yaml"),
        (b"\x00\xff", "a.yaml"),
        (b"[" * 100_000, "a.json"),
        (b"{" * 1_000, "a.yaml"),
        pytest.param(b"{" * 100_000, "a.yaml", marks=pytest.mark.slow),
        (b"", "a.json"),
        (b"[1, 2]", "a.json"),
    ],
)
def test_unsafe_side_files_are_refused_or_give_no_fields(data: bytes, name: str) -> None:
    with suppress(ValueError):
        assert fields_in(data, name) == {}


def test_an_alias_bomb_stays_small() -> None:
    lines = ["a0: &a0 {x: 1, y: 2, z: 3}"]
    lines += [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}, z: *a{n - 1}}}" for n in range(1, 14)]
    assert len(fields_in("\n".join(lines).encode(), "bomb.yaml")) <= MOST_FIELDS


def test_nearest_side_file_above_a_run_wins(tmp_path: Path) -> None:
    files = {
        "config.json": b'{"lr": 1, "model": "cnn"}',
        "a/config.json": b'{"lr": 2}',
        "a/b/log.csv": b"",
        "c/config.json": b'{"lr": 3}',
    }
    side = SideFiles.read(open_source(unpacked(tmp_path, files)), ["config.json"])
    assert side.beside("a/b/log.csv") == {"lr": 2, "model": "cnn"}
    assert side.beside("a/b/log.csv#run") == {"lr": 2, "model": "cnn"}
    assert side.beside("d.csv") == {"lr": 1, "model": "cnn"}


def test_too_large_side_file_gives_no_fields(tmp_path: Path) -> None:
    files = {"config.json": b'{"a": 1}' + b" " * (1 << 20)}
    assert SideFiles.read(open_source(unpacked(tmp_path, files)), ["config.json"]).beside("x") == {}
