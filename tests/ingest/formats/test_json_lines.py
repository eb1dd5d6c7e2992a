"""JSON lines become runs bit for bit; lines that are no objects, and nesting of any depth, harm no other."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.csv_and_jsonl import JSON_LINES
from losslake_ingest.formats.format import GLIMPSE, Glimpse
from losslake_ingest.mapping.mapping import Files, LogMapping, RunTemplates, parse_mapping
from losslake_ingest.readers.plain_text import LONGEST_LINE
from losslake_ingest.readers.tables.cells import EMPTY_WORDS
from losslake_ingest.readers.tables.json_table import read_json_lines
from losslake_ingest.readers.tables.runs import RowRules, runs_of
from losslake_ingest.readers.tables.table import Table, TableFile
from losslake_schema.registry import metrics
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.formats.table_reading import columns, same

BY_RUN = LogMapping(run=RunTemplates(column="run"))
CUT_SHORT = "the last line is cut short: left out"
NO_OBJECT = "a line that isn't a JSON object: skipped"


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def one_run(folder: Path, data: bytes) -> RunLog:
    (run,) = runs(JSON_LINES, folder, {"log.jsonl": data})
    return run


def quarantined(folder: Path, data: bytes, mapping: LogMapping | None = None) -> Quarantined:
    (item,) = read(JSON_LINES, folder, {"log.jsonl": data}, mapping)
    assert isinstance(item, Quarantined)
    return item


def test_the_log_of_detr(tmp_path: Path) -> None:
    # As main.py of facebookresearch/detr writes log.txt: json.dumps(log_stats) + "\n".
    stats = [
        {
            **{
                f"train_{name}": value
                for name, value in {"lr": 1e-4, "class_error": 99.5, "loss": 31.25 / epoch}.items()
            },
            **{f"test_{name}": value for name, value in {"class_error": 98.25, "coco_eval_bbox": [0.1, 0.2]}.items()},
            "epoch": epoch,
            "n_parameters": 41302368,
        }
        for epoch in (1, 2)
    ]
    (run,) = runs(JSON_LINES, tmp_path, {"detr/log.txt": lines(*stats)})
    assert run.run == "detr/log.txt"
    assert columns(run)["train_loss"] == [31.25, 15.625]
    assert columns(run)["epoch"] == [1, 2]
    assert run.fields["n_parameters"] == 41302368
    assert run.remarks == {"a column of lists left out: 'test_coco_eval_bbox'": 1}


def test_nested_objects_are_flattened_with_dots(tmp_path: Path) -> None:
    run = one_run(tmp_path, lines({"step": 1, "val": {"loss": 2, "top": {"1": 0.5}}}, {"step": 2, "val": {"loss": 1}}))
    assert columns(run) == {"step": [1, 2], "val.loss": [2, 1], "val.top.1": [0.5, None]}


def test_rows_of_different_keys_share_their_columns(tmp_path: Path) -> None:
    run = one_run(tmp_path, lines({"step": 1, "a": 1}, {"step": 2, "b": None}, {"b": 3, "step": 3}, {}, {"a": 4}))
    assert columns(run) == {
        "step": [1, 2, 3, None, None],
        "a": [1, None, None, None, 4],
        "b": [None, None, 3, None, None],
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", math.nan),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ('"NaN"', math.nan),
        ('"-Infinity"', -math.inf),
        ("1e400", math.inf),
        ("5e-324", 5e-324),
        ("-0.0", -0.0),
        ("0.1000000000000000055511151231257827", 0.1),
        ("12345678901234567.0", 12345678901234568.0),
        ("1" + "0" * 400, math.inf),
        ("null", None),
    ],
)
def test_a_value_is_the_float64_that_its_text_says(tmp_path: Path, text: str, value: float | None) -> None:
    run = one_run(tmp_path, f'{{"step": 1, "loss": {text}}}\n{{"step": 2, "loss": 7}}\n'.encode())
    assert same(columns(run)["loss"][0], value)


def test_an_integer_that_float64_does_not_hold_is_counted(tmp_path: Path) -> None:
    run = one_run(tmp_path, lines({"n": 2**53}, {"n": 2**53 + 1}, {"n": 2**63 + 1}, {"n": 2**60}))
    assert columns(run)["n"] == [2.0**53, 2.0**53, 2.0**63, 2.0**60]
    assert run.remarks == {"an integer beyond 2^53 is rounded to float64": 2}


def test_constant_text_numbers_and_booleans_become_fields(tmp_path: Path) -> None:
    row = {"opt": "adam", "lr": 0.5, "amp": True, "batch": 128}
    run = one_run(tmp_path, lines({"step": 1} | row, {"step": 2} | row, {"step": 3, "seed": 7, "note": ""}))
    assert run.fields == row | {"seed": 7}
    assert run.fields["amp"] is True
    assert set(columns(run)) == {"step", "lr", "batch", "seed"}


def test_changing_words_are_fields_of_their_rows_and_other_odd_columns_remarked(tmp_path: Path) -> None:
    run = one_run(tmp_path, lines({"s": 1, "t": "a", "b": True, "l": [1]}, {"s": 2, "t": "b", "b": False}, {"s": "x"}))
    assert [(dict(rows.fields), cells(rows, "s")) for rows in run.rows] == [
        ({"t": "a", "b": True}, [1]),
        ({"t": "b", "b": False}, [2]),
        ({}, [None]),
    ]
    assert run.remarks == {"a column of lists left out: 'l'": 1, "text in a column of numbers left out: 's'": 1}


def test_lines_that_are_not_objects_are_skipped_and_counted(tmp_path: Path) -> None:
    text = b'100%|###|\n{"a": 1}\nTraceback (most recent call last):\n\n{"a": 2}\r\n[1]\n{"a": 3}\n   \n{"a": 4}\n'
    run = one_run(tmp_path, text)
    assert columns(run) == {"a": [1, 2, 3, 4]}
    assert run.remarks == {NO_OBJECT: 3}


def test_file_with_fewer_than_half_objects_is_refused(tmp_path: Path) -> None:
    assert quarantined(tmp_path, b'{"a": 1}\nx\ny\n').rule == "unreadable_log"
    assert len(runs(JSON_LINES, tmp_path, {"log.jsonl": b'{"a": 1}\nx\n'})) == 1


def test_a_last_line_that_is_cut_short_is_left_out(tmp_path: Path) -> None:
    text = lines({"a": 1}, {"a": 2}, {"a": {"b": "c"}})
    for cut in range(len(text) - 16, len(text) - 1):
        run = one_run(tmp_path, text[:cut])
        assert columns(run) == {"a": [1, 2]}
        assert run.remarks == ({CUT_SHORT: 1} if text[cut - 1 : cut] != b"\n" else {}), cut
    assert one_run(tmp_path, text[:-1]).fields == {"a.b": "c"}


def test_run_column_separates_the_runs_of_a_file(tmp_path: Path) -> None:
    rows = [{"run": {"id": run}, "step": step} for run, step in ((7, 1), ("x", 1), (7.5, 1), (True, 1), ("7", 2))]
    found = runs(JSON_LINES, tmp_path, {"log.jsonl": lines(*rows)}, LogMapping(run=RunTemplates(column="run.id")))
    assert [run.run for run in found] == ["log.jsonl#7", "log.jsonl#x", "log.jsonl#7.5", "log.jsonl#true"]
    assert [run.fields["run.id"] for run in found] == [7, "x", 7.5, "true"]
    assert columns(found[0]) == {"step": [1, 2]}


def test_run_column_of_integers_beyond_float64_is_exact(tmp_path: Path) -> None:
    rows = [{"run": 2**60 + at, "step": at} for at in range(3)]
    assert len(runs(JSON_LINES, tmp_path, {"log.jsonl": lines(*rows)}, BY_RUN)) == 3


def test_rows_without_a_run_are_quarantined_and_the_rest_is_stored(tmp_path: Path) -> None:
    rows = [{"step": 0}, {"run": "a", "step": 1}, {"run": None, "step": 2}, {"run": [1], "step": 3}]
    refused, run = read(JSON_LINES, tmp_path, {"log.jsonl": lines(*rows)}, BY_RUN)
    assert isinstance(refused, Quarantined)
    assert refused.message.startswith("3 rows have no 'run'")
    assert isinstance(run, RunLog)
    assert columns(run) == {"step": [1]}


def test_without_its_run_column_nothing_of_a_file_is_stored(tmp_path: Path) -> None:
    assert quarantined(tmp_path, lines({"step": 1}), BY_RUN).rule == "missing_fact"


@pytest.mark.parametrize(
    ("data", "rule", "line"),
    [
        (b"", "empty_file", 1),
        (b" \n\n", "empty_file", 1),
        (b"\0" * 9 + b'{"a": 1}\n', "unreadable_log", 1),
        (b'{"a": "b"}\n', "no_measurements", None),
        (b"{}\n", "no_measurements", None),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "no_measurements", None),
        (b'{"a": 1}\n{"a": [' + b"1," * LONGEST_LINE + b"1]}\n", "unreadable_log", 2),
        (lines({f"c{at}": at for at in range(10_003)}), "unreadable_log", None),
        (lines(*({f"c{at}": at} for at in range(10_003))), "unreadable_log", None),
        (lines(*({f"c{at % 10_000}": at} for at in range(20_000))), "file_too_large", None),
    ],
)
def test_unusable_file_is_quarantined(tmp_path: Path, data: bytes, rule: str, line: int | None) -> None:
    item = quarantined(tmp_path, data)
    assert (item.rule, item.line, item.path) == (rule, line, "log.jsonl")
    assert "\n" not in str(item)


@pytest.mark.parametrize("depth", [15, 16, 17, 900, 5000])
def test_deep_nesting_does_not_affect_other_lines(tmp_path: Path, depth: int) -> None:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    run = one_run(tmp_path, b'{"s": 1}\n' + deep + b'\n{"s": 2}\n')
    assert [value for value in columns(run)["s"] if value] == [1, 2]
    assert (".".join("a" * depth) in columns(run)) == (depth <= 16)
    assert bool(run.remarks) == (depth > 16)


def test_stray_bytes_and_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    run = one_run(tmp_path, b'\xef\xbb\xbf{"s": 1, "t": "na\xefve", "u\\ud800": "\\ud800"}\n')
    assert run.fields == {"s": 1, "t": "na\N{REPLACEMENT CHARACTER}ve", "u?": "?"}


@pytest.mark.slow
def test_many_blocks_are_read_like_one(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random(150_000)
    rows = ({"step": at, "loss": value} | ({} if at % 2 else {"odd": at}) for at, value in enumerate(values.tolist()))
    (found,) = one_run(tmp_path, lines(*rows)).rows
    assert found.columns["loss"].tobytes() == values.tobytes()
    assert found.columns["odd"][~found.missing["odd"]].tolist() == list(range(0, 150_000, 2))


@pytest.mark.parametrize("path", ["a.jsonl", "a.NDJSON", "a.json", "log.txt", "train.log"])
def test_files_that_are_read(tmp_path: Path, path: str) -> None:
    assert [run.run for run in runs(JSON_LINES, tmp_path, {path: lines({"a": 1}, {"a": 2})})] == [path]


def test_settings_text_and_side_files_are_skipped(tmp_path: Path) -> None:
    files = {
        "config.json": b'{"lr": 0.1}\n',
        "model.json": b'{"a": 1}',
        "state.json": json.dumps({"a": 1}, indent=2).encode(),
        "notes.txt": b"hello\n",
        "side.jsonl": lines({"a": 1}),
    }
    assert not read(JSON_LINES, tmp_path, files, LogMapping(files=Files(side=["side.jsonl"])))


@pytest.mark.parametrize(
    ("name", "start", "sure"),
    [
        ("log.jsonl", lines({"loss": 1}), 0.5),
        ("log.jsonl", b'10%\n{"event": "start"}\n{"a": {"loss": 1}}', 0.5),
        ("log.jsonl", b'{"config": "' + b"x" * GLIMPSE, 0.5),
        ("log.jsonl", lines({"text": "once upon a time"}), 0.0),
        ("log.jsonl", b"", 0.0),
        ("log.txt", lines({"train_loss": 1, "epoch": 0}), 0.3),
        ("log.txt", b"epoch 1\n", 0.0),
        ("log.json", lines({"loss": 1}, {"loss": 2}), 0.3),
        ("log.json", lines({"loss": 1}, {"loss": "x" * GLIMPSE}), 0.3),
        ("config.json", lines({"lr": 1}), 0.0),
        ("config.json", b'{\n  "lr": 1\n}\n', 0.0),
        ("log.csv", lines({"loss": 1}), 0.0),
    ],
)
def test_detection(name: str, start: bytes, sure: float) -> None:
    assert JSON_LINES.detect(Glimpse(f"some/{name}", start[:GLIMPSE])) == sure


def test_defaults_name_registered_metrics_only() -> None:
    defaults = tomllib.loads(JSON_LINES.defaults)
    assert {name for name in defaults["metrics"].values() if name} <= set(metrics())
    assert [axis["column"] for axis in defaults["axis"]] == ["step", "global_step", "iteration", "iter", "epoch"]


number = st.one_of(st.floats(), st.integers(-(2**70), 2**70))
scalar = st.one_of(number, number, st.none(), st.booleans(), st.text(max_size=3), st.just("NaN"))
value = st.recursive(scalar, lambda inner: st.dictionaries(st.text("abc", max_size=2), inner, max_size=3), max_leaves=4)
row = st.dictionaries(st.text("abcd", min_size=1, max_size=2), value, max_size=4)
words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def oracle(text: bytes) -> tuple[dict[str, list[float | None]], dict[str, object]]:
    """The columns and the fields, value by value; no key is written twice."""
    flat = [dict(leaves(json.loads(line))) for line in text.splitlines()]
    names = dict.fromkeys(name for found in flat for name in found if name)
    found_columns: dict[str, list[float | None]] = {}
    fields: dict[str, object] = {}
    for name in names:
        own = [found.get(name) for found in flat]
        values = [words.get(cell, cell) if isinstance(cell, str) else cell for cell in own]
        if any(type(cell) in (int, float) for cell in values):
            found_columns[name] = [float(cell) if type(cell) in (int, float) else None for cell in values]  # type: ignore[arg-type]
            texts = [cell for cell in values if isinstance(cell, bool | str) and cell not in EMPTY_WORDS]
            present = set() if texts else {cell for cell in found_columns[name] if cell is not None}
        else:
            present = {cell for cell in own if cell is not None and cell not in EMPTY_WORDS}
        if len(present) == 1 and not any(isinstance(cell, float) and not math.isfinite(cell) for cell in present):
            (fields[name],) = present
    return found_columns, fields


def leaves(found: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    result = []
    for key, inner in found.items():
        if isinstance(inner, dict):
            result += leaves(inner, f"{prefix}{key}." if prefix + key else "")
        elif prefix + key:
            result.append((prefix + key, inner))
    return result


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(row, min_size=1, max_size=6))
def test_every_file_equals_a_plain_loop_over_its_values(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    text = lines(*rows)
    expected, fields = oracle(text)
    (found,) = read(JSON_LINES, tmp_path_factory.mktemp("lines"), {"log.jsonl": text})
    if not expected:
        assert isinstance(found, Quarantined)
        return
    assert isinstance(found, RunLog)
    assert columns(found).keys() == expected.keys()
    # Rows with the same words lie together, so the order of all rows is free. repr tells floats apart bit for bit.
    by_row = zip(*columns(found).values(), strict=True)
    assert sorted(map(repr, by_row)) == sorted(
        map(repr, zip(*(expected[name] for name in columns(found)), strict=True))
    )
    assert found.fields == fields


noise = st.lists(
    st.one_of(
        st.binary(max_size=4),
        row.map(json.dumps).map(str.encode),
        st.sampled_from([b"\n", b"\r\n", b"{", b"}", b'{"a":', b"[", b'"', b"NaN", b"1e999", b'{"b":1}\n']),
    ),
    max_size=20,
).map(b"".join)


def read_or_fault(data: bytes, run_column: str | None) -> Table | Refusal:
    try:
        return read_json_lines(data, run_column)
    except Refusal as fault:
        return fault


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(noise, st.sampled_from([None, "a", "b"]))
def test_any_bytes_end_in_a_table_or_a_named_fault(data: bytes, run_column: str | None) -> None:
    table = read_or_fault(data, run_column)
    if isinstance(table, Refusal):
        assert "\n" not in table.message
        return
    assert all(len(column.values) == table.n_rows for column in table.numbers.values())
    assert all(len(column.codes) == table.n_rows for column in table.words.values())


def run_all(folder: Path, data: bytes, run_column: str | None) -> None:
    for item in read(JSON_LINES, folder, {"log.jsonl": data}, LogMapping(run=RunTemplates(column=run_column))):
        assert isinstance(item, (RunLog, Quarantined))


@given(st.integers(0, 70), st.binary(min_size=1, max_size=3))
def test_spoiled_bytes_never_raise(tmp_path_factory: pytest.TempPathFactory, at: int, spoil: bytes) -> None:
    text = lines({"step": 1, "a": {"b": 2.25}, "run": "x"}, {"step": 2, "a": {"b": math.nan}, "run": "y"}, {"step": 3})
    for run_column in (None, "run"):
        run_all(tmp_path_factory.mktemp("spoiled"), text[:at] + spoil + text[at + len(spoil) :], run_column)


@pytest.mark.fuzz
@settings(max_examples=30_000, suppress_health_check=list(HealthCheck))
@given(noise, st.sampled_from([None, "a", "b"]))
def test_many_bytes_end_in_runs_or_named_faults(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, run_column: str | None
) -> None:
    run_all(tmp_path_factory.getbasetemp(), data, run_column)


def test_columns_within_the_run_column_separate_its_runs(tmp_path: Path) -> None:
    cells = [("a", 1, 5), ("b", 1, 5), ("a", 2, 5), ("7", 1, 5), ("a", 1, 6), ("a", None, 7)]
    rows = [{"run": run, "seed": seed, "step": step} for run, seed, step in cells]
    mapping = parse_mapping(b'[run]\ncolumn = "run"\nwithin = ["seed"]\n', "mapping")
    refused, *found = read(JSON_LINES, tmp_path, {"log.jsonl": lines(*rows)}, mapping)
    assert isinstance(refused, Quarantined)
    assert refused.message.startswith("1 rows have no 'run' or 'seed'")
    logs = [run for run in found if isinstance(run, RunLog)]
    assert [run.run for run in logs] == [f"log.jsonl#{name}" for name in ("a,1", "b,1", "a,2", "7,1")]
    assert [(run.fields["run"], run.fields["seed"]) for run in logs] == [("a", 1), ("b", 1), ("a", 2), (7, 1)]
    assert columns(logs[0])["step"] == [5, 6]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(["x", "y"])), min_size=1))
def test_runs_within_a_run_column_are_the_combinations_of_values(cells: list[tuple[str, int, str]]) -> None:
    rows = [{"run": run, "seed": seed, "kind": kind, "at": at} for at, (run, seed, kind) in enumerate(cells)]
    file = TableFile("source", "log.jsonl", "")
    found = runs_of(read_json_lines(lines(*rows), "run"), file, "run", RowRules(within=("seed", "kind")))
    plain: dict[str, list[int]] = {}
    for at, (run, seed, kind) in enumerate(cells):
        plain.setdefault(f"log.jsonl#{run},{seed},{kind}", []).append(at)
    assert {run.run: columns(run)["at"] for run in found if isinstance(run, RunLog)} == plain


@pytest.mark.parametrize(
    ("within", "message"),
    [("x", "no column 'x', the mapping's run column"), ("loss", "not all of its numbers are whole")],
)
def test_a_column_within_that_cannot_separate_runs_is_named(tmp_path: Path, within: str, message: str) -> None:
    rows = [{"run": "a", "step": 1, "loss": 0.5}, {"run": "a", "step": 2, "loss": 0.25}]
    mapping = LogMapping(run=RunTemplates(column="run", within=[within]))
    (refused,) = read(JSON_LINES, tmp_path, {"log.jsonl": lines(*rows)}, mapping)
    assert isinstance(refused, Quarantined)
    assert message in refused.message
