"""Files of runs, each a JSON object with a list for each metric: lines, lines in gzip, and the entries of a list."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.json_arrays import FORMAT
from losslake_ingest.mapping.mapping import LogMapping, parse_mapping
from tests.ingest.formats.reading import cells, read, runs

MAPPING = parse_mapping(b'[run]\ncolumn = "name"\n', "test")
ONE = {"name": "a/1", "lr": 0.1, "conf": {"batch size": 8}, "steps": [1, 2], "loss": [2.5, None], "why": "x"}
TWO = {"name": "b", "lr": 0.2, "conf": {"batch size": 8}, "steps": [1, 2, 3], "loss": [2.0, math.nan, 1.0]}


def packed(documents: list[Any]) -> dict[str, bytes]:
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in documents)
    return {"runs.jsonl": lines, "runs.jsonl.gz": gzip.compress(lines), "runs.json": json.dumps(documents).encode()}


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz", "runs.json"])
def test_each_entry_is_a_run_by_its_name(tmp_path: Path, name: str) -> None:
    one, two = runs(FORMAT, tmp_path, {name: packed([ONE, TWO])[name]}, MAPPING)
    assert (one.run, two.run) == (f"{name}#a/1", f"{name}#b")
    assert one.fields == {"name": "a/1", "lr": 0.1, "conf.batch size": 8, "why": "x"}
    assert cells(one.rows[0], "loss") == [2.5, None]
    assert cells(two.rows[0], "steps") == [1, 2, 3]
    assert math.isnan(cells(two.rows[0], "loss")[1] or 0)


def test_without_a_column_for_runs_lines_are_left_to_other_formats(tmp_path: Path) -> None:
    files = {name: data for name, data in packed([ONE, TWO]).items() if name != "runs.json"}
    assert read(FORMAT, tmp_path, files, LogMapping()) == []


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz", "runs.json"])
def test_a_faulty_entry_is_quarantined_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    documents = [ONE, {"steps": [1], "loss": [2]}, ONE, 7, {"name": "c", "loss": []}, TWO]
    items = read(FORMAT, tmp_path, {name: packed(documents)[name]}, MAPPING)
    assert [item.run for item in items if isinstance(item, RunLog)] == [f"{name}#a/1", f"{name}#b"]
    assert [item.rule for item in items if isinstance(item, Quarantined)] == [
        "missing_fact", "duplicate_file", "missing_fact", "no_measurements",
    ]  # fmt: skip


def test_a_cut_file_gives_the_runs_before_the_cut(tmp_path: Path) -> None:
    documents = [{**ONE, "name": f"r{n}", "loss": [n, n / 7]} for n in range(400)]
    for name, data in packed(documents).items():
        items = read(FORMAT, tmp_path / name, {name: data[: len(data) // 2]}, MAPPING)
        read_runs = [item.run.partition("#")[2] for item in items if isinstance(item, RunLog)]
        assert 0 < len(read_runs) < 400
        assert read_runs == [f"r{n}" for n in range(len(read_runs))]
        assert isinstance(items[-1], Quarantined)


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    (item,) = read(FORMAT, tmp_path, {"bomb.jsonl.gz": gzip.compress(b'{"name":"' + b"x" * (1 << 23))}, MAPPING)
    assert isinstance(item, Quarantined)
    assert item.rule == "file_too_large"


NUMBER = st.one_of(st.none(), st.floats(width=32), st.integers(-5, 5))
DOCUMENT = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=4)},
    optional={"loss": st.lists(NUMBER, max_size=4), "steps": st.lists(st.integers(0, 9), max_size=4), "x": st.text()},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(DOCUMENT, min_size=1, max_size=5))
def test_a_list_and_lines_give_the_same_runs(tmp_path_factory: pytest.TempPathFactory, documents: list[Any]) -> None:
    documents = [TWO, *documents]
    found = [
        [
            (item.run.partition("#")[2], repr(item.rows)) if isinstance(item, RunLog) else str(item.rule)
            for item in read(FORMAT, tmp_path_factory.mktemp("x"), {name: data}, MAPPING)
            if isinstance(item, RunLog | Quarantined)
        ]
        for name, data in packed(documents).items()
    ]
    assert found[0] == found[1] == found[2]
