from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import Damage, LoggedRows
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.wandb import FORMAT
from losslake_ingest.readers.wandb_files.history import BAD_LINE, MEDIA, HistoryTable, read_json_lines
from tests.ingest.formats.reading import cells, read, runs


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(table: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(table), buffer)
    return buffer.getvalue()


def as_rows(found: list[LoggedRows]) -> list[dict[str, float]]:
    """The rows that say anything, by column."""
    out = []
    for rows in found:
        columns = {name: cells(rows, name) for name in rows.columns}
        for at in range(len(next(iter(columns.values())))):
            row = {name: values[at] for name, values in sorted(columns.items())}
            out.append({name: value for name, value in row.items() if value is not None})
    return [row for row in out if row]


def test_a_history_is_one_run_with_its_own_column_names(tmp_path: Path) -> None:
    file = lines({"_step": 0, "_runtime": 1.5, "train/loss": 2}, {"_step": 5, "_runtime": 3.5, "val/loss": 1e-5})
    (run,) = runs(FORMAT, tmp_path, {"r/wandb-history.jsonl": file})
    assert run.run == "r/wandb-history.jsonl"
    (rows,) = run.rows
    assert cells(rows, "_step") == [0, 5]
    assert cells(rows, "_runtime") == [1.5, 3.5]
    assert cells(rows, "train/loss") == [2, None]
    assert cells(rows, "val/loss") == [None, 1e-5]


def test_only_numbers_are_columns_and_the_rest_is_counted(tmp_path: Path) -> None:
    histogram = {"_type": "histogram", "values": [1], "bins": [0, 1], "size": 3}
    row = {"_step": 0, "a": {"b": {"c": 1.5}}, "yes": True, "text": "x", "list": [1], "h": histogram, "n": None}
    (run,) = runs(FORMAT, tmp_path, {"history.jsonl": lines(row, row | {"_wandb": {"runtime": 3}})})
    assert list(run.rows[0].columns) == ["_step", "a.b.c"]
    assert run.remarks == {
        MEDIA: 2,
        "a boolean among the logged values: left out": 2,
        "a text among the logged values: left out": 2,
        "a list among the logged values: left out": 2,
    }


@pytest.mark.parametrize("spelling", ["NaN", '"NaN"'])
def test_nan_is_a_value_in_every_spelling(tmp_path: Path, spelling: str) -> None:
    file = b'{"_step": 0, "loss": 1}\n{"_step": 1, "loss": %b}\n{"_step": 2, "loss": null}\n' % spelling.encode()
    (run,) = runs(FORMAT, tmp_path, {"history.jsonl": file})
    one, nan, hole = cells(run.rows[0], "loss")
    assert (one, hole) == (1, None)
    assert nan is not None
    assert math.isnan(nan)


def test_parquet_with_two_columns_of_one_name_is_quarantined(tmp_path: Path) -> None:
    data = parquet({"_step": [0, 1], "loss": [0.5, 0.25], "lass": [1.0, 2.0]}).replace(b"lass", b"loss")
    (item,) = read(FORMAT, tmp_path, {"history.parquet": data})
    assert isinstance(item, Quarantined)
    assert item.rule == "bad_header"


def test_a_text_among_the_numbers_of_a_column_is_damage(tmp_path: Path) -> None:
    data = lines({"_step": 0, "loss": 0.5, "note": "a"}, {"_step": 1, "loss": "oops", "note": "b"})
    (run,) = runs(FORMAT, tmp_path, {"h.jsonl": data})
    assert {remark: isinstance(remark, Damage) for remark in run.remarks} == {
        "a text among the numbers: left out": True,
        "a text among the logged values: left out": False,
    }


def test_a_line_that_is_no_object_is_left_out_and_counted(tmp_path: Path) -> None:
    file = b'{"_step": 0, "loss": 1}\nnonsense\n[]\n\n{"_step": 1, "loss": 2}\n{"_step": 2, "lo'
    (run,) = runs(FORMAT, tmp_path, {"history.jsonl": file})
    assert cells(run.rows[0], "loss") == [1, 2]
    assert run.remarks == {BAD_LINE: 3}


