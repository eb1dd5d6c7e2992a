"""A bundle that a stranger made is refused as a whole, with one line, in bounded memory."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.bundles import parquet_files
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.run import ingest
from tests.ingest.bundles.made_up import Change, bundle_of, changed, members, packed, with_column
from tests.ingest.offers import Files


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of(tmp_path_factory.mktemp("bundle"))


def refusal(bundle: Path, folder: Path) -> str:
    """Return the error of an ingest of a bundle, after a check that it stored nothing."""
    lake = Lake.create(folder / "lake")
    before = sorted(path for path in lake.folder.rglob("*.parquet"))
    with pytest.raises(SourceBroken) as caught:
        ingest(lake, [bundle])
    assert lake.newest_release() is None
    assert sorted(path for path in lake.folder.rglob("*.parquet")) == before
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    assert message.endswith("; nothing of it was stored")
    return message


def flipped(data: bytes) -> bytes:
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


def without(files: Files, name: str) -> Files:
    return {path: data for path, data in files.items() if path != name}


MEMBERS: dict[str, tuple[Callable[[Files], Files], str]] = {
    "an altered file": (
        lambda files: files | {"trials.parquet": flipped(files["trials.parquet"])},
        "trials.parquet of the bundle was altered (its sha256 differs)",
    ),
    "a missing file": (lambda files: without(files, "goals.parquet"), "the bundle lacks goals.parquet"),
    "a path that leaves it": (lambda files: files | {"../../x.parquet": b""}, "the path leaves the archive"),
    "an absolute path": (lambda files: files | {"/x.parquet": b""}, "the path is absolute"),
    "another file": (
        lambda files: files | {"extra.parquet": b""},
        "holds 'extra.parquet', which doesn't belong in a bundle",
    ),
    "many files": (
        lambda files: files | {f"{n}": b"" for n in range(10_000)},
        "holds '0', which doesn't belong in a bundle",
    ),
    "no JSON": (lambda files: files | {"bundle.json": b"{"}, "bundle.json can't be read"),
    "a newer layout": (
        lambda files: files | {"bundle.json": files["bundle.json"].replace(b'"bundle":1', b'"bundle":4')},
        "the bundle has layout 4, and this LossLake reads 1 to 3",
    ),
    "other files in the manifest": (
        lambda files: files | {"bundle.json": json.dumps({"bundle": 1, "files": {}}).encode()},
        "doesn't list exactly the files of a bundle",
    ),
}


@pytest.mark.parametrize("fault", MEMBERS)
def test_faulty_files_are_refused(bundle: Path, tmp_path: Path, fault: str) -> None:
    change, message = MEMBERS[fault]
    files = members(bundle)
    files["bundle.json"] = json.dumps(json.loads(files["bundle.json"]), separators=(",", ":")).encode()
    assert message in refusal(packed(tmp_path / "b.tar", change(files)), tmp_path)


def test_a_file_that_is_listed_twice_is_refused(bundle: Path, tmp_path: Path) -> None:
    packed(tmp_path / "b.tar", members(bundle))
    packed(tmp_path / "again.tar", {"goals.parquet": b""})
    end = b"\0" * 1024
    first, second = ((tmp_path / name).read_bytes() for name in ("b.tar", "again.tar"))
    (tmp_path / "b.tar").write_bytes(first.rstrip(b"\0") + b"\0" * (-len(first.rstrip(b"\0")) % 512) + second + end)
    assert "holds 'goals.parquet', twice" in refusal(tmp_path / "b.tar", tmp_path)


def test_a_bundle_that_is_cut_short_is_refused(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(bundle.read_bytes()[:9000])
    assert "the archive is cut short" in refusal(tmp_path / "b.tar", tmp_path)


def every(value: object) -> Callable[[list[object]], list[object]]:
    return lambda values: [value] * len(values)


def renamed(old: str, new: str) -> Callable[[list[object]], list[object]]:
    return lambda values: [new if value == old else value for value in values]


TABLES: dict[str, tuple[str, Change, str]] = {
    "another column": (
        "trials",
        lambda table: table.append_column("x", pa.array([1] * table.num_rows)),
        "other columns than trials",
    ),
    "another type": (
        "measurements",
        lambda table: table.set_column(8, "value", table["value"].cast(pa.string())),
        "a column value of type string",
    ),
    "no trials": ("trials", lambda table: table.slice(0, 0), "doesn't have the 2 trials that it states"),
    "a trial too many": ("trials", lambda table: pa.concat_tables([table, table.slice(0, 1)]), "doesn't list"),
    "few measurements": ("measurements", lambda table: table.slice(0, 3), "measurements that it states"),
    "measurements of nobody": (
        "measurements",
        lambda table: pa.concat_tables([table, table.slice(0, 1)]),
        "doesn't list",
    ),
    "a study twice": ("studies", lambda table: pa.concat_tables([table, table]), "is listed twice"),
    "a count below zero": ("studies", with_column("n_trials", every(-1)), "trials that it states"),
    "a huge count": ("studies", with_column("n_measurements", every(2**40)), "at most 4,194,304 are read"),
    "no count": ("studies", with_column("n_measurements", every(None)), "get or build the bundle again"),
    "a slash in a name": ("studies", with_column("dataset", every("a/b")), "the name 'a/b' contains a slash"),
    "dots for a name": ("studies", with_column("model", every("..")), "the name '..' is empty, '.' or '..'"),
    "a batch size of zero": ("studies", with_column("batch_size", every(0)), "isn't above 0"),
    "a control character": ("collections", with_column("title", every("\x1b[2J")), "isn't printable text"),
    "a status of its own": ("trials", with_column("status", every("DONE")), "has wrong facts"),
    "a digest that is none": ("trials", with_column("source_sha256", every("0")), "has wrong facts"),
    "trials of another study": ("trials", with_column("batch_size", every(8)), "has wrong facts"),
    "one number twice": ("trials", with_column("trial_id", every(1)), "aren't in order"),
    "another number of evaluations": ("trials", with_column("n_evaluations", every(9)), "has wrong facts"),
    "attributes that aren't JSON": ("trials", with_column("attributes", every([("a", "{")])), "build the bundle again"),
    "a step below zero": ("measurements", with_column("step", lambda steps: [-1, *steps[1:]]), "a step below 0"),
    "a step twice": ("measurements", with_column("step", every(0)), "two values of a metric at one step"),
    "no value": ("measurements", with_column("value", every(None)), "without metric, trial, step or value"),
    "a bad metric": ("measurements", with_column("metric", renamed("val/score", "loss")), "has no slash"),
    "an impossible value": (
        "measurements",
        with_column("metric", renamed("val/cross_entropy_error", "val/accuracy")),
        "lies between 0 and 1",
    ),
    "an unknown rule": ("quarantined", with_column("rule", every("nonsense")), "'nonsense' is not a valid Rule"),
    "a goal at infinity": ("goals", with_column("target", every(math.inf)), "invalid target or comparator: inf"),
    "a direction of its own": ("metrics", with_column("direction", every("up")), "build the bundle again"),
}


@pytest.mark.parametrize("fault", TABLES)
def test_faulty_tables_are_refused(bundle: Path, tmp_path: Path, fault: str) -> None:
    table, change, message = TABLES[fault]
    assert message in refusal(changed(bundle, tmp_path / "b.tar", {table: change}), tmp_path)


@pytest.mark.parametrize("table", ["trials", "measurements", "collections"])
def test_a_manifest_that_lies_about_rows_is_refused(bundle: Path, tmp_path: Path, table: str) -> None:
    lying = changed(bundle, tmp_path / "b.tar", {}, {table: 10**6})
    assert f"{table} of the bundle has" in refusal(lying, tmp_path)


def test_bombs_are_refused_before_they_are_unpacked(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def long_text(table: pa.Table) -> pa.Table:
        return with_column("source", every("x" * 2**20))(table)

    def many_rows(table: pa.Table) -> pa.Table:
        return table.take(pa.array([0]).take(pa.nulls(parquet_files.MOST_SMALL_ROWS + 1, pa.int64()).fill_null(0)))

    def texts(table: pa.Table) -> pa.Table:
        return with_column("source", every("x" * 2**14))(pa.concat_tables([table] * 400))

    monkeypatch.setattr(parquet_files, "LARGEST_TEXTS", 2**24)
    bombs = {
        "a text of 1,048,576 bytes": {"trials": long_text},
        "1,048,577 rows, or too many": {"quarantined": many_rows},
        "bytes of text": {"trials": texts},
    }
    for number, (message, changes) in enumerate(bombs.items()):
        bomb = changed(bundle, tmp_path / f"{number}.tar", changes)
        assert bomb.stat().st_size < 2**20
        tracemalloc.start()
        assert message in refusal(bomb, tmp_path / str(number))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 32 * 2**20, f"{peak / 2**20:.0f} MiB of Python objects"


def test_limits_leave_room_for_large_collections() -> None:
    assert parquet_files.MOST_SMALL_ROWS >= 1_000_000
    assert parquet_files.MOST_ROWS["measurements"] >= 200_000_000
