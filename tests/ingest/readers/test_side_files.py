from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.readers.side_files import MOST_FIELDS, SideFiles, fields_in
from losslake_ingest.sources.open import open_source
from tests.ingest.offers import tar_bytes, unpacked, written


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
    side = SideFiles(open_source(unpacked(tmp_path, files)), ["config.json"])
    assert side.beside("a/b/log.csv") == {"lr": 2, "model": "cnn"}
    assert side.beside("a/b/log.csv#run") == {"lr": 2, "model": "cnn"}
    assert side.beside("d.csv") == {"lr": 1, "model": "cnn"}


BROKEN = b"batch_size: 64\nf: !!python/name:os.system ''\n"


@pytest.mark.parametrize("data", [BROKEN, b"a: 1" + b" " * (1 << 20), None])
def test_a_run_whose_nearest_side_file_cannot_be_read_is_refused(tmp_path: Path, data: bytes | None) -> None:
    folder = unpacked(tmp_path, {"hparams.yaml": b"batch_size: 32", "b/m.csv": b""})
    if data is None:
        (tmp_path / "b/hparams.yaml").symlink_to(tmp_path / "hparams.yaml")
    else:
        unpacked(tmp_path, {"b/hparams.yaml": data, "b/c/hparams.yaml": b"batch_size: 16"})
    side = SideFiles(open_source(folder), ["hparams.yaml"])
    assert [(each.rule, each.path) for each in side.unreadable] == [("unreadable_side_file", "b/hparams.yaml")]
    assert side.beside("a/m.csv") == {"batch_size": 32}
    with pytest.raises(Refusal, match=r"b/hparams\.yaml can't be read") as refused:
        side.beside("b/m.csv#run")
    assert refused.value.rule == "unreadable_side_file"
    if data is not None:
        assert side.beside("b/c/m.csv") == {"batch_size": 16}


def test_entries_that_are_skipped_anyway_are_no_side_files(tmp_path: Path) -> None:
    files = {"../config.json": b'{"lr": 1}', "../log.csv": b"", "a/config.json": b'{"lr": 2}'}
    side = SideFiles(open_source(written(tmp_path / "a.tar", tar_bytes(files))), ["config.json"])
    assert (list(side.unreadable), side.beside("a/log.csv")) == ([], {"lr": 2})


@pytest.mark.parametrize(
    ("data", "name", "key"),
    [
        (b"lr: 0.1\nlr: 0.2\n", "a.yaml", "'lr'"),
        (b"optim: {lr: 0.1, x: 1, lr: 0.1}\n", "a.yaml", "'lr'"),
        (b'{"lr": 0.1, "lr": 0.2}', "a.json", "'lr'"),
        (b'{"optim.lr": 0.1, "optim": {"lr": 0.2}}', "a.json", "'optim.lr'"),
        (b"optim.lr: 0.1\noptim: {lr: 0.2}\n", "a.yaml", "'optim.lr'"),
    ],
)
def test_a_side_file_with_two_values_of_a_key_is_refused(data: bytes, name: str, key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} is there twice"):
        fields_in(data, name)


def test_merged_yaml_may_override_a_key() -> None:
    data = b"base: &base {lr: 0.1, seed: 1}\nrun:\n  <<: *base\n  lr: 0.2\nother: *base\n"
    expected = {"base.lr": 0.1, "base.seed": 1, "run.lr": 0.2, "run.seed": 1, "other.lr": 0.1, "other.seed": 1}
    assert fields_in(data, "a.yaml") == expected


def test_of_two_side_files_in_a_folder_the_first_in_the_list_counts(tmp_path: Path) -> None:
    files = {"a/x.json": b'{"lr": 1, "b": 2}', "a/y.json": b'{"lr": 3, "c": 4}', "y.json": b'{"c": 5}'}
    source = open_source(unpacked(tmp_path, files))
    assert SideFiles(source, ["y.json", "x.json"]).beside("a/log.csv") == {"lr": 3, "b": 2, "c": 4}
    assert SideFiles(source, ["x.json", "y.json"]).beside("a/log.csv") == {"lr": 1, "b": 2, "c": 4}