def test_config_beside_a_history_gives_fields_and_parameters(tmp_path: Path) -> None:
    config = b"""
wandb_version: 1
_wandb:
  value: {python_version: 3.11.7, cli_version: 0.31.0, host: node7}
lr: {desc: null, value: 1e-05}
model: {value: {name: wav2vec2, layers: 12, bias: true}}
betas: {value: [0.9, 0.999]}
none: {value: null}
quoted: {value: '12'}
email: {value: jane@example.org}
"""
    files = {"r/history.jsonl": lines({"_step": 0, "loss": 1}), "r/config.yaml": config}
    (run,) = runs(FORMAT, tmp_path, files)
    expected = {
        "lr": 1e-05,
        "model.name": "wav2vec2",
        "model.layers": 12,
        "model.bias": True,
        "betas": "[0.9,0.999]",
        "quoted": "12",
    }
    assert run.parameters == expected
    assert run.fields == expected
    assert sorted(run.files) == ["r/config.yaml", "r/history.jsonl"]
    assert run.private == ["W&B internals", "e-mail"]


def test_config_beside_two_histories_belongs_to_neither(tmp_path: Path) -> None:
    history = lines({"_step": 0, "loss": 1})
    files = {"a.jsonl": history, "b.jsonl": history, "config.yaml": b"lr: {value: 1}"}
    a, b = runs(FORMAT, tmp_path, files)
    assert a.fields == b.fields == {}
    assert a.remarks == {"config.yaml is beside more than one history: left out": 1}


@pytest.mark.parametrize(
    "config",
    [
        b"a: &a [1]\nb: {value: *a}",
        b"[" * 5000,
        b"a: {value: " + b"[" * 5000,
        b"\tx: - :",
        b"? [1]\n: 2",
        b"\xff\xfe\x00",
        b"#" * 2**18 + b"#",
    ],
    ids=["alias", "deep", "deep value", "no yaml", "key is a list", "no text", "too large"],
)
def test_a_bad_config_is_quarantined_and_its_run_is_read_without_it(tmp_path: Path, config: bytes) -> None:
    refused, run = read(FORMAT, tmp_path, {"history.jsonl": lines({"_step": 0, "loss": 1}), "config.yaml": config})
    assert isinstance(refused, Quarantined)
    assert (refused.rule, refused.path) == ("unreadable_log", "config.yaml")
    assert not isinstance(run, Quarantined)


def test_wandb_metadata_and_summaries_are_never_opened(tmp_path: Path) -> None:
    files = {
        "history.jsonl": lines({"_step": 0, "loss": 1}),
        "wandb-metadata.json": b'{"email": "jane@example.org"}',
        "wandb-events.jsonl": b'{"_step": 0, "system.cpu": 1}\n',
    }
    (run,) = runs(FORMAT, tmp_path, files)
    assert list(run.files) == ["history.jsonl"]


def test_parquet_is_read_with_its_nested_columns(tmp_path: Path) -> None:
    file = parquet(
        {
            "_step": [0, 1, 2],
            "loss": pa.array([1.5, None, math.nan], pa.float32()),
            "nested": [{"x": 1, "y": "a"}, None, {"x": 3, "y": "b"}],
            "hist": [{"_type": "histogram", "n": 1}] * 3,
            "text": ["a", "b", "c"],
            "yes": [True, False, True],
        }
    )
    (run,) = runs(FORMAT, tmp_path, {"run-history/0000.parquet": file})
    (rows,) = run.rows
    assert list(rows.columns) == ["_step", "loss", "nested.x"]
    assert cells(rows, "_step") == [0, 1, 2]
    assert repr(cells(rows, "loss")) == "[1.5, None, nan]"
    assert cells(rows, "nested.x") == [1, None, 3]
    assert run.remarks == {MEDIA: 1, "a column without numbers: left out": 3}


def test_other_parquet_is_skipped_and_damaged_parquet_quarantined(tmp_path: Path) -> None:
    file = parquet({"_step": [0, 1], "loss": [1.0, 2.0]})
    (refused,) = read(FORMAT, tmp_path, {"a.parquet": parquet({"x": [1]}), "b.parquet": file[:-9]})
    assert isinstance(refused, Quarantined)
    assert (refused.rule, refused.path) == ("unreadable_log", "b.parquet")
    assert "\n" not in refused.message


def test_detection_of_histories() -> None:
    history = lines({"loss": 1, "_step": 0})
    assert FORMAT.detect(Glimpse("r/history.jsonl", history)) == 0.95
    assert FORMAT.detect(Glimpse("r/other.jsonl", lines({"step": 1}))) == 0
    assert FORMAT.detect(Glimpse("r/wandb-events.jsonl", history)) == 0
    assert FORMAT.detect(Glimpse("wandb/x.parquet", b"PAR1")) == 0.5
    assert FORMAT.detect(Glimpse("x.parquet", b"PAR1")) == 0.3
    assert FORMAT.detect(Glimpse("x.parquet", b"PAR")) == 0


number = st.one_of(st.floats(), st.integers(), st.just(10**400), st.sampled_from(["NaN", "Infinity", "-Infinity"]))
value = st.recursive(
    st.one_of(st.none(), st.booleans(), st.text(max_size=3), number, st.lists(number, max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "c", "b.c", "_type", "_wandb"]), inner, max_size=3),
    max_leaves=5,
)
row = st.dictionaries(st.sampled_from(["_step", "a", "b", "a.b", "a.b.c", "_wandb", "x/y"]), value, max_size=6)


@given(st.lists(row, max_size=8))
def test_rows_are_those_of_a_slow_reader(rows: list[dict[str, Any]]) -> None:
    data = b'{"_step": 0}\n' + lines(*rows)
    expected = [slowly(found) for found in [{"_step": 0}, *rows]]
    if None in expected:
        with pytest.raises(Refusal, match="is there twice, as a key and nested, and differs"):
            read_json_lines(data)
        return
    found = read_json_lines(data)
    assert found is not None
    assert repr(as_rows(found.rows)) == repr([row for row in expected if row])


def slowly(row: dict[str, Any]) -> dict[str, float] | None:
    """A row's numbers, one by one; None if a flat name and a nested one have different values."""
    flat = {name: value for name, value in row.items() if not isinstance(value, dict)}
    for name, value in [leaf for at, inner in row.items() if isinstance(inner, dict) for leaf in leaves(at, inner)]:
        if None not in (flat.get(name), value) and repr(flat[name]) != repr(value):
            return None
        flat[name] = value if flat.get(name) is None else flat[name]
    out: dict[str, float] = {}
    for name, value in sorted(flat.items()):
        if name == "_wandb" or name.startswith("_wandb."):
            continue
        if value in ("NaN", "Infinity", "-Infinity"):
            out[name] = float(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            out[name] = float(str(value))
    return out


def leaves(name: str, value: Any) -> list[tuple[str, Any]]:
    """The values below a name, without those of media."""
    if not isinstance(value, dict):
        return [(name, value)]
    inner = [(f"{name}.{key}", each) for key, each in value.items() if key != "_wandb" and "_type" not in value]
    return [leaf for path, each in inner for leaf in leaves(path, each)]


def test_memory_stays_in_proportion_where_rows_share_no_columns() -> None:
    table = HistoryTable()
    table.add([{"_step": at, f"m{at}": float(at)} for at in range(9000)])
    found = table.rows()
    assert sum(len(rows.columns) * len(rows.columns["_step"]) for rows in found) < 9000 * 70
    assert as_rows(found) == [{"_step": float(at), f"m{at}": float(at)} for at in range(9000)]


def test_columns_beyond_the_limit_are_left_out_and_counted() -> None:
    table = HistoryTable()
    table.add([{f"m{at}": 1.0 for at in range(10_003)}])
    (rows,) = table.rows()
    assert len(rows.columns) == 10_000
    assert sum(table.remarks.values()) == 3
    table.add([{"m1": 1.0, "new": 2.0}])
    assert "new" not in table.rows()[0].columns
    assert sum(table.remarks.values()) == 4
